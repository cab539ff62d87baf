import CloudKit
import Facts

/// The changes that an undo queues: the dropped ones of an operation, and the server's values that it overwrote.
struct Restoration {
  /// The changes to accept again; nil: a deletion.
  private(set) var changes: FieldChanges? = FieldChanges()
  private(set) var assets: [QueuedAsset] = []
  /// The values from which the restored fields were changed, as far as they are known. Where the server has another
  /// one, the field is a conflict.
  private(set) var base: [String: FieldValue?] = [:]
  /// The same for a deletion: the record as it was.
  private(set) var recordBase: [String: FieldValue] = [:]
  /// The cause of the conflict that is open again.
  private(set) var conflict: Cause?
  /// The time of the latest edit that is restored.
  private(set) var editedAt: Int64 = .min
  /// Whether the record must be new.
  private(set) var isInsert = false
  /// Whether a change was given up as a whole.
  private var isWhole = false

  /// - Parameters:
  ///   - dropped: the dropped changes that can be undone, oldest first.
  ///   - waiting: the operation, if it is queued: what it overwrites is still on the server, and the conflict that was
  ///     decided is open again.
  ///   - fields: the record with its queued change.
  init(_ dropped: [DroppedChange], of waiting: QueuedOperation?, over fields: [String: FieldValue]) {
    for dropped in dropped {
      editedAt = max(editedAt, dropped.editedAt)
      isInsert = isInsert || dropped.changes.isInsert
      isWhole = isWhole || dropped.isWithdrawn
      if let waiting, dropped.conflict != nil {
        for name in waiting.changes.names { base[name] = .some(dropped.base[name]) }
        recordBase = dropped.base
        conflict = dropped.conflict
      }
      let isUndecided = waiting != nil && dropped.conflict != nil
      let overwritten = isUndecided ? waiting.flatMap { dropped.overwritten?.sent(of: $0) } : dropped.overwritten
      if let overwritten { restore(overwritten, over: fields, except: waiting?.changes.names ?? []) }
      if dropped.dropsChange { restore(dropped, over: fields) }
    }
  }

  /// - Parameter unsent: fields whose replacement is not on the server yet.
  private mutating func restore(
    _ overwritten: Overwritten,
    over fields: [String: FieldValue],
    except unsent: Set<String>
  ) {
    let replacements = overwritten.replacements ?? [:]
    guard let values = overwritten.values else {
      changes = nil
      recordBase = replacements
      return
    }
    apply(values.joined(base: replacements, with: current(fields)))
    for name in values.names.subtracting(unsent) { base[name] = .some(replacements[name]) }
  }

  private mutating func restore(_ dropped: DroppedChange, over fields: [String: FieldValue]) {
    if dropped.hasBase {
      conflict = dropped.conflict ?? conflict
      recordBase = dropped.base
      for name in dropped.changes.names { base[name] = .some(dropped.base[name]) }
    }
    if dropped.cause == .deletedBeforeSent { for name in dropped.changes.names { base[name] = .some(nil) } }
    guard dropped.kind != .delete else { return changes = nil }
    apply(dropped.joined(with: current(fields)))
    assets += dropped.assets
  }

  private func current(_ fields: [String: FieldValue]) -> [String: FieldValue] {
    changes?.applied(to: fields) ?? [:]
  }

  /// Applies later changes; after a deletion they make a new record.
  private mutating func apply(_ later: FieldChanges) {
    assets.removeAll { later.names.contains($0.field) }
    changes = changes ?? FieldChanges()
    changes?.apply(later)
  }

  /// Whether there is nothing to accept: only a conflict is open again. A new record may have no fields.
  var isEmpty: Bool { !isWhole && changes?.isEmpty ?? false }

  /// Whether the conflict that is open again is about a record that the server deleted.
  private var isAboutDeletion: Bool { if case .conflict(.deletedOnServer, _)? = conflict { true } else { false } }

  /// Makes the accepted operation the conflict that it is with the server's record, if it is one. Returns whether it
  /// is.
  func reopen(_ operation: inout QueuedOperation, beside server: MirrorRecord?, now: Int64) -> Bool {
    if operation.kind == .delete {
      // Nothing is left to ask about where the record is gone.
      guard let server, conflict != nil || !recordBase.isEmpty, !recordBase.isSame(as: server.fields) else {
        return false
      }
      operation.base = recordBase
      operation.apply(.conflicted(.deletedHere, now: now))
    } else {
      // Fields with a merge rule are merged again instead.
      let names = operation.changes.names.subtracting(operation.changes.rules.keys).filter { base[$0] != nil }
      guard !names.isEmpty else { return false }
      for name in names { operation.base[name] = base[name] ?? nil }
      operation.apply(.conflicted(.fields([]), now: now))
      let conflict = Conflict(operation, server: server)
      guard conflict.isContested || (server == nil && isAboutDeletion) else { return false }
      operation.cause = .conflict(server == nil ? .deletedOnServer : .fields(conflict.fields.map(\.name)))
    }
    if let conflict { operation.cause = conflict }
    return true
  }
}
