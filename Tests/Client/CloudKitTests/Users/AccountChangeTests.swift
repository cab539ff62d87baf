import CloudKit
import Foundation
import Synchronization
import Testing

@Suite(.serialized) struct AccountChangeTests {
  private let refusal = ScriptedServer.Answer.json(
    #"{"serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"request needs authorization","redirectURL":"https://a.b/in"}"#,
    status: 421
  )

  private func caller(_ name: String) -> ScriptedServer.Answer { .json(#"{"userRecordName":"\#(name)"}"#) }

  private func callback(_ token: String) throws -> URL {
    try #require(URL(string: "cloudkit-icloud.test://done?ckWebAuthToken=\(token)"))
  }

  /// Runs a test and counts the notices that the container posts meanwhile.
  private func notices(of container: CKContainer, during body: () async throws -> Void) async throws -> Int {
    let count = Counter()
    let observer = NotificationCenter.default.addObserver(
      forName: .CKAccountChanged,
      object: container,
      queue: nil
    ) { _ in count.increment() }
    defer { NotificationCenter.default.removeObserver(observer) }
    try await body()
    return count.value
  }

  private final class Counter: Sendable {
    private let number = Mutex(0)
    var value: Int { number.withLock { $0 } }
    func increment() { number.withLock { $0 += 1 } }
  }

  @Test func `what is learnt first is no change, and the same again is none`() async throws {
    let server = ScriptedServer(caller("_a"), caller("_a"))
    let container = server.userContainer()

    let posted = try await notices(of: container) {
      _ = try await container.accountStatus()
      _ = try await container.userRecordID()
    }

    #expect(posted == 0)
  }

  @Test func `another user behind the token is a change`() async throws {
    let server = ScriptedServer(caller("_a"), caller("_b"))
    let container = server.userContainer()
    _ = try await container.accountStatus()

    #expect(try await notices(of: container) { _ = try await container.accountStatus() } == 1)
  }

  @Test func `a refused token is a change that any call notices, once`() async throws {
    let server = ScriptedServer(caller("_a"), refusal)
    let container = server.userContainer()
    _ = try await container.accountStatus()

    let posted = try await notices(of: container) {
      let code = await errorCode { try await container.privateCloudDatabase.allRecordZones() }
      #expect(code == .notAuthenticated)
      let status = try await container.accountStatus()
      #expect(status == .noAccount)
    }

    #expect(posted == 1)
  }

  @Test func `signing in, signing in as another and signing out are changes`() async throws {
    let server = ScriptedServer(caller("_a"), caller("_b"))
    let container = server.container()

    #expect(try await container.accountStatus() == .noAccount)
    #expect(try await notices(of: container) { try await container.signIn(callback: callback("one")) } == 1)
    #expect(try await notices(of: container) { try await container.signIn(callback: callback("two")) } == 1)
    #expect(try await notices(of: container) { container.signOut() } == 1)
    #expect(try await notices(of: container) { container.signOut() } == 0)
    #expect(try await container.accountStatus() == .noAccount)
  }

  @Test func `a container that is gone is not kept alive by what it knows`() throws {
    weak var container: CKContainer?
    do { container = ScriptedServer().userContainer() }
    #expect(container == nil)
  }
}
