import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import CloudKitModelMacros
import CloudSync
import CloudSyncModels
import Foundation
import Logging

/// The code of the pages about the client, the queue and the emulator. `PageTests` compares it with them.
enum HandbookCode {
  // MARK: - Credentials

  static func key(_ keyID: String) throws -> CKContainer {
    let container = CKContainer(
      identifier: "iCloud.org.example.shop",
      environment: .production,
      credential: .serverToServerKey(try .load(keyID: keyID, file: "/etc/shop/cloudkit.pem"))
    )
    return container
  }

  static func configured(
    _ apiToken: String,
    _ webAuthToken: String,
    store: @escaping @Sendable (String) -> Void
  ) -> CKContainer {
    var configuration = CKContainerConfiguration(
      identifier: "iCloud.org.example.shop",
      credential: .webAuth(apiToken: apiToken, webAuthToken: webAuthToken),
      webAuthTokenRotated: { token in store(token) }
    )
    configuration.logger = Logger(label: "shop")
    let container = CKContainer(configuration: configuration)
    return container
  }

  static func signIn(_ token: String, _ url: URL) async throws {
    let container = CKContainer(identifier: "iCloud.org.example.notes", credential: .apiToken(token))
    print("Sign in at \(try await container.signInURL())")
    try await container.signIn(callback: url)  // the URL that the sign-in page called
  }

  // MARK: - Caching, transports and dates

  static func caching(_ usual: CKContainerConfiguration) -> CKContainer {
    var configuration = usual
    configuration.cache = CKRecordCacheSettings(maximumAge: .seconds(60), uncachedTypes: ["Stock"])
    let container = CKContainer(configuration: configuration)
    return container
  }

  static func emulated() throws -> CKContainer {
    let emulator = try Emulator()
    let container = CKContainer.emulated(user: "ana", on: emulator)
    return container
  }

  static func wholeMilliseconds() -> Date {
    let now = Date(timeIntervalSinceReferenceDate: (Date().timeIntervalSinceReferenceDate * 1000).rounded(.down) / 1000)
    return now
  }

  // MARK: - Libraries

  static func save() async throws {
    let database = CKContainer(identifier: "iCloud.org.example.shop").privateCloudDatabase
    let record = CKRecord(recordType: "Task", recordID: CKRecord.ID(recordName: "t1"))
    record["title"] = "Buy milk"
    try await database.save(record)
  }

  @CKModel struct Chore {
    var id = UUID()
    var title: String
    @CKField("done") var isDone = false
  }

  static func chores() async throws -> [Chore] {
    let container = CKContainer(identifier: "iCloud.org.example.shop")
    let database = container.database(for: Chore.self)
    try await database.save(Chore(title: "Buy milk"))
    let open = try await database.load(Query<Chore>().filter(\.isDone, equals: false))
    return open
  }

  static func queuedChores(_ engine: SyncEngine) async throws -> [Chore] {
    try await engine.store.save(Chore(title: "Buy bread"))
    let left = try await engine.store.load(Query<Chore>().filter(\.isDone, equals: false))
    return left
  }

  static func queuedOffline(_ container: CKContainer, _ delegate: any SyncEngineDelegate) async throws {
    let engine = try SyncEngine(SyncEngine.Configuration(container: container), delegate: delegate)
    try await engine.store.save(Chore(title: "Buy bread"))
  }

  static func sync(_ record: CKRecord, _ delegate: any SyncEngineDelegate) async throws {
    let container = CKContainer(identifier: "iCloud.org.example.shop")
    let engine = try SyncEngine(SyncEngine.Configuration(container: container), delegate: delegate)
    await engine.start()
    try engine.save([record])
  }

  // MARK: - An app's sync engine

  struct Note {
    var recordID: CKRecord.ID
  }

  final actor Notes: CKSyncEngineDelegate {
    private var engine: CKSyncEngine?

    func start() {
      let configuration = CKSyncEngine.Configuration(
        database: CKContainer.default().privateCloudDatabase,
        stateSerialization: savedState(),
        delegate: self
      )
      engine = CKSyncEngine(configuration)
    }

    func save(_ note: Note) {
      write(note)
      engine?.state.add(pendingRecordZoneChanges: [.saveRecord(note.recordID)])
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async { apply(event) }

    func nextRecordZoneChangeBatch(
      _ context: CKSyncEngine.SendChangesContext,
      syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
      let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
      return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { await self.record(for: $0) }
    }
  }

  // MARK: - The emulator

  static func faults(of emulator: Emulator) {
    emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "records/modify", every: 5), then: .throttled(retryAfter: 3)),
      FaultRule(when: FaultCondition(operation: "records/modify", limit: 1), then: .dropAfterCommit),
      FaultRule(when: FaultCondition(recordName: "note-13"), then: .poison),
    ])
  }

  static func schema() throws -> Emulator {
    let emulator = try Emulator()
    let text = try String(contentsOfFile: "schema.ckdb", encoding: .utf8)
    try emulator.importSchema(text, container: "iCloud.org.example.App")
    try emulator.deploySchema(of: "iCloud.org.example.App")
    return emulator
  }
}

/// What an app has beside its engine.
extension HandbookCode.Notes {
  private func savedState() -> CKSyncEngine.State.Serialization? { nil }
  private func write(_ note: HandbookCode.Note) {}
  private func apply(_ event: CKSyncEngine.Event) {}
  private func record(for id: CKRecord.ID) -> CKRecord? { nil }
}
