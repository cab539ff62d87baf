/// Record types that every container has.
extension CKSchema {
  /// The name of the type that every user has one record of.
  package static let usersType = "Users"
  /// The name of the type of shares. The documented name with a capital K does not work. [L3]
  package static let shareType = "cloudkit.share"

  /// The schema of a new container. `Users` is predefined [D], with the grants that exported schemas show [C]. Shares
  /// are predefined too [FW]; the server adds these fields to their declaration [C].
  public static let predefined = CKSchema(types: [usersType: users, shareType: shares])

  private static let users = RecordType(
    fields: ["roles": Field(type: FieldType(.int64, isList: true))],
    grants: [Role.creator: [.write], Role.world: [.read]]
  )

  private static let shares = RecordType(
    fields: [
      "cloudkit.title": Field(type: FieldType(.string)), "cloudkit.type": Field(type: FieldType(.string)),
      "cloudkit.thumbnailImageData": Field(type: FieldType(.bytes)),
    ],
    grants: Role.defaultGrants
  )

  /// Adds the predefined types and fields that the schema does not declare. A schema cannot remove them. [E]
  package mutating func completePredefinedTypes() {
    for (name, type) in Self.predefined.types {
      types[name, default: type].fields.merge(type.fields) { given, _ in given }
    }
  }
}

/// Rules for names.
extension CKSchema {
  /// Whether the name is a letter followed by letters, digits and `_`, at most 255 bytes. [FW]
  package static func isName(_ name: String) -> Bool {
    guard let first = name.utf8.first, name.utf8.count <= 255 else { return false }
    return isLetter(first) && name.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
  }

  /// Whether a record of the type may have a field of that name. Shares have `cloudkit.` fields that no other type can
  /// have. [FW]
  package static func isField(_ name: String, of type: String) -> Bool {
    guard name.utf8.count <= 255 else { return false }
    return isName(name) || type == shareType && name.hasPrefix("cloudkit.") && isName(String(name.dropFirst(9)))
  }

  package static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  package static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
