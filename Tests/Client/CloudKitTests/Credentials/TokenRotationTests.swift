import CloudKit
import Foundation
import Synchronization
import TestSupport
import Testing

/// How the web-auth token is replaced, kept and dropped.
@Suite(.serialized) struct TokenRotationTests {
  /// A server that accepts the last token it gave out and nothing else, as the documentation has it.
  private final class StrictServer: CKTransport {
    private struct State {
      var accepted: String
      var number = 0
      var seen: [String] = []
      var heldAnswers: [CheckedContinuation<Void, Never>] = []
      var heldRefusals: [CheckedContinuation<Void, Never>]?
    }

    private let state: Mutex<State>
    private let header: String
    /// Answers wait until that many requests have been seen.
    private let crowd: Int

    init(
      accepting token: String,
      header: String = "X-Apple-CloudKit-Web-Auth-Token",
      crowd: Int = 1,
      holdingRefusals: Bool = false
    ) {
      state = Mutex(State(accepted: token, heldRefusals: holdingRefusals ? [] : nil))
      self.header = header
      self.crowd = crowd
    }

    var accepted: String {
      get { state.withLock { $0.accepted } }
      set { state.withLock { $0.accepted = newValue } }
    }
    var seen: [String] { state.withLock { $0.seen } }

    func releaseRefusals() {
      let held = state.withLock { state in
        defer { state.heldRefusals = nil }
        return state.heldRefusals ?? []
      }
      for continuation in held { continuation.resume() }
    }

    func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
      let token = request.query.components(separatedBy: "ckWebAuthToken=").dropFirst().first ?? ""
      let (response, ready) = state.withLock { state in
        state.seen.append(token)
        let response = Self.answer(token, &state, header)
        guard state.seen.count >= crowd else { return (response, [CheckedContinuation<Void, Never>]()) }
        defer { state.heldAnswers = [] }
        return (response, state.heldAnswers)
      }
      for continuation in ready { continuation.resume() }
      await withCheckedContinuation { continuation in
        let mayGo = state.withLock { state in
          if response.status == 421, state.heldRefusals != nil {
            state.heldRefusals?.append(continuation)
            return false
          }
          guard state.seen.count < crowd else { return true }
          state.heldAnswers.append(continuation)
          return false
        }
        if mayGo { continuation.resume() }
      }
      return response
    }

    private static func answer(_ token: String, _ state: inout State, _ header: String) -> CKTransportResponse {
      guard token == state.accepted else {
        let body = #"{"serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"","redirectURL":"https://a.b/in"}"#
        return CKTransportResponse(status: 421, body: Data(body.utf8))
      }
      state.number += 1
      state.accepted = "t\(state.number)"
      return CKTransportResponse(
        status: 200,
        headers: [CKHTTPHeader(header, state.accepted)],
        body: Data(#"{"userRecordName":"_a","zones":[]}"#.utf8)
      )
    }
  }

