import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Synchronization
import TestSupport
import Testing

/// Two devices with a sync engine edit the same notes, while requests fail and processes end at any event.
///
/// `SEEDS=1000 swift test --filter SyncEngineSimulation` runs more histories, from `FROM` on.
@Suite(.timeLimit(.minutes(40))) struct SyncEngineSimulationTests {
  private static var seeds: [UInt64] {
    func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
    let first = number("FROM") ?? 0
    return Array(first..<(first + (number("SEEDS") ?? 25)))
  }

  @Test(arguments: seeds)
  func `what was saved as pending is neither lost nor sent twice with effect`(seed: UInt64) async throws {
    let history = try await SimulatedHistory(seed: seed)
    for _ in 0..<60 { await history.step() }
    await history.settle()
    let faults = await history.faults()

    #expect(faults.isEmpty, "seed \(seed): \(faults.joined(separator: "; "))")
  }
}

/// One history of two devices, decided by a seed.
private final class SimulatedHistory {
  private let emulator: Emulator
  private let devices: [SimulatedNotes]
  private var random: SplitMix64
  private var lastWord = 0
  private static let names = ["a", "b", "c", "d", "e"]

  init(seed: UInt64) async throws {
    emulator = try Emulator()
    random = SplitMix64(seed: seed)
    let journal = WriteJournal(emulator)
    devices = (0..<2).map { SimulatedNotes(journal, number: $0) }
    for device in devices { await device.relaunch() }
  }

  /// One act of a user, of an engine, or of fate.
  func step() async {
    let device = devices[random.below(2)]
    switch random.below(10) {
    case 0...3:
      lastWord += 1
      device.add(word: "w\(lastWord)", to: Self.names[random.below(Self.names.count)])
    case 4: device.delete(Self.names[random.below(Self.names.count)])
    case 5: await device.relaunch()
    case 6:
      emulator.faults = FaultPlan(seed: random.next(), rules: [rule(), rule()])
      if random.below(2) == 0 { devices[0].journal.loseReply() }
    case 7, 8: await device.sync(sends: true, endsAfter: random.below(3) == 0 ? random.below(8) : nil)
    default: await device.sync(sends: false, endsAfter: random.below(3) == 0 ? random.below(8) : nil)
    }
  }

  private func rule() -> FaultRule {
    let actions: [FaultAction] = [
      .offline, .dropBeforeCommit, .throttled(retryAfter: 1), .tryAgainLater(retryAfter: nil), .internalError,
      .badGateway(), .authExpired,
    ]
    let operations = ["records/modify", "changes/zone", "changes/database", "zones/modify", nil]
    let condition = FaultCondition(
      operation: operations[random.below(operations.count)],
      limit: 1 + random.below(2),
      probability: 0.6
    )
    return FaultRule(when: condition, then: actions[random.below(actions.count)])
  }

  /// Lets both devices sync without faults until they have nothing to do.
  func settle() async {
    emulator.faults = FaultPlan()
    for device in devices { await device.relaunch() }
    for _ in 0..<12 { for device in devices { await device.sync(sends: true, endsAfter: nil) } }
  }

  /// The faults of the history, in words.
  func faults() async -> [String] {
    var faults = devices.flatMap(\.faults)
    for device in devices where !device.isIdle { faults.append("device \(device.number) still has pending changes") }
    if devices[0].texts != devices[1].texts { faults.append("\(devices[0].texts) is not \(devices[1].texts)") }
    // A word that was added is in its note at the end, unless that note was deleted.
    let journal = devices[0].journal
    for (word, name) in devices.flatMap(\.words) where !journal.deleted.contains(name) {
      if devices[0].texts[name]?.contains(word) != true { faults.append("\(word) of \(name) is lost") }
    }
    faults += journal.repeated
    return faults
  }
}

/// The emulator behind a journal of the writes that took effect, also of those whose reply is lost.
private final class WriteJournal: CKTransport {
  private struct Content: Sendable {
    var losesReply = false
    /// The notes that a user deleted at any time.
    var deleted: Set<String> = []
    /// The words of each note on the server.
    var words: [String: [String]] = [:]
    var repeated: [String] = []
  }

  private let emulator: EmulatorTransport
  private let content = Mutex(Content())

  init(_ emulator: Emulator) { self.emulator = EmulatorTransport(emulator, now: { Date() }, sleep: { _ in }) }

