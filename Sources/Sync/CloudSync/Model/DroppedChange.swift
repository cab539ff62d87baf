package import CloudKit
package import Facts

/// A part of an accepted change that a policy or a person dropped, or the server's values that one of them overwrote,
/// kept so that it can be shown and undone.
package struct DroppedChange: Hashable, Sendable {
  /// The operation to which it belonged.
  package var operation: Int64
  /// The kind of the dropped change; `save` if nothing was dropped.
  package var kind: OperationKind
  package var key: RecordKey
  package var type: String?
  /// The dropped field changes; empty for a delete, or if nothing was dropped.
  package var changes: FieldChanges
  /// The base of a conflict or of a change that was dropped as a whole; else that of the fields with a merge rule,
  /// which an undo merges again.
  package var base: [String: FieldValue]
  /// The cause of the conflict in which it was decided; undoing it before it is sent opens the conflict again.
  package var conflict: Cause?
  /// The server's side that was overwritten; nil if nothing was, or nothing that can be restored.
  package var overwritten: Overwritten?
  /// The dropped assets.
  package var assets: [QueuedAsset]
  package var cause: Cause
  package var at: Int64
  /// The time of the dropped edit; of the overwritten version on the server if nothing was dropped. An undo keeps it,
  /// so that the newest side stays the newest.
  package var editedAt: Int64
  /// Whether it can be undone: the record has not been edited here since.
  package var isOpen = true
  /// Whether a policy or the app dropped a local change, or its row was damaged, so that a person has to see it.
  package var isAutomatic: Bool
  /// Whether a person has seen it, or need not.
  package var isSeen: Bool

  /// - Parameters:
  ///   - changes: the dropped changes of the operation, empty for a delete; nil if none was dropped.
  ///   - overwritten: the server's side as far as it is overwritten.
  ///   - server: the server's record.
  package init(
    _ changes: FieldChanges?,
    of operation: QueuedOperation,
    _ cause: Cause,
    overwriting overwritten: Overwritten? = nil,
    of server: MirrorRecord? = nil,
    at time: Int64
  ) {
    self.operation = operation.id
    kind = changes == nil ? .save : operation.kind
    key = operation.key
    type = operation.type ?? server?.type
    self.changes = changes ?? FieldChanges()
    conflict = operation.state == .conflict ? operation.cause : nil
    let rules = self.changes.rules
    base = conflict == nil && !cause.isOfWhole ? operation.base.filter { rules[$0.key] != nil } : operation.base
    self.overwritten = overwritten
    assets = operation.assets.kept(by: self.changes)
    self.cause = cause
    at = time
    editedAt = changes == nil ? server?.modifiedAt ?? operation.editedAt : operation.editedAt
    // An insert that yields is dropped as its caller asked.
    isAutomatic = changes != nil && cause.isAutomatic && !operation.changes.yields
    isSeen = !isAutomatic
  }

  /// Whether the base of the dropped change is known. If so, later changes on the server are found by comparing with
  /// it. A deletion that was sent is the latest change on the server.
  var hasBase: Bool { cause != .deletedBeforeSent && (conflict != nil || isWhole) }

  /// Whether a change was dropped here, not only values of the server overwritten.
  package var dropsChange: Bool { kind == .delete || isWithdrawn || !changes.isEmpty }

  /// Whether the whole operation was dropped: an operator discarded it, or the record was deleted.
  package var isWhole: Bool { cause.isOfWhole }

  /// Whether the change was given up with nothing on the server against it, so that an undo overwrites nothing.
  var isWithdrawn: Bool { overwritten == nil && (isWhole || cause == .zoneDeleteEnqueued) }

  /// The changes that undo it on the current record: fields with a merge rule are merged again.
  func joined(with fields: [String: FieldValue]) -> FieldChanges { changes.joined(base: base, with: fields) }
}

extension FieldChanges {
  /// The changes on the current record: fields with a merge rule are merged again.
  func joined(base: [String: FieldValue], with fields: [String: FieldValue]) -> FieldChanges {
    var result = self
    for (name, rule) in rules {
      guard let joined = rule.joined(base: base[name], local: self[name], server: fields[name]) else { continue }
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
  fileprivate var isOfWhole: Bool {
    switch self {
    case .discarded, .deletedBeforeSent: true
    default: false
    }
  }

  /// Whether no person dropped what it was dropped for.
  fileprivate var isAutomatic: Bool {
    switch self {
    case .serverKept, .serverSideKept, .resolved(by: .app), .resolved(by: .policy), .failed(.damaged): true
    default: false
    }
  }
}
