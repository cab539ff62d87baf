import CloudKit
import Synchronization
import TestSupport

@testable import CloudSync

/// The app on one device: takes what the engine brings into a database of its own, which outlives crashes, and has a say in
/// what is sent. In trouble it refuses, changes its mind and throws.
final class SimulatedApp: SyncEngineDelegate {
  private struct State {
    var random: SplitMix64
    /// The chance that it is difficult; 0: it takes and sends everything as it is.
    var trouble = 0.0
    var contents: [RecordKey: [String: String]] = [:]
    var notes = Notes()
  }

  /// What happened since last asked.
  struct Notes: Sendable {
    var trace: [String] = []
    var rare: [String] = []
    /// What it was asked to settle.
    var conflicts: [(key: RecordKey, fields: [String])] = []
  }

  private struct Refusal: Error {}

  private let state: Mutex<State>

  /// Whether it is asked about what both sides changed, in place of the policy.
  let settles: Bool

  init(seed: UInt64, settles: Bool) {
    self.settles = settles
    state = Mutex(State(random: SplitMix64(seed: seed)))
  }

  func meet(trouble: Double) { state.withLock { $0.trouble = trouble } }

  func takeNotes() -> Notes {
    state.withLock { state in
      defer { state.notes = Notes() }
      return state.notes
    }
  }

  /// What it has been brought.
  var contents: [RecordKey: [String: String]] { state.withLock(\.contents) }

  private func note(_ what: String, _ id: CKRecord.ID?, isRare: Bool = true) {
    state.withLock { state in
      state.notes.trace.append("the app \(what) \(id?.recordName ?? "")")
      if isRare { state.notes.rare.append("app \(what)") }
    }
  }

  /// One of the ways, by chance; the first where there is no trouble.
  private func choose(_ count: Int) -> Int {
    state.withLock { state in
      guard state.random.happens(state.trouble) else { return 0 }
      return state.random.below(count)
    }
  }

  private func number() -> Int { state.withLock { $0.random.below(3) } }

  // MARK: - Delegate

  func syncEngine(_ engine: SyncEngine, willSend record: CKRecord) async throws -> CKRecord {
    switch choose(3) {
    case 1:
      note("refuses to send", record.recordID)
      throw Refusal()
    // Of an owned record nobody but its history decides what it holds.
    case 2 where !Intents.isOwned(record.recordID.recordName):
      note("changes before it goes", record.recordID)
      record["stamp"] = number()
      return record
    default: return record
    }
  }

  func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws {
    if choose(2) == 1 {
      note("does not take", changes.modifications.first?.recordID ?? changes.deletions.first?.recordID)
      throw Refusal()
    }
    let taken = try changes.modifications.map { record in
      (key: RecordKey(record.recordID), fields: try record.queueFields().mapValues(\.text))
    }
    state.withLock { state in
      for (key, fields) in taken { state.contents[key] = fields }
      for deletion in changes.deletions { state.contents[RecordKey(deletion.recordID)] = nil }
    }
    note("takes \(taken.count) and \(changes.deletions.count)", nil, isRare: false)
  }

  func syncEngine(_ engine: SyncEngine, repair record: CKRecord, after reason: SyncFailure) async -> CKRecord? {
    guard choose(2) == 1 else { return nil }
    note("repairs", record.recordID)
    if !Intents.isOwned(record.recordID.recordName) { record["stamp"] = number() }
    return record
  }

  // MARK: - Conflicts

  /// Settles what both sides changed in place of the policy.
  func settle(_ change: ConflictingChange) throws -> ConflictDecision {
    let key = RecordKey(change.recordID)
    state.withLock { $0.notes.conflicts.append((key, change.fields)) }
    note("is asked about", change.recordID)
    switch choose(5) {
    case 1: return .client
    case 2: return .manual(reason: "it does not know")
    case 3: throw Refusal()
    case 4:
      guard let record = change.serverRecord ?? change.clientRecord else { return .server }
      if !Intents.isOwned(key.name) { record["shared"] = number() }
      return .merged(record)
    default: return .server
    }
  }
}
