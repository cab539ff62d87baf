/// The names of fields.
enum FieldName {
  /// The names that predicates and sort descriptors use for system fields.
  static let system: Set<String> = [
    "recordID", "recordName", "creationDate", "createdTimestamp", "modificationDate", "modifiedTimestamp",
    "creatorUserRecordID", "createdUserRecordName", "lastModifiedUserRecordID", "modifiedUserRecordName", "parent",
    "share",
  ]
}
