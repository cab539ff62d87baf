extension CKSchema {
  /// The names on the wire of the system fields that predicates and sort descriptors can use, by all of their names: in
  /// the framework, in the schema language and on the wire. (reference 3.4) [D]
  package static let systemNames: [String: String] = {
    let fields: [(wire: String, property: String, schema: SystemField?)] = [
      ("recordName", "recordID", .recordID), ("createdTimestamp", "creationDate", .createTime),
      ("modifiedTimestamp", "modificationDate", .modTime),
      ("createdUserRecordName", "creatorUserRecordID", .createdBy),
      ("modifiedUserRecordName", "lastModifiedUserRecordID", .modifiedBy), ("parent", "parent", nil),
      ("share", "share", nil),
    ]
    var names = ["recordID.recordName": "recordName"]
    for (wire, property, schema) in fields {
      for name in [wire, property, schema?.rawValue ?? "___\(wire)"] { names[name] = wire }
    }
    return names
  }()
}
