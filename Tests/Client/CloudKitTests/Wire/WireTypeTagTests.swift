import CloudKit
import Testing

struct WireTypeTagTests {
  @Test(
    arguments: [
      ("STRING", .scalar(.string)), ("ASSETID", .scalar(.asset)), ("INT64_LIST", .list(.int64)),
      ("ENCRYPTED_STRING", .encrypted(.scalar(.string))), ("ENCRYPTED_BYTES_LIST", .encrypted(.list(.bytes))),
    ] as [(String, WireTypeTag)]
  )
  func `a type is written as it is read`(_ name: String, _ tag: WireTypeTag) {
    #expect(WireTypeTag(name) == tag && tag.description == name)
    #expect(WireTypeTag.isEncrypted(name) == (tag != tag.plain))
  }

  @Test func `a file has two names`() {
    #expect(WireTypeTag("ASSET") == .scalar(.asset) && WireTypeTag("ASSET_LIST") == .list(.asset))
  }

  @Test(arguments: [
    "", "NUMBER", "UNKNOWN", "UNKNOWN_LIST", "LIST", "_LIST", "STRING_LIST_LIST", "ENCRYPTED_", "ENCRYPTED_REFERENCE",
    "ENCRYPTED_ASSETID", "ENCRYPTED_ENCRYPTED_STRING", "string",
  ])
  func `no value has any other type`(_ name: String) {
    #expect(WireTypeTag(name) == nil)
  }

  @Test func `an empty list may have no type of elements`() {
    #expect(WireTypeTag.unknownList == "UNKNOWN_LIST")
    #expect(WireTypeTag.isUnknownList("ENCRYPTED_UNKNOWN_LIST") && !WireTypeTag.isUnknownList("STRING_LIST"))
  }
}
