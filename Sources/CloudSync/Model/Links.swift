import CloudKit

extension FieldValue {
  /// The records to which a value of a record in this zone refers, optionally only those with this action.
  func targets(in zone: ZoneKey, action: String? = nil) -> [RecordKey] {
    references.filter { action == nil || $0.action == action }.map { reference in
      RecordKey(
        zone: reference.zoneID?.zoneName ?? zone.zone,
        owner: reference.zoneID.map { $0.ownerRecordName ?? "" } ?? zone.owner,
        name: reference.recordName
      )
    }
  }
}

/// A selection of references.
enum ReferenceKind {
  case any
  /// Parents, `DELETE_SELF` and `VALIDATE`: deleting the target also deletes the record, or is rejected because of it.
  case binding
  /// Parents and `VALIDATE`: the server rejects a save whose target does not exist.
  case blocking
}

extension [String: FieldValue] {
  /// Whether a field refers to a record.
  var hasReferences: Bool { contains { !$0.value.references.isEmpty } }

  /// The records to which the fields of a record refer, except itself.
  func references(from key: RecordKey, _ kind: ReferenceKind = .any) -> Set<RecordKey> {
    let targets = flatMap { name, value -> [RecordKey] in
      if kind == .any || name == FieldChanges.parent { return value.targets(in: key.zoneKey) }
      let validated = value.targets(in: key.zoneKey, action: "VALIDATE")
      return kind == .blocking ? validated : validated + value.targets(in: key.zoneKey, action: "DELETE_SELF")
    }
    return Set(targets).subtracting([key])
  }
}

extension FieldChanges {
  /// The references in the new values, by field.
  ///
  /// - Parameter validated: whether to return only `VALIDATE` references, whose targets must exist.
  func targets(in zone: ZoneKey, validated: Bool = false) -> [(field: String, key: RecordKey)] {
    values.sorted { $0.key < $1.key }.flatMap { name, value in
      value.targets(in: zone, action: validated ? "VALIDATE" : nil).map { (name, $0) }
    }
  }
}

extension QueuedOperation {
  /// Returns the part of this operation that can be sent before its blockers, to break a reference cycle: a save
  /// without the fields that refer to them, or instead of a delete an update that clears the record's references. The
  /// rest is sent later.
  ///
  /// - Parameter deleting: records whose delete waits until this one no longer refers to them.
  func ahead(of blockers: [QueuedOperation], deleting: Set<RecordKey>) -> QueuedOperation {
    guard !blockers.isEmpty else { return self }
    var part = self
    switch kind {
    case .save:
      let keys = Set(blockers.map(\.key))
      let formers = [base] + sentChanges.map(\.values)
      for (field, target) in changes.targets(in: key.zoneKey) where keys.contains(target) {
        part.changes.forget(field)
        let former = formers.flatMap { $0[field]?.targets(in: key.zoneKey) ?? [] }
        // A delete waits for this field to be cleared.
        if !deleting.isDisjoint(with: former) { part.changes[field] = nil }
      }
      part.isPart = part.changes != changes
    case .delete where baseTag != nil:
      let links = base.filter { $0.value.targets(in: key.zoneKey).contains { $0 != key } }
      // Records that still have to remove their reference would be deleted with it.
      guard !links.isEmpty || blockers.contains(where: { $0.kind == .save }) else { return self }
      part.kind = .save
      part.changes = FieldChanges(cleared: Set(links.keys))
      part.isPart = true
    case .delete, .zoneSave, .zoneDelete: break
    }
    return part
  }
}
