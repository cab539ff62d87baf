import CloudKit

extension FieldValue {
  /// The records that the value of a record in this zone refers to, or those by this action.
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

/// Which references of a record are meant.
enum ReferenceKind {
  case any
  /// Parents, `DELETE_SELF` and `VALIDATE`: the deletion of the target deletes the record too, or is refused because of it.
  case binding
  /// Parents and `VALIDATE`: the server refuses a save whose target does not exist.
  case blocking
}

extension [String: FieldValue] {
  /// The records that the fields of a record refer to, itself left out.
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
  /// What the new values refer to, field by field.
  ///
  /// - Parameter validated: only what the server insists on: `VALIDATE`.
  func targets(in zone: ZoneKey, validated: Bool = false) -> [(field: String, key: RecordKey)] {
    values.sorted { $0.key < $1.key }.flatMap { name, value in
      value.targets(in: zone, action: validated ? "VALIDATE" : nil).map { (name, $0) }
    }
  }
}

extension QueuedOperation {
  /// What can be sent of this operation while it still waits for those of `blockers`: a save without the fields that refer
  /// to them, and in place of a deletion an update that lets go of all that the record refers to, so that nobody has to
  /// wait for it. The rest is sent later.
  ///
  /// - Parameter deleting: records that are to be deleted once this one has let go of them.
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
        // They wait for that.
        if !deleting.isDisjoint(with: former) { part.changes[field] = nil }
      }
      part.isPart = part.changes != changes
    case .delete where baseTag != nil:
      let links = base.filter { $0.value.targets(in: key.zoneKey).contains { $0 != key } }
      // What has to let go of the record would be deleted with it.
      guard !links.isEmpty || blockers.contains(where: { $0.kind == .save }) else { return self }
      part.kind = .save
      part.changes = FieldChanges(cleared: Set(links.keys))
      part.isPart = true
    case .delete, .zoneSave, .zoneDelete: break
    }
    return part
  }
}
