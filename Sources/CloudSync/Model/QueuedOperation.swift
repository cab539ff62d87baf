package import CloudKit
import Facts
import Foundation

/// The kind of an operation.
package enum OperationKind: String, Hashable, Sendable, CaseIterable, Codable {
  case save, delete, zoneSave, zoneDelete
}

/// The state of an operation.
package enum OperationState: String, Hashable, Sendable, CaseIterable, Codable {
  /// Ready to be sent, apart from its order or a throttled scope. Ends when it is sent.
  case pending
  /// Sent, outcome unknown. Ends with the reply, or after a crash by verifying.
  case inFlight
  /// In a back-off until `nextAttemptAt`. Ends at that time.
  case waiting
  /// A dead letter. Ends by an operator's retry or discard, or by a new edit of the record.
  case failed
  /// Paused by an operator. Ends by resuming.
  case paused
  /// In conflict. Ends by a resolution.
  case conflict

  /// The states of operations to send, now or after a wait, without a person's decision.
  static let open: [OperationState] = [.pending, .waiting]

  var isOpen: Bool { Self.open.contains(self) }
}

/// Reading what the phase and the doubt say.
extension QueuedOperation {
  package var state: OperationState {
    switch phase {
    case .pending: .pending
    case .inFlight: .inFlight
    case .waiting: .waiting
    case .failed: .failed
    case .paused: .paused
    case .conflict: .conflict
    }
  }

  /// The generation in flight.
  package var sentGeneration: Int64? { if case .inFlight(let generation, _) = phase { generation } else { nil } }

  /// The kind in flight.
  package var sentKind: OperationKind? { if case .inFlight(_, let kind) = phase { kind } else { nil } }

  /// The end of its wait, in milliseconds since 1970.
  var waitsUntil: Int64? { if case .waiting(let end, _) = phase { end } else { nil } }

  /// Whether the server asked for the wait.
  var isServersWait: Bool { if case .waiting(_, isServersWait: true) = phase { true } else { false } }

  /// The time of the next attempt, if one is due.
  package var nextAttemptAt: Int64? { explainedAttemptAt ?? waitsUntil }

  var conflictAt: Int64? { if case .conflict(let since) = phase { since } else { nil } }

  package var needsVerification: Bool { doubt.needsVerification }
  package var isUnconfirmed: Bool { doubt.isUnconfirmed }
  package var sentChanges: [FieldChanges] { doubt.sentChanges }
  package var lostRounds: Int { doubt.lostRounds }

  /// A conflict that recurs more often than this goes to a person.
  static let conflictRoundLimit = 8

  /// Whether the conflict recurs too often to be resolved by the policy.
  var conflictsEndlessly: Bool { conflictRounds > Self.conflictRoundLimit }

  /// Paused, or a dead letter.
  var isHeldByPerson: Bool { state == .paused || state == .failed }

  /// Adds a note to the cause, once.
  mutating func note(_ note: Cause.Note) {
    if !cause.notes.contains(note) { cause = .noted(cause, note) }
  }

  /// The type and name of its record, or the name of its zone, as messages have it.
  var title: String { key.title(type: type) }
}

/// A program on this machine, with the process that ran it.
package struct ProgramID: Hashable, Sendable {
  package var name: String
  package var pid: Int64

  package init(name: String, pid: Int64) { (self.name, self.pid) = (name, pid) }

  /// This process.
  package static let current = ProgramID(
    name: ProcessInfo.processInfo.processName,
    pid: Int64(ProcessInfo.processInfo.processIdentifier)
  )
}

/// The way in which an accepted change ended. Each ends in exactly one way.
package enum Ending: String, Hashable, Sendable, CaseIterable {
  /// The server holds it.
  case acknowledged
  /// A later change replaced it before it was sent.
  case superseded
  /// Merged with the server's record; nothing was left to send.
  case merged
  /// An operator discarded it.
  case discarded
}

/// A record in the server's last known version.
package struct MirrorRecord: Hashable, Sendable {
  package var key: RecordKey
  package var type: String
  package var changeTag: String
  package var fields: [String: FieldValue]
  /// Milliseconds since 1970.
  package var createdAt: Int64?
  package var modifiedAt: Int64?
  package var modifiedBy: String?
  package var createdBy: String?
  /// The record name of its share, in the same zone; nil if it is not the root of one.
  package var share: String?
}

extension MirrorRecord {
  /// Nil if the record in the reply is incomplete.
  package init?(_ wire: WireRecord, in zone: ZoneKey) {
    guard let type = wire.recordType, let tag = wire.recordChangeTag else { return nil }
    self.init(
      key: RecordKey(zone, wire.recordName),
      type: type,
      changeTag: tag,
      fields: wire.fieldsWithParent(in: zone),
      createdAt: wire.created?.timestamp,
      modifiedAt: wire.modified?.timestamp,
      modifiedBy: wire.modified?.userRecordName,
      createdBy: wire.created?.userRecordName,
      share: wire.share?.recordName
    )
  }
}
