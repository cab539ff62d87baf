extension WireFieldName {
  /// The system fields, by their names in the framework, the schema and the wire format (reference 3.4).
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

  /// Creates the wire name for a framework name.
  package init(framework name: String) {
    self = Self.system[name].map(WireFieldName.system) ?? .field(name)
  }

  /// The name for a predicate, which also accepts the wire names of system fields; nil for the whole record.
  package var framework: String? {
    switch self {
    case .field(let name), .system(let name): name
    case .wholeRecord: nil
    }
  }

  /// The type of a system field; nil for other fields, whose type only the schema knows. Callers compare some system
  /// fields with names, but the wire format uses references.
  package var systemType: FieldType? {
    guard case .system(let name) = self else { return nil }
    return name.hasSuffix("Timestamp") ? .timestamp : .reference
  }
}
