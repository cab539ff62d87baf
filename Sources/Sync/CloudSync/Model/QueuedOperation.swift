import Facts
import Foundation

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

  package static let current = ProgramID(
    name: ProcessInfo.processInfo.processName,
    pid: Int64(ProcessInfo.processInfo.processIdentifier)
  )
}
