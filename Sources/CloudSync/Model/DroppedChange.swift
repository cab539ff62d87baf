package import CloudKit
package import Facts

/// A part of an accepted change that a policy or a person dropped, kept so that it can be shown and undone.
package struct DroppedChange: Hashable, Sendable {
  /// The operation to which it belonged.
  package var operation: Int64
  package var kind: OperationKind
  package var key: RecordKey
  package var type: String?
  /// The dropped field changes; empty for a delete.
  package var changes: FieldChanges
  /// The base of a conflict or of a change that a person discarded; else that of the fields with a merge rule: for a counter the difference was dropped.
  package var base: [String: FieldValue]
  /// The cause of the conflict in which it was dropped; undoing it opens the conflict again.
  package var conflict: Cause?
  /// The dropped assets.
  package var assets: [QueuedAsset]
  package var cause: Cause
  package var at: Int64
  /// Whether it can be undone: the record has not been edited here since.
  package var isOpen = true

  package init(_ changes: FieldChanges, of operation: QueuedOperation, _ cause: Cause, at time: Int64) {
    self.operation = operation.id
    kind = operation.kind
    key = operation.key
    type = operation.type
    self.changes = changes
    conflict = operation.state == .conflict ? operation.cause : nil
    base = conflict == nil && !cause.isDiscard ? operation.base.filter { changes.rules[$0.key] != nil } : operation.base
    assets = operation.assets.kept(by: changes)
    self.cause = cause
    at = time
  }

  /// Whether its base is known. If so, later changes on the server are found by comparing with it.
  var hasBase: Bool { conflict != nil || cause.isDiscard }

  /// Whether nothing was dropped: a conflict was resolved for this side, which can be undone until it is sent.
  package var isDecision: Bool { kind == .save && conflict != nil && changes.isEmpty }

  /// The changes that undo it on the current record: fields with a merge rule are merged again.
  func joined(with fields: [String: FieldValue]) -> FieldChanges {
    var result = changes
    for (name, rule) in changes.rules {
      guard let joined = rule.joined(base: base[name], local: changes[name], server: fields[name]) else { continue }
      result.merge(name, joined, rule)
    }
    return result
  }
}

/// A dropped change with its number in the store.
package struct DroppedRow: Hashable, Identifiable, Sendable {
  package var id: Int64
  package var change: DroppedChange

  package init(id: Int64, _ change: DroppedChange) { (self.id, self.change) = (id, change) }
}

extension Cause {
  fileprivate var isDiscard: Bool { if case .discarded = self { true } else { false } }
}
