package enum OperationKind: String, Hashable, Sendable, CaseIterable, Codable {
  case save, delete, zoneSave, zoneDelete

  /// Whether it concerns a zone, not a record.
  package var isOfZone: Bool { self == .zoneSave || self == .zoneDelete }
}

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
