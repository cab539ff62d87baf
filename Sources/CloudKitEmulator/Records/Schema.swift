/// The record types of one container and environment with the types of their fields, as learnt from the first writes.
struct Schema: Sendable {
  /// A field's type. Once known, it never changes.
  struct Field: Sendable, Hashable {
    /// `nil` for an empty list whose element type nobody has told yet; such a field is not recorded.
    var type: EmulatorValueType
    var isList: Bool
    var isEncrypted: Bool

    /// The spelling of sections 3.1 and 3.5, e.g. `INT64_LIST` or `ENCRYPTED_STRING`.
    var name: String {
      (isEncrypted ? "ENCRYPTED_" : "") + type.rawValue + (isList ? "_LIST" : "")
    }

    init(type: EmulatorValueType, isList: Bool = false, isEncrypted: Bool = false) {
      self.type = type
      self.isList = isList
      self.isEncrypted = isEncrypted
    }

    init?(name: String) {
      let isEncrypted = name.hasPrefix("ENCRYPTED_")
      let isList = name.hasSuffix("_LIST")
      let scalar = name.dropFirst(isEncrypted ? "ENCRYPTED_".count : 0).dropLast(isList ? "_LIST".count : 0)
      guard let type = EmulatorValueType(rawValue: String(scalar)) else { return nil }
      self.init(type: type, isList: isList, isEncrypted: isEncrypted)
    }
  }

  /// Fields by record type and name. `Users` is predefined [D], and so are shares [FW].
  private(set) var types: [String: [String: Field]] = [
    "Users": [:],
    ShareState.recordType: [
      "cloudkit.title": Field(type: .string), "cloudkit.type": Field(type: .string),
      "cloudkit.thumbnailImageData": Field(type: .bytes),
    ],
  ]

  subscript(type: String) -> [String: Field]? { types[type] }

  mutating func learn(type: String, fields: [String: Field]) {
    types[type, default: [:]].merge(fields) { known, _ in known }
  }

  /// A letter first, then letters, digits and `_` (Apple's schema language). [D]
  static func isName(_ name: String) -> Bool {
    guard let first = name.utf8.first, name.utf8.count <= 255 else { return false }
    return isLetter(first) && name.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
  }

  /// Whether a record of a type may have a field of that name: shares have some that no other type can have.
  static func isField(_ name: String, of type: String) -> Bool {
    isName(name) || type == ShareState.recordType && name.hasPrefix("cloudkit.") && isRecordName(name)
  }

  /// At most 255 ASCII characters, none of them a control character: the framework's rule for record and zone names,
  /// enforced here because it also makes binary comparison and Swift's string comparison agree. [E]
  static func isRecordName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 255 && name.utf8.allSatisfy { $0 > 0x1F && $0 < 0x7F }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
