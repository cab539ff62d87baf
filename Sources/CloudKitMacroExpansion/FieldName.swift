/// The rules for names on the server, which hold for fields and record types alike.
enum FieldName {
  /// Names that predicates and sort descriptors take for what the system keeps of a record.
  static let system: Set<String> = [
    "recordID", "recordName", "creationDate", "createdTimestamp", "modificationDate", "modifiedTimestamp",
    "creatorUserRecordID", "createdUserRecordName", "lastModifiedUserRecordID", "modifiedUserRecordName", "parent",
    "share",
  ]

  /// A letter first, then letters, digits and underscores, all of ASCII.
  static func isValid(_ name: String) -> Bool {
    guard let first = name.first, first.isASCII, first.isLetter, name.count <= 255 else { return false }
    return name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
  }
}
