import Foundation
import JSONText
import Synchronization
import Testing

@testable import CloudKit

@Suite(.serialized) struct NotificationSequenceTests {
  private static let box =
    #"{"apnsEnvironment":"development","apnsToken":"t","webcourierURL":"https://courier.test:443/aps?tok=t&ttl=43200"}"#
  private static func push(_ id: String) -> ScriptedServer.Answer {
    .json(#"{"aps":{},"ck":{"nid":"\#(id)","met":{"dbs":2,"sid":"d"}}}"#)
  }

  /// A clock that runs ten seconds with every look at it, and a sleep that is noted and over at once.
  private final class World: Sendable {
    let start = ContinuousClock.now
    let looks = Mutex(0)
    let step: Duration
    let sleeps = Mutex<[Duration]>([])

    init(step: Duration = .seconds(10)) { self.step = step }

    func notifications(of server: ScriptedServer) -> CKNotificationSequence {
      CKNotificationSequence(
        WebCourier(
          server.container(),
          now: {
            self.looks.withLock { looks in
              looks += 1
              return self.start + self.step * looks
            }
          },
          sleep: { duration in self.sleeps.withLock { $0.append(duration) } }
        )
      )
    }
  }

  @Test func `pushes are collected one by one, and keep-alives are passed over`() async throws {
    let server = ScriptedServer(
      .json(Self.box),
      Self.push("1"),
      .json(""),
      .json(#"{"aps":{"alert":"not CloudKit's"}}"#),
      Self.push("2")
    )
    let world = World()
    var iterator = world.notifications(of: server).makeAsyncIterator()

    let one = try await iterator.next()
    let two = try await iterator.next()

    #expect([one, two].map { $0?.notificationID?.description } == ["1", "2"])
    #expect(server.urls[0] == "/device/1/iCloud.test/development/tokens/create?ckAPIToken=token")
    #expect(Set(server.urls.dropFirst()) == ["/aps?tok=t&ttl=43200"])
    #expect(world.sleeps.withLock { $0 } == [])
  }

  @Test func `a poll that fails waits longer each time, and only a refusal makes a new token`() async throws {
    let server = ScriptedServer(
      .json(Self.box),
      .failure(.unknown),
      .failure(.notSent),
      .json("no", status: 410),
      .json(Self.box),
      Self.push("1"),
      .failure(.unknown),
      Self.push("2")
    )
    let world = World()
    var iterator = world.notifications(of: server).makeAsyncIterator()

    let first = try await iterator.next()
    let second = try await iterator.next()

    #expect([first, second].map { $0?.notificationID?.description } == ["1", "2"])
    #expect(world.sleeps.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(4), .seconds(1)])
    #expect(server.urls.filter { $0.contains("tokens/create") }.count == 2)
  }

  @Test func `a courier that cannot be reached is asked once a minute, with the same token`() async throws {
    let failures = Array(repeating: ScriptedServer.Answer.failure(.notSent), count: 9)
    let server = ScriptedServer([.json(Self.box)] + failures + [Self.push("1")])
    let world = World(step: .zero)
    var iterator = world.notifications(of: server).makeAsyncIterator()

    _ = try await iterator.next()

    #expect(world.sleeps.withLock { $0 } == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    #expect(server.urls.filter { $0.contains("tokens/create") }.count == 1)
  }

  @Test func `a courier's address of version 6 keeps its brackets`() async throws {
    for (address, origin) in [
      ("http://[::1]:8080/aps?tok=t", "http://[::1]:8080"),
      ("https://courier.test:443/aps", "https://courier.test:443"),
      ("HTTPS://courier.test/aps", "https://courier.test"), ("ftp://courier.test", nil), ("https:///aps", nil),
    ] {
      #expect(URL(string: address)?.origin?.absoluteString == origin)
    }
    let status = try await LoopbackServer.run(.echo, on: "::1") { server in
      let origin = try #require(URL(string: "http://[::1]:\(server.port)/aps")?.origin)
      let transport = CKHTTPTransport().transport(to: origin, timeout: .seconds(60))
      return try await transport.send(CKTransportRequest(method: "GET", path: "/aps")).status
    }
    #expect(status == 202)
  }

  @Test func `a token is replaced when its time is over`() async throws {
    let short = Self.box.replacing("43200", with: "15")
    let server = ScriptedServer(.json(short), .json(""), .json(short), Self.push("1"))
    var iterator = World().notifications(of: server).makeAsyncIterator()

    _ = try await iterator.next()

    #expect(server.urls.filter { $0.contains("tokens/create") }.count == 2)
  }

  @Test func `keep-alives without a pause do not become a storm`() async throws {
    let server = ScriptedServer(.json(Self.box), .json(""), .json(""), .json(""), Self.push("1"))
    let world = World(step: .milliseconds(1))
    var iterator = world.notifications(of: server).makeAsyncIterator()

    _ = try await iterator.next()

    #expect(world.sleeps.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(4)])
  }

  @Test func `a throttled token is asked for again when the server allows it`() async throws {
    let server = ScriptedServer(
      .json(#"{"serverErrorCode":"THROTTLED","reason":"slow down","retryAfter":90}"#, status: 429),
      .json(Self.box),
      Self.push("1")
    )
    let world = World()
    var iterator = world.notifications(of: server).makeAsyncIterator()

    _ = try await iterator.next()

    #expect(world.sleeps.withLock { $0 } == [.seconds(90)])
  }

  @Test func `a refusal that waiting does not cure is thrown`() async {
    let server = ScriptedServer(
      .json(#"{"serverErrorCode":"AUTHENTICATION_FAILED","reason":"no"}"#, status: 401)
    )
    var iterator = World().notifications(of: server).makeAsyncIterator()

    let thrown = await #expect(throws: CKError.self) { _ = try await iterator.next() }
    #expect(thrown?.code == .notAuthenticated)
  }

  @Test func `a cancelled task sees the end`() async throws {
    let notifications = World().notifications(of: ScriptedServer(.json(Self.box)))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var iterator = notifications.makeAsyncIterator()
      return try await iterator.next() == nil
    }
    #expect(try await task.value)
  }

  @Test func `a device's own token is registered beside the databases`() async throws {
    let server = ScriptedServer(.json(""))

    try await server.container().registerForPushes(deviceToken: "c3f0")

    #expect(server.urls == ["/device/1/iCloud.test/development/tokens/register?ckAPIToken=token"])
    #expect(try server.bodies()[0]["apnsToken"] == .string("c3f0"))
  }
}
