package import CloudKit

/// The parent of a record is kept, compared and merged as if it were a field, under the name by which queries know it.
extension FieldChanges {
  /// No field of a schema can have this name.
  package static let parent = "___parent"
}

extension WireRecord {
  /// Takes fields as the store has them, the parent among them.
  package mutating func take(_ fields: [String: FieldValue], clearing cleared: Set<String> = []) {
    self.fields = fields
    clearedFields = cleared
    clearsParent = clearedFields.remove(FieldChanges.parent) != nil
    guard case .reference(let reference)? = self.fields.removeValue(forKey: FieldChanges.parent) else { return }
    parent = WireRecordName(recordName: reference.recordName)
  }

  /// The fields as the store has them, the parent among them.
  func fieldsWithParent(in zone: ZoneKey) -> [String: FieldValue] {
    var result = fields.mapValues { $0.canonical(in: zone) }
    if let parent { result[FieldChanges.parent] = .parent(parent.recordName) }
    return result
  }
}

extension FieldValue {
  /// A parent lies in the zone of its record and deletes nothing.
  static func parent(_ recordName: String) -> FieldValue { .reference(WireReference(recordName: recordName)) }
}