  var deleted: Set<String> { content.withLock { $0.deleted } }
  var repeated: [String] { content.withLock { $0.repeated } }

  func noteDeletion(of name: String) { content.withLock { _ = $0.deleted.insert(name) } }

  /// Loses the reply to the next write.
  func loseReply() { content.withLock { $0.losesReply = true } }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    let response = try await emulator.send(request)
    guard request.path.hasSuffix("records/modify") else { return response }
    let answer = (try? JSONSerialization.jsonObject(with: response.body)) as? [String: Any]
    for record in answer?["records"] as? [[String: Any]] ?? [] { note(record) }
    let isLost = content.withLock { content in
      defer { content.losesReply = false }
      return content.losesReply
    }
    if isLost { throw CKTransportError(.unknown, "The connection broke.") }
    return response
  }

  /// A write that leaves the words as they were had its effect before.
  private func note(_ record: [String: Any]) {
    guard let name = record["recordName"] as? String, record["serverErrorCode"] == nil else { return }
    let words = ((record["fields"] as? [String: Any])?["words"] as? [String: Any])?["value"] as? [String]
    content.withLock { content in
      if let words, content.words[name] == words { content.repeated.append("\(name) was sent twice: \(words)") }
      content.words[name] = record["deleted"] as? Bool == true ? nil : words
    }
  }
}

/// An app whose notes are lists of words: an edit adds a word, and a conflict keeps the words of both sides.
private final class SimulatedNotes: CKSyncEngineDelegate {
  /// The content of the disk.
  struct Disk: Sendable {
    var notes: [CKRecord.ID: [String]] = [:]
    var known: [CKRecord.ID: CKRecord] = [:]
    var state: CKSyncEngine.State.Serialization?
  }

  private struct Content: Sendable {
    /// The content of the process's memory; it is saved with each state.
    var memory = Disk()
    var disk = Disk()
    var engine: CKSyncEngine?
    /// The words that were saved together with a state that says that their notes are pending.
    var words: [(String, String)] = []
    var unsavedWords: [(String, String)] = []
    /// The number of events after which the process ends.
    var eventsLeft: Int?
    var faults: [String] = []
  }

  let number: Int
  let journal: WriteJournal
  private let content = Mutex(Content())

  init(_ journal: WriteJournal, number: Int) {
    self.journal = journal
    self.number = number
  }

  var faults: [String] { content.withLock { $0.faults } }
  var words: [(String, String)] { content.withLock { $0.words } }
  var texts: [String: [String]] {
    content.withLock { Dictionary(uniqueKeysWithValues: $0.memory.notes.map { ($0.recordName, $1.sorted()) }) }
  }
  private var engine: CKSyncEngine { content.withLock { $0.engine! } }
  var isIdle: Bool { engine.state.pendingRecordZoneChanges.isEmpty && engine.state.pendingDatabaseChanges.isEmpty }

  /// Ends the process and starts another from the disk, which ends its look-up of the account before anything else.
  func relaunch() async {
    content.withLock { content in
      content.memory = content.disk
      content.unsavedWords = []
      content.eventsLeft = nil
      // No event is handled before the engine is known.
      content.engine = makeEngine(content.disk.state)
    }
    await engine.waitForTurn()
  }

