import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Synchronization

/// An app on one device: it keeps notes and the engine's last state, and writes down each event.
final class Device: CKSyncEngineDelegate {
  struct Content: Sendable {
    /// The text of each note; nil for one that was deleted.
    var notes: [CKRecord.ID: String] = [:]
    /// The last version of each note that the server is known to have.
    var known: [CKRecord.ID: CKRecord] = [:]
    var serialization: Data?
    /// All events but updates of the state, in words.
    var events: [String] = []
    /// The pending changes of each update of the state.
    var states: [String] = []
    var users: [CKSyncEngine.Event.AccountChange.ChangeType] = []
    var errors: [CKRecord.ID: CKError] = [:]
    var engine: CKSyncEngine?
    var isAtomic = false
    var batchSize = Int.max
    /// Done once, after the next batch has been made.
    var onceBatchIsMade: (@Sendable () -> Void)?
  }

  static let zoneID = CKRecordZone.ID(zoneName: "notes")
  static func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

  let content = Mutex(Content())
  let container: CKContainer
  let database: CKDatabase
  /// Called with each event, after the app has handled it.
  let react: @Sendable (CKSyncEngine.Event, Device) async -> Void
  /// The options of fetches.
  let options: @Sendable (CKSyncEngine.FetchChangesContext) -> CKSyncEngine.FetchChangesOptions
  private let isAutomatic: Bool
  private let pause: @Sendable (Duration) async throws -> Void
  private let watchdog: @Sendable () async throws -> Void

