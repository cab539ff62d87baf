import CloudKit
import Facts

/// Newly accepted operations.
extension QueuedOperation {
  /// The default number of attempts before a change becomes a dead letter.
  package static let defaultAttemptLimit = 8

  init(
    saving key: RecordKey,
    type: String,
    _ changes: FieldChanges,
    base: [String: FieldValue],
    baseTag: String?,
    group: String?,
    now: Int64
  ) {
    self.init(.save, key, type: type, changes, base: base, baseTag: baseTag, group: group, now: now)
  }

  init(
    deleting key: RecordKey,
    type: String?,
    base: [String: FieldValue],
    baseTag: String?,
    group: String?,
    now: Int64
  ) {
    self.init(.delete, key, type: type, FieldChanges(), base: base, baseTag: baseTag, group: group, now: now)
  }

  init(_ zone: ZoneKey, _ kind: OperationKind, now: Int64) {
    self.init(kind, RecordKey(zone, ""), type: nil, FieldChanges(), base: [:], baseTag: nil, group: nil, now: now)
  }

  private init(
    _ kind: OperationKind,
    _ key: RecordKey,
    type: String?,
    _ changes: FieldChanges,
    base: [String: FieldValue],
    baseTag: String?,
    group: String?,
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
