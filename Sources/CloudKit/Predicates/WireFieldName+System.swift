extension WireFieldName {
  /// The fields that the system keeps, under the framework's names, the schema's and the wire's (reference 3.4).
  static let system: [String: String] = [
    "recordID": "recordName", "recordID.recordName": "recordName", "recordName": "recordName",
    "___recordID": "recordName",
    "creationDate": "createdTimestamp", "createdTimestamp": "createdTimestamp", "___createTime": "createdTimestamp",
    "modificationDate": "modifiedTimestamp", "modifiedTimestamp": "modifiedTimestamp",
    "___modTime": "modifiedTimestamp",
    "creatorUserRecordID": "createdUserRecordName", "createdUserRecordName": "createdUserRecordName",
    "___createdBy": "createdUserRecordName",
    "lastModifiedUserRecordID": "modifiedUserRecordName", "modifiedUserRecordName": "modifiedUserRecordName",
    "___modifiedBy": "modifiedUserRecordName",
    "share": "share", "___share": "share", "parent": "parent", "___parent": "parent",
  ]

  /// The wire's name for a name of the framework.
  init(framework name: String) {
    self = Self.system[name].map(WireFieldName.system) ?? .field(name)
  }

  /// The type of a field of the system's; nil for others, whose type only the schema knows. References stand on the wire
  /// where callers compare with names.
  var systemType: FieldType? {
    guard case .system(let name) = self else { return nil }
    return name.hasSuffix("Timestamp") ? .timestamp : .reference
  }
}
