/// The rules for names on the server, for both fields and record types.
enum FieldName {
  /// The names that predicates and sort descriptors use for system fields.
  static let system: Set<String> = [
    "recordID", "recordName", "creationDate", "createdTimestamp", "modificationDate", "modifiedTimestamp",
    "creatorUserRecordID", "createdUserRecordName", "lastModifiedUserRecordID", "modifiedUserRecordName", "parent",
    "share",
  ]

  /// Whether the name is an ASCII letter followed by ASCII letters, digits and underscores, with at most 255
  /// characters.
  static func isValid(_ name: String) -> Bool {
    guard let first = name.first, first.isASCII, first.isLetter, name.count <= 255 else { return false }
    return name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
  }
}
