package import CloudKit
package import Facts

/// The side whose value a field of a conflict gets.
public enum ConflictSide: String, Hashable, Sendable, CaseIterable {
  /// The value of this machine; of a deletion, that the record is deleted.
  case local
  /// The value of the server.
  case server
  /// The value that both sides knew before.
  case base
  /// The side that was edited last, by the clocks of both; at equal times as ``ConflictPolicy/newest`` decides.
  case newest
}

/// A conflict, derived from the operation and the mirror.
package struct Conflict: Hashable, Sendable {
  /// One field with its three values; nil means absent.
  package struct Field: Hashable, Sendable {
    package var name: String
    package var base: FieldValue?
    package var local: FieldValue?
    package var server: FieldValue?
  }

  package var id: Int64
  /// Changes whenever either side does; a decision about the conflict applies to one version.
  package let version: String
  package var key: RecordKey
  package var type: String
  package var kind: OperationKind
  /// The fields that both sides changed and that differ; if there are none, all that differ. If the server deleted the
  /// record, all fields with which it would be recreated, and those that the edit cleared.
  package var fields: [Field]
  /// Whether any field was changed by both sides.
  package let isContested: Bool
  /// The reason why it waits for a person.
  package var cause: Cause
  package var detectedAt: Int64
  package var editedAt: Int64
  package var serverModifiedAt: Int64?
  package var serverModifiedBy: String?
  /// Whether the server deleted the record.
  package var isDeletedOnServer: Bool

  private let changes: FieldChanges
  private let serverFields: [String: FieldValue]

  package init(_ operation: QueuedOperation, server: MirrorRecord?) {
    id = operation.id
    version = operation.version(serverTag: server?.changeTag)
    key = operation.key
    type = operation.type ?? server?.type ?? ""
    kind = operation.kind
    cause = operation.cause
    detectedAt = operation.conflictAt ?? operation.editedAt
    editedAt = operation.editedAt
    serverModifiedAt = server?.modifiedAt
    serverModifiedBy = server?.modifiedBy
    isDeletedOnServer = server == nil
    changes = operation.changes
    serverFields = server?.fields ?? [:]
    let base = operation.base
    var names = changes.names
    if operation.kind == .delete { names.formUnion(serverFields.keys) }
    // The server deleted the asset files with its record or that version of it.
    if operation.kind == .delete || server == nil { names.formUnion(base.filter { !$0.value.hasFiles }.keys) }
    let different = names.sorted().compactMap { [changes, serverFields] name -> Field? in
      let field = Field(name: name, base: base[name], local: changes[name], server: serverFields[name])
      let isCleared = server == nil && !field.local.isSame(as: field.base)
      return field.local.isSame(as: field.server) && !isCleared ? nil : field
    }
    let contested = different.filter { !$0.base.isSame(as: $0.server) }
    isContested = !contested.isEmpty
    fields = contested.isEmpty || server == nil ? different : contested
  }

  /// When both sides edited it.
  package var times: EditTimes { EditTimes(local: editedAt, server: serverModifiedAt) }

  /// The side that a choice means for a field: `newest` is the one that edited last.
  package func side(_ choice: ConflictSide, of field: Field) -> ConflictSide {
    guard choice == .newest else { return choice }
    return kind == .delete ? times.newestOfLocalDeletion : times.newest(field.local, field.server)
  }

  /// Resolves the conflict with one side for each field; `take` applies to fields not named.
  package func resolution(_ take: ConflictSide, _ choices: [String: ConflictSide] = [:]) -> Resolution {
    if kind == .delete {
      if sides(take, choices) == [.local] {
        return Resolution(kind, FieldChanges(), overwritten: .record(serverFields))
      }
      var record = serverFields
      for field in fields where (choices[field.name] ?? take) == .base && field.base?.hasFiles != true {
        record[field.name] = field.base
      }
      return resolution(merged: record)
    }
    // If the server deleted the record, it is kept or recreated as a whole.
    if isDeletedOnServer, choices.isEmpty, take == .server { return Resolution(kind, nil, changes) }
    var left = changes
    for field in fields {
      switch side(choices[field.name] ?? take, of: field) {
      case .local: left[field.name] = field.local
      case .server: left[field.name] = field.server
      case .base, .newest: left[field.name] = field.base
      }
    }
    return resolution(leaving: left)
  }

  /// Whether these choices would delete some fields and keep others, which is not possible: a delete applies to the
  /// whole record, and base and server both mean keeping it.
  package func tears(_ take: ConflictSide, _ choices: [String: ConflictSide]) -> Bool {
    kind == .delete && sides(take, choices).count > 1
  }

  /// A field whose base value has a file that neither side has any more, if these choices would restore it.
  package func fileNobodyHas(_ take: ConflictSide, _ choices: [String: ConflictSide]) -> String? {
    guard kind == .save else { return nil }
    return fields.first { field in
      (choices[field.name] ?? take) == .base && field.base?.hasFiles == true && field.base != field.server
        && field.base != field.local
    }?.name
  }

  /// The chosen sides: `local` deletes, all others keep.
  private func sides(_ take: ConflictSide, _ choices: [String: ConflictSide]) -> Set<ConflictSide> {
    let chosen = fields.isEmpty ? [take] : fields.map { choices[$0.name] ?? take }
    return Set(chosen.map { ($0 == .newest ? times.newestOfLocalDeletion : $0) == .local ? .local : .server })
  }

  /// Resolves the conflict with a merged record. Local changes without a conflict are saved too, unless the record has
  /// another value than the server for these fields.
  ///
  /// - Parameter touched: fields that the record decides even if it lacks them or has the server's value.
  package func resolution(merged record: [String: FieldValue], touched: Set<String> = []) -> Resolution {
    if kind == .delete {
      let edit = FieldChanges(from: serverFields, to: record)
      return Resolution(
        .save,
        edit.isEmpty ? nil : edit,
        FieldChanges(),
        overwritten: Overwritten(edit.names, of: serverFields, by: edit)
      )
    }
    if isDeletedOnServer { return resolution(leaving: FieldChanges(values: record)) }
    var left = changes.only(changes.names.subtracting(fields.map(\.name)))
    left.apply(FieldChanges(from: serverFields, to: record))
    for name in touched { left[name] = record[name] }
    for (name, rule) in changes.rules where left.names.contains(name) { left.merge(name, left[name], rule) }
    return resolution(leaving: left)
  }

  /// The server's values that these changes overwrite, except in fields that only this side has changed.
  private func overwritten(by left: FieldChanges) -> Overwritten? {
    if isDeletedOnServer { return left.isEmpty ? nil : .deletion(by: left.values) }
    // The app's record may also change fields that are not in conflict.
    let own = changes.names.subtracting(fields.map(\.name))
    return Overwritten(left.names.subtracting(own), of: serverFields, by: left)
  }

  private func resolution(leaving changes: FieldChanges) -> Resolution {
    let left = changes.effective(on: serverFields)
    let result = left.applied(to: serverFields)
    let dropped = self.changes.names.filter { !self.changes[$0].isSame(as: result[$0]) }
    return Resolution(
      kind,
      left.isEmpty ? nil : left,
      dropped.isEmpty ? nil : self.changes.only(dropped),
      overwritten: overwritten(by: left)
    )
  }
}

