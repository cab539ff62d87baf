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
  func ahead(of blockers: Set<RecordKey>) -> QueuedOperation {
    guard !blockers.isEmpty else { return self }
    var part = self
    switch kind {
    case .save:
      for (field, key) in changes.targets(in: key.zoneKey) where blockers.contains(key) { part.changes.forget(field) }
      part.isPart = part.changes != changes
    case .delete where baseTag != nil:
      let links = base.filter { $0.value.targets(in: key.zoneKey).contains { $0 != key } }
      guard !links.isEmpty else { return self }
      part.kind = .save
      part.changes = FieldChanges(cleared: Set(links.keys))
      part.isPart = true
    case .delete, .zoneSave, .zoneDelete: break
    }
    return part
  }
}
