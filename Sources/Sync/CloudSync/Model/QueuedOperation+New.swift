import CloudKit
import Facts

/// Newly accepted operations.
extension QueuedOperation {
  /// The default number of attempts before a change becomes a dead letter.
  package static let defaultAttemptLimit = 8

  init(
    _ kind: OperationKind,
    _ key: RecordKey,
    type: String? = nil,
    _ changes: FieldChanges = FieldChanges(),
    base: [String: FieldValue] = [:],
    baseTag: String? = nil,
    group: String? = nil,
    now: Int64
  ) {
    self.init(
      id: 0,
      kind: kind,
      key: key,
      type: type,
      changes: changes,
      base: base,
      baseTag: baseTag,
      cause: .ready,
      generation: 1,
      maxAttempts: Self.defaultAttemptLimit,
      enqueuedAt: now,
      editedAt: now,
      bytes: changes.requestBytes,
      group: group,
      enqueuedBy: .current
    )
  }
}
