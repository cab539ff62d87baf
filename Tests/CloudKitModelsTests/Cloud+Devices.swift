import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import CloudSync
import Foundation
import Logging
import Synchronization

/// Keeps the requests that it passes on.
final class RequestLog: CKTransport {
  private let base: any CKTransport
  private let bodies = Mutex<[(path: String, body: Data)]>([])

  private let lost = Mutex(0)
  private let dropped = Mutex(0)

  /// The number of next writes that do not arrive, which the sender cannot know.
  var dropWrites: Int {
    get { dropped.withLock { $0 } }
    set { dropped.withLock { $0 = newValue } }
  }

  init(_ base: any CKTransport) { self.base = base }

  /// The number of next writes whose replies are lost.
  var loseReplies: Int {
    get { lost.withLock { $0 } }
    set { lost.withLock { $0 = newValue } }
  }

  /// The bodies of the requests whose path ends like this, as JSON.
  func bodies(_ end: String) -> [[String: Any]] {
    bodies.withLock { $0 }.filter { $0.path.hasSuffix(end) }
      .compactMap { (try? JSONSerialization.jsonObject(with: $0.body)) as? [String: Any] }
  }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    bodies.withLock { $0.append((request.path, request.body)) }
    let isDropped = dropped.withLock { dropped in
      guard dropped > 0, request.path.hasSuffix("records/modify") else { return false }
      dropped -= 1
      return true
    }
    if isDropped { throw CKTransportError(.unknown, "The reply was lost, and the request with it.") }
    let response = try await base.send(request)
    let isLost = lost.withLock { lost in
      guard lost > 0, request.path.hasSuffix("records/modify") else { return false }
      lost -= 1
      return true
    }
    if isLost { throw CKTransportError(.unknown, "The reply was lost.") }
    return response
  }
}

/// An emulator and devices around it.
final class Cloud: Sendable {
  private static let container = "iCloud.test"
  let emulator: Emulator
  let requests: RequestLog
  private let folder = FileManager.default.temporaryDirectory.appending(path: "models-\(UUID().uuidString)")

  init() throws {
    emulator = try Emulator()
    requests = RequestLog(EmulatorTransport(emulator))
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func open(_ name: String) throws -> SyncStore {
    let path = folder.appending(path: "\(name).sqlite").path
    return try SyncStore(path: path, containerIdentifier: Self.container, databaseScope: .private)
  }

  func device(_ name: String) throws -> (store: SyncStore, sync: () async throws -> Void) {
    let store = try open(name)
    let client = WebServicesClient(
      WebServicesClient.Configuration(
        container: Self.container,
        environment: "development",
        credential: .webAuth(apiToken: "token", webAuthToken: "ana")
      ),
      transport: requests
    )
    let files = EmulatorTransport(emulator)
    let engine = SyncEngine(store: store, SyncEngine.Configuration(client: client, assetTransport: files))
    return (store, { _ = try await engine.syncOnce() })
  }

  /// The container of a user.
  func account(
    _ user: String = "ana",
    logger: Logger? = nil,
    cache: CKRecordCacheSettings = .off
  ) -> CKContainer {
    let credential = CKCredential.webAuth(apiToken: "token", webAuthToken: user)
    var configuration = CKContainerConfiguration(
      identifier: Self.container,
      credential: credential,
      transport: requests
    )
    if let logger { configuration.logger = logger }
    configuration.cache = cache
    return CKContainer(configuration: configuration)
  }

  func onServer(_ name: String, zone: String) -> [String: EmulatorValue]? {
    emulator.record(name, in: .private(of: "ana", Self.container), zone: zone)?.fields
  }
}

/// Returns the code of the error that a call throws; nil if it throws none.
func code<Value>(_ body: () async throws -> Value) async -> CKError.Code? {
  do {
    _ = try await body()
    return nil
  } catch {
    return (error as? CKError)?.code
  }
}