  /// - Parameters:
  ///   - transport: The way to the emulator; nil for the one in this process.
  ///   - serialization: The state that the last engine left.
  init(
    _ emulator: Emulator,
    over transport: (any CKTransport)? = nil,
    user: String? = "ana",
    scope: CKDatabase.Scope = .private,
    isAutomatic: Bool = false,
    from serialization: Data? = nil,
    react: @escaping @Sendable (CKSyncEngine.Event, Device) async -> Void = { _, _ in },
    pause: @escaping @Sendable (Duration) async throws -> Void = { _ in },
    watchdog: @escaping @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(3600)) },
    options: @escaping @Sendable (CKSyncEngine.FetchChangesContext) -> CKSyncEngine.FetchChangesOptions = {
      $0.options
    }
  ) {
    container = CKContainer(
      identifier: "iCloud.test",
      credential: user.map { .webAuth(apiToken: "token", webAuthToken: $0) } ?? .apiToken("token"),
      transport: transport ?? EmulatorTransport(emulator)
    )
    database = container.database(with: scope)
    self.isAutomatic = isAutomatic
    self.pause = pause
    self.watchdog = watchdog
    self.options = options
    self.react = react
    content.withLock { $0.serialization = serialization }
    start()
  }

  /// Makes an engine from the last state that was saved, as after a launch.
  func start() {
    let serialization = content.withLock { $0.serialization }.flatMap {
      try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0)
    }
    var configuration = CKSyncEngine.Configuration(
      database: database,
      stateSerialization: serialization,
      delegate: self
    )
    configuration.automaticallySync = isAutomatic
    // No event is handled before the engine is known.
    content.withLock { content in
      content.engine = CKSyncEngine(configuration) { [pause, watchdog] length in
        if length == CKSyncEngine.watchdogInterval { try await watchdog() } else { try await pause(length) }
      }
    }
  }

  /// Ends the process: the engine is gone, and what was saved stays.
  func stop() { content.withLock { $0.engine = nil } }

  var engine: CKSyncEngine { content.withLock { $0.engine! } }
  var state: CKSyncEngine.State { engine.state }
  var events: [String] { content.withLock { $0.events } }
  /// The number of fetches among the events.
  var fetches: Int { events.count { $0 == "did fetch" } }
  var notes: [String: String] {
    content.withLock { Dictionary(uniqueKeysWithValues: $0.notes.map { ($0.recordName, $1) }) }
  }
  var pending: [String] { state.pendingRecordZoneChanges.map(\.description) }

  func takeEvents() -> [String] {
    content.withLock { content in
      defer { content.events = [] }
      return content.events
    }
  }

  // MARK: - What the user does

  /// Creates the zone and sends it.
  func setUp() async throws {
    state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Self.zoneID))])
    try await engine.sendChanges()
    _ = takeEvents()
  }

  func write(_ name: String, _ text: String) { write(Self.id(name), text) }

  func write(_ id: CKRecord.ID, _ text: String) {
    content.withLock { $0.notes[id] = text }
    state.add(pendingRecordZoneChanges: [.saveRecord(id)])
  }

  func delete(_ name: String) {
    content.withLock { $0.notes[Self.id(name)] = nil }
    state.add(pendingRecordZoneChanges: [.deleteRecord(Self.id(name))])
  }

  // MARK: - The delegate

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    content.withLock { content in
      switch event {
      case .stateUpdate(let event):
        content.serialization = try? JSONEncoder().encode(event.stateSerialization)
        content.states.append(event.description)
      case .accountChange(let event): content.users.append(event.changeType)
      case .fetchedRecordZoneChanges(let event):
        for record in event.modifications.map(\.record) {
          content.known[record.recordID] = record
          content.notes[record.recordID] = record["text"]
        }
        for deletion in event.deletions {
          content.known[deletion.recordID] = nil
          content.notes[deletion.recordID] = nil
        }
      case .fetchedDatabaseChanges(let event):
        for deletion in event.deletions {
          content.known = content.known.filter { $0.key.zoneID != deletion.zoneID }
          content.notes = content.notes.filter { $0.key.zoneID != deletion.zoneID }
        }
      case .sentRecordZoneChanges(let event):
        for record in event.savedRecords { content.known[record.recordID] = record }
        for failure in event.failedRecordSaves { content.errors[failure.record.recordID] = failure.error }
        content.errors.merge(event.failedRecordDeletes) { $1 }
      default: break
      }
      content.events += Self.words(event)
    }
    await react(event, self)
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let all = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
    let changes = Array(all.prefix(content.withLock { $0.batchSize }))
    var batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
      self.content.withLock { content in
        guard let text = content.notes[id] else { return nil }
        let record = content.known[id].flatMap { $0.copy() as? CKRecord } ?? CKRecord(recordType: "Note", recordID: id)
        record["text"] = text
        return record
      }
    }
    let once = content.withLock { content in
      batch?.atomicByZone = content.isAtomic
      defer { content.onceBatchIsMade = nil }
      return content.onceBatchIsMade
    }
    once?()
    return batch
  }

  func nextFetchChangesOptions(
    _ context: CKSyncEngine.FetchChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.FetchChangesOptions {
    options(context)
  }

  /// An event in words; none for an update of the state.
  private static func words(_ event: CKSyncEngine.Event) -> [String] {
    switch event {
    case .stateUpdate: return []
    case .accountChange(let event):
      switch event.changeType {
      case .signIn: return ["sign in"]
      case .signOut: return ["sign out"]
      case .switchAccounts: return ["switch accounts"]
      }
    case .fetchedDatabaseChanges(let event):
      let changed = event.modifications.map { "+\($0.zoneID.zoneName)" }
      return ["fetched zones \((changed + event.deletions.map { "-\($0.zoneID.zoneName)" }).joined(separator: " "))"]
    case .fetchedRecordZoneChanges(let event):
      let changed = event.modifications.map { "+\($0.record.recordID.recordName)" }
      let deleted = event.deletions.map { "-\($0.recordID.recordName)" }
      return ["fetched \((changed + deleted).sorted().joined(separator: " "))"]
    case .sentDatabaseChanges(let event):
      let saved = event.savedZones.map { "+\($0.zoneID.zoneName)" } + event.deletedZoneIDs.map { "-\($0.zoneName)" }
      let failed =
        event.failedZoneSaves.map { "+\($0.zone.zoneID.zoneName) \($0.error.code)" }
        + event.failedZoneDeletes.map { "-\($0.zoneName) \($1.code)" }
      return ["sent zones \((saved + failed.map { "failed \($0)" }).joined(separator: " "))"]
    case .sentRecordZoneChanges(let event):
      let saved = event.savedRecords.map { "+\($0.recordID.recordName)" }
      let deleted = event.deletedRecordIDs.map { "-\($0.recordName)" }
      let failed =
        event.failedRecordSaves.map { "failed +\($0.record.recordID.recordName) \($0.error.code)" }
        + event.failedRecordDeletes.map { "failed -\($0.recordName) \($1.code)" }
      return ["sent \((saved + deleted + failed).joined(separator: " "))"]
    case .willFetchChanges(let event): return ["will fetch, \(event.context.reason)"]
    case .willFetchRecordZoneChanges(let event): return ["will fetch \(event.zoneID.zoneName)"]
    case .didFetchRecordZoneChanges(let event):
      return ["did fetch \(event.zoneID.zoneName)\(event.error.map { " \($0.code)" } ?? "")"]
    case .didFetchChanges: return ["did fetch"]
    case .willSendChanges(let event): return ["will send, \(event.context.reason)"]
    case .didSendChanges: return ["did send"]
    }
  }
}

extension Emulator {
  /// Applies one fault to all requests of an operation, or to the first ones.
  func fail(_ operation: String, limit: Int? = nil, _ action: FaultAction) {
    faults = FaultPlan(rules: [FaultRule(when: FaultCondition(operation: operation, limit: limit), then: action)])
  }
}

/// Waits until something is true; only the time limit of the test ends it otherwise.
func wait(until isTrue: () -> Bool) async {
  while !isTrue(), !Task.isCancelled { await Task.yield() }
}

/// The code of the error that a call throws; nil if it throws none.
func codeThrown(by body: () async throws -> Void) async -> CKError.Code? {
  do {
    try await body()
    return nil
  } catch {
    return (error as? CKError)?.code
  }
}
