package import CloudKit
package import Facts

/// Whose value a field of a conflict gets.
package enum ConflictSide: String, Hashable, Sendable, CaseIterable {
  case local, server, base, newest
}

/// A change that both sides made, as the conflict desk shows it: derived from the operation and the mirror.
package struct Conflict: Hashable, Sendable {
  /// One field with its three values; nil is absent. Of a counter of which nobody can tell whether a request that was not
  /// answered has counted, the local value is the server's with all of ours added.
  package struct Field: Hashable, Sendable {
    package var name: String
    package var base: FieldValue?
    package var local: FieldValue?
    package var server: FieldValue?
  }

  package var id: Int64
  /// Changes whenever either side of the conflict does: what a decision about it is tied to.
  package let version: String
  package var key: RecordKey
  package var type: String
  package var kind: OperationKind
  /// Fields on which the two sides differ and that both changed; where there are none, those on which they differ. Of a record
  /// that the server deleted, all that it would be made anew with, and what the edit cleared.
  package var fields: [Field]
  /// Whether there are such as both changed.
  package let isContested: Bool
  /// Why it waits for a person.
  package var cause: Cause
  package var detectedAt: Int64
  package var editedAt: Int64
  package var serverModifiedAt: Int64?
  package var serverModifiedBy: String?
  /// The server holds no such record any more.
  package var isDeletedOnServer: Bool

  private let changes: FieldChanges
  private let serverFields: [String: FieldValue]
  /// Of such counters the server's value with what was counted after that request.
  private let counted: [String: FieldValue]
  /// The same with all of ours.
  private let missed: [String: FieldValue]

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
    // The files of assets went with the server's record, or with that version of it.
    if operation.kind == .delete || server == nil { names.formUnion(base.filter { !$0.value.hasFiles }.keys) }
    let missed = operation.doubtfulCounters(beside: server, since: { _, name in base[name] })
    let counted = operation.doubtfulCounters(beside: server, since: { sent, name in sent[name] })
    (self.missed, self.counted) = (missed, counted)
    let different = names.sorted().compactMap { [changes, serverFields] name -> Field? in
      let field = Field(name: name, base: base[name], local: missed[name] ?? changes[name], server: serverFields[name])
      if counted[name] != nil { return field }
      let isCleared = server == nil && field.local != field.base
      return field.local == field.server && !isCleared ? nil : field
    }
    let contested = different.filter { $0.base != $0.server || counted[$0.name] != nil }
    isContested = !contested.isEmpty
    fields = contested.isEmpty || server == nil ? different : contested
  }

  /// The side that edited last, by the clocks of both.
  private var newest: ConflictSide { editedAt >= serverModifiedAt ?? 0 ? .local : .server }

  /// What becomes of the change where each field gets the value of one side, those not named that of `take`.
  package func resolution(_ take: ConflictSide, _ choices: [String: ConflictSide] = [:]) -> Resolution {
    let take = take == .newest ? newest : take
    if kind == .delete {
      if sides(take, choices) == [.local] { return Resolution(kind, FieldChanges()) }
      var record = serverFields
      for field in fields where (choices[field.name] ?? take) == .base && field.base?.hasFiles != true {
        record[field.name] = field.base
      }
      return resolution(merged: record)
    }
    // A record that the server deleted is taken whole or not at all.
    if isDeletedOnServer, choices.isEmpty, take == .server { return Resolution(kind, nil, changes) }
    var left = changes
    for field in fields {
      var side = choices[field.name] ?? take
      if side == .newest { side = newest }
      switch side {
      case .local: left[field.name] = field.local
      case .server: left[field.name] = counted[field.name] ?? field.server
      case .base, .newest: left[field.name] = field.base
      }
    }
    return resolution(leaving: left)
  }

  /// Whether these choices would delete some fields and keep others: a deletion is taken whole or not at all, and the record
  /// stays with the base's values as with the server's.
  package func tears(_ take: ConflictSide, _ choices: [String: ConflictSide]) -> Bool {
    kind == .delete && sides(take, choices).count > 1
  }

  /// A field that these choices would give back a file which neither side has.
  package func fileNobodyHas(_ take: ConflictSide, _ choices: [String: ConflictSide]) -> String? {
    guard kind == .save else { return nil }
    return fields.first { field in
      (choices[field.name] ?? take) == .base && field.base?.hasFiles == true && field.base != field.server
        && field.base != field.local
    }?.name
  }

  /// The sides that are taken: local is to delete, any other to keep.
  private func sides(_ take: ConflictSide, _ choices: [String: ConflictSide]) -> Set<ConflictSide> {
    let chosen = fields.isEmpty ? [take] : fields.map { choices[$0.name] ?? take }
    return Set(chosen.map { ($0 == .newest ? newest : $0) == .local ? .local : .server })
  }

  /// What becomes of the change where somebody says what the record is to be. What was changed here without a conflict goes
  /// up with it, unless the record gives these fields another value than the server's.
  ///
  /// - Parameter touched: fields of which the record says so itself, also where it has none of them or the server's value.
  package func resolution(merged record: [String: FieldValue], touched: Set<String> = []) -> Resolution {
    if kind == .delete {
      let edit = FieldChanges(from: serverFields, to: record)
      return Resolution(.save, edit.isEmpty ? nil : edit, FieldChanges())
    }
    if isDeletedOnServer { return resolution(leaving: FieldChanges(values: record)) }
    var left = changes.only(changes.names.subtracting(fields.map(\.name)))
    left.apply(FieldChanges(from: serverFields, to: record))
    for name in touched { left[name] = record[name] }
    for (name, rule) in changes.rules where left.names.contains(name) { left.merge(name, left[name], rule) }
    return resolution(leaving: left)
  }

  private func resolution(leaving changes: FieldChanges) -> Resolution {
    let left = changes.effective(on: serverFields)
    let result = left.applied(to: serverFields)
    let dropped = self.changes.names.filter { name in
      guard let counted = counted[name] else { return self.changes[name] != result[name] }
      return result[name] != counted && result[name] != missed[name]
    }
    return Resolution(kind, left.isEmpty ? nil : left, dropped.isEmpty ? nil : self.changes.only(dropped))
  }
}

