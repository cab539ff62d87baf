package import CloudKit

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

extension FieldValue {
  /// The value with the actions that its references leave out, and their zones: those that the field has now.
  ///
  /// A list has those of the element with the same name. For another name, the action is that of all elements that the
  /// field has now. Without any, the action is `NONE`, and the zone that of the record.
  package func completed(from present: FieldValue?) -> FieldValue {
    switch self {
    case .reference(let reference): .reference(reference.completed(from: present?.references ?? []))
    case .list(.reference, let elements): .list(.reference, elements.map { $0.completed(from: present) })
    default: self
    }
  }
}

extension WireReference {
  fileprivate func completed(from present: [WireReference]) -> WireReference {
    guard action == nil else { return self }
    let same = present.filter { $0.recordName == recordName }
    func common<Value: Hashable>(_ value: (WireReference) -> Value?, of models: [WireReference]) -> Value? {
      let values = Set(models.map(value))
      return values.count == 1 ? values.first ?? nil : nil
    }
    let action = common({ $0.action }, of: same.isEmpty ? present : same) ?? "NONE"
    return WireReference(recordName: recordName, zoneID: zoneID ?? common({ $0.zoneID }, of: same), action: action)
  }
}

extension FieldChanges {
  /// The changes with the actions and zones that their references leave out: those that the fields have now.
  func completed(from fields: [String: FieldValue]) -> FieldChanges {
    guard values.hasReferences else { return self }
    var result = self
    for (name, value) in values { result[name] = value.completed(from: fields[name]) }
    return result
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

/// The references that determine when an operation can be sent: those in the new values of a save, or in the server's
/// record for a delete.
package struct RecordLinks: Hashable, Sendable {
  /// Parents and `VALIDATE` references: the server rejects a save before their targets exist, and a delete of the
  /// target while the referring record exists.
  package var blocking: Set<RecordKey> = []
  /// All other references. The server accepts them in any order.
  package var plain: Set<RecordKey> = []
  /// References that a save removes from the server's record: until then, deleting the target would also delete this
  /// record, or be rejected because of it.
  package var released: Set<RecordKey> = []
}