/// The result of a decision about a conflict.
package enum ConflictOutcome: Hashable, Sendable {
  /// The conflict was resolved in this way.
  case resolved(Resolution, of: Conflict)
  /// The conflict has changed since the version that was decided on, and nothing was done. Nil: it is resolved already.
  case moved(Conflict?)

  /// The resolution; nil if nothing was done.
  package var resolution: Resolution? { if case .resolved(let resolution, _) = self { resolution } else { nil } }
}

/// The result of a decision about several conflicts.
package struct ConflictsOutcome: Hashable, Sendable {
  package var resolved: [Int64] = []
  /// Conflicts that are no longer in the version that was decided on, as they are now.
  package var moved: [Conflict] = []
  /// Conflicts that the decision does not fit, each with the reason.
  package var skipped: [Int64: String] = [:]
  /// Numbers that name no conflict.
  package var unknown: [Int64] = []

  mutating func add(_ other: ConflictsOutcome) {
    resolved += other.resolved
    moved += other.moved
    skipped.merge(other.skipped) { $1 }
    unknown += other.unknown
  }
}

/// The effect of a decision about a conflict.
package struct Resolution: Hashable, Sendable {
  /// The kind of the operation from now on.
  package var kind: OperationKind
  /// The changes to send; nil if the server's record is kept.
  package var left: FieldChanges?
  /// The changes that are dropped, empty for a delete; nil if all are sent.
  package var dropped: FieldChanges?
  /// The server's side as far as it is overwritten and can be restored.
  package var overwritten: Overwritten?

  init(_ kind: OperationKind, _ left: FieldChanges?, _ dropped: FieldChanges? = nil, overwritten: Overwritten? = nil) {
    (self.kind, self.left, self.dropped, self.overwritten) = (kind, left, dropped, overwritten)
  }
}
