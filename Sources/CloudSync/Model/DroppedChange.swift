import CloudKit

/// What a policy or a person dropped of an accepted change, so that it can be seen and undone.
package struct DroppedChange: Hashable, Sendable {
  /// The operation that it was part of.
  package var operation: Int64
  package var kind: OperationKind
  package var key: RecordKey
  package var type: String?
  /// What was not sent, or not any more; of a deletion nothing.
  package var changes: FieldChanges
  /// Where the bytes of assets among them are.
  package var assets: [QueuedAsset]
  package var reason: String
  package var at: Int64
  /// Whether it can be undone: the record has not been edited here since.
  package var isOpen = true

  init(_ changes: FieldChanges, of operation: QueuedOperation, _ reason: String, at time: Int64) {
    self.operation = operation.id
    kind = operation.kind
    key = operation.key
    type = operation.type
    self.changes = changes
    assets = operation.assets.kept(by: changes)
    self.reason = reason
    at = time
  }
}
