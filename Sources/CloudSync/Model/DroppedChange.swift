package import CloudKit
package import Facts

/// What a policy or a person dropped of an accepted change, so that it can be seen and undone.
package struct DroppedChange: Hashable, Sendable {
  /// The operation that it was part of.
  package var operation: Int64
  package var kind: OperationKind
  package var key: RecordKey
  package var type: String?
  /// What was not sent, or not any more; of a deletion nothing.
  package var changes: FieldChanges
  /// On what those of its fields were changed that a rule merges: of a counter the difference is what was dropped.
  package var base: [String: FieldValue]
  /// Where the bytes of assets among them are.
  package var assets: [QueuedAsset]
  package var cause: Cause
  package var at: Int64
  /// Whether it can be undone: the record has not been edited here since.
  package var isOpen = true

  init(_ changes: FieldChanges, of operation: QueuedOperation, _ cause: Cause, at time: Int64) {
    self.operation = operation.id
    kind = operation.kind
    key = operation.key
    type = operation.type
    self.changes = changes
    base = operation.base.filter { changes.rules[$0.key] != nil }
    assets = operation.assets.kept(by: changes)
    self.cause = cause
    at = time
  }

  /// What undoing it makes of a record as it is now: what a rule merges is added again to what others made of it.
  func joined(with fields: [String: FieldValue]) -> FieldChanges {
    var result = changes
    for (name, rule) in changes.rules {
      guard let joined = rule.joined(base: base[name], local: changes[name], server: fields[name]) else { continue }
      result.merge(name, joined, rule)
    }
    return result
  }
}
