import CloudKitSchema
import Testing

struct NameTests {
  @Test(
    arguments: [
      ("a", true), ("Z9_", true), (String(repeating: "x", count: 255), true),
      (String(repeating: "x", count: 256), false), ("", false), ("_a", false), ("9a", false), ("a-b", false),
      ("a.b", false), ("a b", false), ("é", false),
      ("aé", false), ("a\u{301}", false), ("a٣", false), ("@", false), ("[", false), ("`", false), ("{", false),
    ]
  )
  func `a name is a letter and at most 254 letters, digits and underscores`(_ name: String, _ isName: Bool) {
    #expect(CKSchema.isName(name) == isName)
  }

  @Test(arguments: [
    "recordName": ["recordName", "recordID", "recordID.recordName", "___recordID"],
    "createdTimestamp": ["createdTimestamp", "creationDate", "___createTime"],
    "modifiedTimestamp": ["modifiedTimestamp", "modificationDate", "___modTime"],
    "createdUserRecordName": ["createdUserRecordName", "creatorUserRecordID", "___createdBy"],
    "modifiedUserRecordName": ["modifiedUserRecordName", "lastModifiedUserRecordID", "___modifiedBy"],
    "parent": ["parent", "___parent"], "share": ["share", "___share"],
  ])
  func `a system field has a name on the wire, in the framework and in the schema`(_ wire: String, _ names: [String]) {
    #expect(Set(CKSchema.systemNames.filter { $0.value == wire }.keys) == Set(names))
  }
}
