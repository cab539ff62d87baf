package import CloudKit

/// A record's parent is stored, compared and merged like a field, under its name in queries.
extension FieldChanges {
  /// No field of a schema can have this name.
  package static let parent = "___parent"

  /// The name of a field for people and apps.
  package static func displayName(_ name: String) -> String { name == parent ? "parent" : name }
}

extension WireRecord {
  /// Sets the fields from the store's form, including the parent.
  package mutating func take(_ fields: [String: FieldValue], clearing cleared: Set<String> = []) {
    self.fields = fields
    clearedFields = cleared
    clearsParent = clearedFields.remove(FieldChanges.parent) != nil
    guard case .reference(let reference)? = self.fields.removeValue(forKey: FieldChanges.parent) else { return }
    parent = WireRecordName(recordName: reference.recordName)
  }

  /// The fields in the store's form, including the parent.
  func fieldsWithParent(in zone: ZoneKey) -> [String: FieldValue] {
    var result = fields.mapValues { $0.canonical(in: zone) }
    if let parent { result[FieldChanges.parent] = .parent(parent.recordName) }
    return result
  }
}

extension FieldValue {
  /// A reference to a parent, which is in the same zone and has no delete action.
  package static func parent(_ recordName: String) -> FieldValue { .reference(WireReference(recordName: recordName)) }
}