  private final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
  }

  private func container(_ transport: any CKTransport, token: String = "t0", log: Log = Log()) -> CKContainer {
    CKContainer(
      configuration: CKContainerConfiguration(
        identifier: "iCloud.test",
        credential: .webAuth(apiToken: "api", webAuthToken: token),
        transport: transport,
        webAuthTokenRotated: { log.add("keep \($0)") },
        webAuthTokenRefused: { log.add("drop \($0)") }
      )
    )
  }

  private func withFile<Result>(_ body: (CKWebAuthTokenFile) async throws -> Result) async throws -> Result {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    return try await body(CKWebAuthTokenFile(path: folder.path("token")))
  }

  @Test(arguments: ["X-Apple-CloudKit-Web-Auth-Token", "x-apple-cloudkit-session"])
  func `each answer's token is kept and used for the next request`(header: String) async throws {
    let server = StrictServer(accepting: "t0", header: header)
    let log = Log()
    let container = container(server, log: log)

    for _ in 0..<3 { _ = try await container.userRecordID() }

    #expect(server.seen == ["t0", "t1", "t2"])
    #expect(log.all == ["keep t1", "keep t2", "keep t3"])
  }

  @Test func `requests in parallel that a strict server refuses go out again with the newest token`() async throws {
    let server = StrictServer(accepting: "t0", crowd: 2, holdingRefusals: true)
    let log = Log()
    let container = container(server, log: log)

    let names = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<2 { group.addTask { try await container.userRecordID().recordName } }
      var names = [try await group.next()]
      server.releaseRefusals()
      names.append(try await group.next())
      return names
    }

    #expect(names == ["_a", "_a"])
    #expect(server.seen == ["t0", "t0", "t1"])
    #expect(log.all == ["keep t1", "keep t2"])
  }

  @Test func `a token that is refused while it is the newest is dropped, and the person is asked to sign in`()
    async throws
  {
    let server = StrictServer(accepting: "other")
    let log = Log()
    let container = container(server, log: log)

    let error = await #expect(throws: CKError.self) { try await container.userRecordID() }
    _ = await errorCode { try await container.userRecordID() }

    #expect(error?.signInURL?.absoluteString == "https://a.b/in")
    #expect(log.all == ["drop t0"])
    #expect(server.seen == ["t0", ""])
  }

  @Test func `a refused token that nobody would replace goes out again`() async throws {
    let server = StrictServer(accepting: "later")
    let client = WebServicesClient(
      WebServicesClient.Configuration(
        container: "iCloud.test",
        environment: "development",
        credential: .webAuth(apiToken: "api", webAuthToken: "t0")
      ),
      transport: server
    )

    await #expect(throws: WebServicesError.self) { try await client.caller() }
    server.accepted = "t0"
    #expect(try await client.caller().userRecordName == "_a")
  }

  @Test func `a proxy's refusal and a misdirected connection sign nobody out`() async throws {
    for status in [401, 421] {
      // A misdirected request is sent once more.
      let refusals = Array(
        repeating: ScriptedServer.Answer.json("<html>", status: status),
        count: status == 421 ? 2 : 1
      )
      let server = ScriptedServer(refusals + [.json(#"{"userRecordName":"_a"}"#)])
      let container = container(server)

      _ = await errorCode { try await container.userRecordID() }
      _ = try await container.userRecordID()

      #expect(server.queries.allSatisfy { $0.hasSuffix("ckWebAuthToken=t0") })
    }
  }

  @Test func `a wrong API token leaves the user signed in and the kept token where it is`() async throws {
    try await withFile { file in
      let refusal = #"{"serverErrorCode":"AUTHENTICATION_FAILED","reason":"Authentication failed"}"#
      let server = ScriptedServer(.json(refusal, status: 401), .json(#"{"userRecordName":"_a"}"#))
      var configuration = CKContainerConfiguration(
        identifier: "iCloud.test",
        credential: .apiToken("wrong"),
        transport: server
      )
      try file.keep("t0")
      try configuration.keepWebAuthToken(in: file)
      let container = CKContainer(configuration: configuration)

      #expect(await errorCode { try await container.userRecordID() } == .notAuthenticated)
      #expect(try file.read() == "t0")
      _ = try await container.userRecordID()

      #expect(server.queries.allSatisfy { $0.hasSuffix("ckWebAuthToken=t0") })
    }
  }

  @Test func `the callback of a refused token may sign out`() async throws {
    let log = Log()
    let known = Mutex<CKContainer?>(nil)
    let signOut: @Sendable () -> Void = { known.withLock(\.self)?.signOut() }
    let container = CKContainer(
      configuration: CKContainerConfiguration(
        identifier: "iCloud.test",
        credential: .webAuth(apiToken: "api", webAuthToken: "t0"),
        transport: StrictServer(accepting: "other"),
        webAuthTokenRefused: {
          log.add("drop \($0)")
          signOut()
        }
      )
    )
    known.withLock { $0 = container }

    #expect(await errorCode { try await container.userRecordID() } == .notAuthenticated)

    #expect(log.all == ["drop t0"])
    #expect(try container.webServices().hasSignedOut)
    known.withLock { $0 = nil }
  }

  @Test func `of many tokens that arrive at once the one in use is the one that is kept`() async throws {
    try await withFile { file in
      let server = ManyTokens()
      var configuration = CKContainerConfiguration(
        identifier: "iCloud.test",
        credential: .apiToken("api"),
        transport: server
      )
      try file.keep("t0")
      try configuration.keepWebAuthToken(in: file)
      let container = CKContainer(configuration: configuration)

      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<200 { group.addTask { _ = try await container.userRecordID() } }
        try await group.waitForAll()
      }
      let kept = try #require(try file.read())
      _ = try await container.userRecordID()

      #expect(server.last == kept)
      let folder = URL(fileURLWithPath: file.path).deletingLastPathComponent().path
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["token"])
    }
  }

  /// Gives a new token with each answer and takes any.
  private final class ManyTokens: CKTransport {
    private let state = Mutex((number: 0, last: ""))
    var last: String { state.withLock { $0.last } }

    func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
      let number = state.withLock { state in
        state.last = request.query.components(separatedBy: "ckWebAuthToken=").last ?? ""
        state.number += 1
        return state.number
      }
      await Task.yield()
      return CKTransportResponse(
        status: 200,
        headers: [CKHTTPHeader("X-Apple-CloudKit-Web-Auth-Token", "t\(number)")],
        body: Data(#"{"userRecordName":"_a"}"#.utf8)
      )
    }
  }

  @Test func `a token file is its owner's alone, and forgets only the token that was refused`() async throws {
    try await withFile { file in
      #expect(try file.read() == nil)
      try file.keep("a+b/c==")
      let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
      file.forget("another")
      #expect(try file.read() == "a+b/c==")
      file.forget("a+b/c==")
      #expect(try file.read() == nil)
    }
  }

  @Test func `a token file that others can read is refused`() async throws {
    try await withFile { file in
      try file.keep("secret")
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
      let error = #expect(throws: CKCredentialError.self) { try file.read() }
      #expect(error?.message.contains("secret") == false)
    }
  }

  @Test func `a token is on disk before its answer is handed on, and gone once it is refused`() async throws {
    try await withFile { file in
      let server = StrictServer(accepting: "t0")
      var configuration = CKContainerConfiguration(
        identifier: "iCloud.test",
        credential: .webAuth(apiToken: "api", webAuthToken: "t0"),
        transport: server
      )
      try configuration.keepWebAuthToken(in: file)
      let container = CKContainer(configuration: configuration)

      _ = try await container.userRecordID()
      #expect(try file.read() == "t1")

      server.accepted = "revoked"
      #expect(await errorCode { try await container.userRecordID() } == .notAuthenticated)
      #expect(try file.read() == nil)
    }
  }

  @Test func `a token that cannot be written stops nothing`() async throws {
    let server = StrictServer(accepting: "t0")
    var configuration = CKContainerConfiguration(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "api", webAuthToken: "t0"),
      transport: server
    )
    try configuration.keepWebAuthToken(in: CKWebAuthTokenFile(path: "/no/such/folder/token"))
    let container = CKContainer(configuration: configuration)

    for _ in 0..<2 { _ = try await container.userRecordID() }
    #expect(server.seen == ["t0", "t1"])
  }
}
