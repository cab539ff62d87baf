import CloudKit
import Foundation
import Synchronization

@testable import CloudSync

/// A delegate that does what a test says and notes what it was told.
final class TestDelegate: SyncEngineDelegate {
  struct Refusal: LocalizedError {
    var errorDescription: String? { "the app says no" }
  }

  struct State {
    /// What was taken, in order: names of what came, names with a minus of what went.
    var taken: [String] = []
    var records: [String: CKRecord] = [:]
    var seen: [String] = []
    var offers: [String] = []
    var calls = 0
  }

  let state = Mutex(State())
  var taken: [String] { state.withLock { $0.taken } }
  var calls: Int { state.withLock { $0.calls } }

  let willSend: @Sendable (CKRecord) async throws -> CKRecord
  let receive: @Sendable (_ call: Int) async throws -> Void
  let repair: @Sendable (CKRecord) -> CKRecord?
  let policy: SignOutPolicy
  let recordTypesInDependencyOrder: [String]
  /// Records with which it takes nothing.
  private let refused: Mutex<Set<String>>

  /// Takes everything from now on.
  func accepts() { refused.withLock { $0 = [] } }

  init(
    types: [String] = [],
    refusing refused: Set<String> = [],
    policy: SignOutPolicy = .keep,
    willSend: @escaping @Sendable (CKRecord) async throws -> CKRecord = { $0 },
    receive: @escaping @Sendable (_ call: Int) async throws -> Void = { _ in },
    repair: @escaping @Sendable (CKRecord) -> CKRecord? = { _ in nil }
  ) {
    recordTypesInDependencyOrder = types
    self.refused = Mutex(refused)
    self.policy = policy
    self.willSend = willSend
    self.receive = receive
    self.repair = repair
  }

  func syncEngine(_ engine: SyncEngine, willSend record: CKRecord) async throws -> CKRecord {
    state.withLock { $0.seen.append(record.recordID.recordName) }
    return try await willSend(record)
  }

  func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws {
    let call = state.withLock { state in
      state.calls += 1
      return state.calls
    }
    try await receive(call)
    let refused = refused.withLock { $0 }
    if changes.modifications.contains(where: { refused.contains($0.recordID.recordName) }) { throw Refusal() }
    state.withLock { state in
      for record in changes.modifications {
        state.taken.append(record.recordID.recordName)
        state.records[record.recordID.recordName] = record
      }
      for deletion in changes.deletions {
        state.taken.append("-\(deletion.recordID.recordName)")
        state.records[deletion.recordID.recordName] = nil
      }
      for zone in changes.deletedZones { state.taken.append("-\(zone.zoneName)/") }
    }
  }

  func syncEngine(_ engine: SyncEngine, repair record: CKRecord, after reason: SyncFailure) async -> CKRecord? {
    state.withLock { $0.offers.append("\(record.recordID.recordName) \(reason.code)") }
    return repair(record)
  }

  func signOutPolicy(of engine: SyncEngine) async -> SignOutPolicy { policy }
}