/// What a decision about a conflict came to.
package enum ConflictOutcome: Hashable, Sendable {
  /// It was resolved so, and the conflict was this one.
  case resolved(Resolution, of: Conflict)
  /// It is no longer in the version that was decided on: nothing was changed. Nil: it is no conflict any more.
  case moved(Conflict?)

  /// What was done; nil: nothing.
  package var resolution: Resolution? { if case .resolved(let resolution, _) = self { resolution } else { nil } }
}

/// What a decision about several conflicts did.
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

/// What a decision makes of a conflict.
package struct Resolution: Hashable, Sendable {
  /// What the operation does from now on.
  package var kind: OperationKind
  /// What is to be sent; nil: nothing, the server's record stands.
  package var left: FieldChanges?
  /// What is not sent of the change, empty for a deletion; nil: all of it is.
  package var dropped: FieldChanges?

  init(_ kind: OperationKind, _ left: FieldChanges?, _ dropped: FieldChanges? = nil) {
    self.kind = kind
    self.left = left
    self.dropped = dropped
  }
}

extension QueuedOperation {
  /// What becomes of the counters of which nobody can tell whether a request that was not answered has counted.
  ///
  /// - Parameter base: from what on ours is still to be added to the server's value.
  fileprivate func doubtfulCounters(
    beside server: MirrorRecord?,
    since base: (_ sent: FieldChanges, _ name: String) -> FieldValue?
  ) -> [String: FieldValue] {
    guard let server, state == .conflict, kind == .save, isUnanswered else { return [:] }
    return sentChanges.reduce(into: [:]) { result, sent in
      for name in sent.names.intersection(changes.names) {
        let (local, theirs) = (changes[name], server.fields[name])
        result[name] = MergeRule.counter.joined(base: base(sent, name), local: local, server: theirs) ?? nil
      }
    }
  }
}

extension FieldValue {
  /// Whether it names files, which nobody can give back that the server has let go of.
  fileprivate var hasFiles: Bool { assets?.isEmpty == false }
}
