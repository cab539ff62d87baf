import CloudKitEmulator
import Foundation
import Testing

/// What somebody may send or leave unread to do harm.
@Suite(.serialized, .timeLimit(.minutes(40))) struct HostileClientTests {
  @Test(arguments: ["a%0Ab", "a%0D", "%00", "a%7F", "a%09b"])
  func `a token that cannot go back in a header is none, and does nothing`(token: String) async throws {
    try await Fixture.serve { fixture, port in
      let wire = try Wire(port: port)
      wire.post(
        "records/modify",
        #"{"operations":[\#(Fixture.save("a"))]}"#,
        query: "ckAPIToken=token&ckWebAuthToken=\(token)"
      )
      let answer = try #require(await wire.receive())
      #expect(answer.head.hasPrefix("HTTP/1.1 401") && answer.body.contains("AUTHENTICATION_FAILED"))
      #expect(fixture.emulator.recordCount() == 0)
      wire.send("GET /sign-in?user=\(token) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 403") == true)
    }
  }

  @Test func `nobody without a ticket has an upload read`() async throws {
    try await Fixture.serve({ $0.assetSizeLimit = 1000 }) { fixture, port in
      let good = try fixture.uploadURL("a").replacing("http://emulator.invalid", with: "")
      let body = String(repeating: "x", count: 200_000)
      let wire = try Wire(port: port)
      for (address, status) in [(good, "413"), ("/assets/upload/x?ticket=y", "403"), (good + "0", "403")] {
        wire.send("POST \(address) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 \(status)") == true)
      }
      fixture.pass(16 * 60)
      wire.send("POST \(good) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 410") == true)
    }
  }

  @Test(arguments: ["/sign-in", "/assets/download/x/y", "/nowhere"])
  func `who asks for a head gets no body`(path: String) async throws {
    try await Fixture.serve({ $0.users = Set((0..<100).map { "user\($0)" }) }) { _, port in
      let wire = try Wire(port: port)
      wire.send("HEAD \(path) HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n")
      #expect(await wire.receive() == nil)
      #expect(wire.left.hasPrefix("HTTP/1.1 ") && wire.left.hasSuffix("\r\n\r\n"))
    }
  }

  @Test func `an answer that nobody reads is given up`() async throws {
    var configuration = EmulatorConfiguration()
    configuration.idleTimeout = .seconds(1)
    let fixture = try Fixture.withZone(configuration)
    let asset = try fixture.emulator.upload(Data(count: 40_000_000), at: fixture.now)
    _ = try fixture.emulator.save(
      in: .private(of: "ana", "iCloud.test"),
      zone: "notes",
      recordType: "Note",
      recordName: "a",
      fields: ["photo": .asset(asset)],
      at: fixture.now
    )
    let server = EmulatorServer(fixture.emulator, now: { fixture.now })
    let wire = try Wire(port: try await server.start())
    let download = try fixture.downloadURL("a").replacing("http://emulator.invalid", with: "")
    wire.send("GET \(download) HTTP/1.1\r\nHost: localhost\r\n\r\n")

    let started = ContinuousClock.now
    try await server.stop(grace: .seconds(100))

    #expect(started.duration(to: .now) < .seconds(90))
    #expect(await wire.receiveBody() < 40_000_000)
  }

  @Test func `an escape has two digits`() throws {
    let fixture = try Fixture()

    #expect(try fixture.post("zones/list", query: "ckAPIToken=%+F&ckWebAuthToken=ana").status == 400)
    #expect(try fixture.post("zones/list", query: "ckAPIToken=%2F&ckWebAuthToken=ana").status == 200)
  }

  @Test func `of many who start a server at once one does`() async throws {
    let server = EmulatorServer(try Emulator())
    let ports = await withTaskGroup(of: Int?.self) { group in
      for _ in 0..<8 { group.addTask { try? await server.start() } }
      return await group.reduce(into: []) { $0 += [$1].compactMap(\.self) }
    }

    #expect(ports.count == 1)
    try await server.stop()
    await #expect(throws: EmulatorServer.StartError.self) { try await server.start() }
  }

  @Test func `polls that come at once are counted before they wait`() async throws {
    var configuration = EmulatorConfiguration()
    configuration.openPollLimit = 1
    let fixture = try Fixture(configuration)
    let holds = try (0..<2).compactMap { _ -> EmulatorHold? in
      let parts = try fixture.courierURL().replacing("http://emulator.invalid", with: "").split(separator: "?")
      let request = EmulatorRequest(method: "GET", path: String(parts[0]), query: String(parts[1]))
      guard case .hold(let hold) = fixture.emulator.handle(request, at: fixture.now).outcome else { return nil }
      return hold
    }
    #expect(holds.count == 2)
    let first = Task { await fixture.emulator.reply(to: holds[0]) }
    await fixture.waitForPolls(1)

    #expect(await fixture.emulator.reply(to: holds[1]).response?.status == 503)
    first.cancel()
    #expect(await first.value.response?.status == 200)
  }
}