  /// Makes an engine whose user has just signed in.
  private func makeEngine(_ state: CKSyncEngine.State.Serialization?) -> CKSyncEngine {
    let container = CKContainer(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "token", webAuthToken: "ana"),
      transport: journal
    )
    var configuration = CKSyncEngine.Configuration(
      database: container.privateCloudDatabase,
      stateSerialization: state,
      delegate: self
    )
    configuration.automaticallySync = false
    return CKSyncEngine(configuration)
  }

  func add(word: String, to name: String) {
    let id = Device.id(name)
    content.withLock { content in
      content.memory.notes[id, default: []].append(word)
      content.unsavedWords.append((word, name))
    }
    engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
  }

  func delete(_ name: String) {
    journal.noteDeletion(of: name)
    content.withLock { $0.memory.notes[Device.id(name)] = nil }
    engine.state.add(pendingRecordZoneChanges: [.deleteRecord(Device.id(name))])
  }

  /// Fetches, and sends if asked. The process may end at an event in between.
  func sync(sends: Bool, endsAfter events: Int?) async {
    content.withLock { $0.eventsLeft = events }
    try? await engine.fetchChanges()
    if sends, !isDead { try? await engine.sendChanges() }
    let ends = isDead
    content.withLock { $0.eventsLeft = nil }
    if ends { await relaunch() }
  }

  private var isDead: Bool { content.withLock { $0.eventsLeft == 0 } }

  // MARK: - The delegate

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    let isStopped = content.withLock { content in
      guard content.engine === syncEngine, content.eventsLeft != 0 else { return true }
      content.eventsLeft = content.eventsLeft.map { $0 - 1 }
      return false
    }
    // Nothing reaches a process that has ended.
    guard !isStopped else { return await syncEngine.cancelOperations() }
    switch event {
    case .stateUpdate(let event):
      let pending = Set(CKSyncEngine.State(event.stateSerialization).pendingRecordZoneChanges)
      content.withLock { content in
        content.memory.state = event.stateSerialization
        content.disk = content.memory
        // A word whose note is not pending yet is in the window for which the engine promises nothing.
        content.words += content.unsavedWords.filter { pending.contains(.saveRecord(Device.id($0.1))) }
        content.unsavedWords.removeAll { pending.contains(.saveRecord(Device.id($0.1))) }
      }
    case .accountChange(let change):
      guard case .signIn = change.changeType else {
        return content.withLock { $0.faults.append("device \(number) saw \(change)") }
      }
      syncEngine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Device.zoneID))])
    case .fetchedRecordZoneChanges(let event):
      for record in event.modifications.map(\.record) { merge(record, syncEngine) }
      for deletion in event.deletions { forget(deletion.recordID) }
    case .sentRecordZoneChanges(let event): handle(event, syncEngine)
    default: break
    }
  }

  private func handle(_ event: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine) {
    content.withLock { content in
      for record in event.savedRecords { content.memory.known[record.recordID] = record }
      for id in event.deletedRecordIDs { content.memory.known[id] = nil }
    }
    for failure in event.failedRecordSaves {
      let id = failure.record.recordID
      switch failure.error.code {
      case .serverRecordChanged:
        // It has left the pending changes, so what it adds to the server's version is pending again.
        let isNew = failure.error.serverRecord.map { take($0, keepsOwn: true) } ?? true
        if isNew { engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)]) }
      case .unknownItem:
        content.withLock { $0.memory.known[id] = nil }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
      case .zoneNotFound:
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: id.zoneID))])
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
      default:
        if !engine.state.pendingRecordZoneChanges.contains(.saveRecord(id)) {
          content.withLock { $0.faults.append("\(id.recordName) is not pending after \(failure.error.code)") }
        }
      }
    }
  }

  /// Takes the server's version, and keeps the words of a pending note that it lacks. A note that lacks none is there
  /// already, as after a lost reply, and is not sent again.
  private func merge(_ server: CKRecord, _ engine: CKSyncEngine) {
    let id = server.recordID
    let pending = engine.state.pendingRecordZoneChanges
    guard !pending.contains(.deleteRecord(id)) else { return }
    let isPending = pending.contains(.saveRecord(id))
    if !take(server, keepsOwn: isPending), isPending {
      engine.state.remove(pendingRecordZoneChanges: [.saveRecord(id)])
    }
  }

  /// Takes the server's version and returns whether there are words that it lacks.
  private func take(_ server: CKRecord, keepsOwn: Bool) -> Bool {
    content.withLock { content in
      let theirs = server["words"] as? [String] ?? []
      let own = keepsOwn ? (content.memory.notes[server.recordID] ?? []).filter { !theirs.contains($0) } : []
      content.memory.notes[server.recordID] = theirs + own
      content.memory.known[server.recordID] = server
      return !own.isEmpty
    }
  }

  private func forget(_ id: CKRecord.ID) {
    content.withLock { content in
      content.memory.known[id] = nil
      if content.engine?.state.pendingRecordZoneChanges.contains(.saveRecord(id)) != true {
        content.memory.notes[id] = nil
      }
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    guard content.withLock({ $0.engine === syncEngine && $0.eventsLeft != 0 }) else { return nil }
    let pending = syncEngine.state.pendingRecordZoneChanges
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { id in
      let memory = self.content.withLock { $0.memory }
      guard let words = memory.notes[id] else {
        syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(id)])
        return nil
      }
      let record = memory.known[id].flatMap { $0.copy() as? CKRecord } ?? CKRecord(recordType: "Note", recordID: id)
      record["words"] = words
      return record
    }
  }
}
