/// The record types and roles of one container and environment, as Apple's schema language describes them.
struct Schema: Sendable, Hashable {
  /// The type of a field's values. It never changes once deployed.
  struct FieldType: Sendable, Hashable {
    var scalar: EmulatorValueType
    var isList: Bool
    var isEncrypted: Bool

    /// The name (reference 3.1, 3.5), e.g. `INT64_LIST` or `ENCRYPTED_STRING`. [D][L3]
    var name: String {
      (isEncrypted ? "ENCRYPTED_" : "") + scalar.rawValue + (isList ? "_LIST" : "")
    }

    init(_ scalar: EmulatorValueType, isList: Bool = false, isEncrypted: Bool = false) {
      self.scalar = scalar
      self.isList = isList
      self.isEncrypted = isEncrypted
    }

    init?(name: String) {
      let isEncrypted = name.hasPrefix("ENCRYPTED_")
      let isList = name.hasSuffix("_LIST")
      let scalar = name.dropFirst(isEncrypted ? "ENCRYPTED_".count : 0).dropLast(isList ? "_LIST".count : 0)
      guard let scalar = EmulatorValueType(rawValue: String(scalar)) else { return nil }
      self.init(scalar, isList: isList, isEncrypted: isEncrypted)
    }
  }

  /// The kind of a field declared as `NUMBER`. [FW]
  enum Number: Sendable, Hashable {
    /// `NUMBER` without `PREFERRED AS`: the field is a DOUBLE that also accepts whole numbers. [E]
    case undecided
    /// `NUMBER PREFERRED AS` the field's type.
    case preferred
  }

  struct Field: Sendable, Hashable {
    var type: FieldType
    var indexes: SchemaIndexes = []
    var number: Number?
  }

  /// The fields that every type has. A schema can set only their indexes. [FW]
  enum SystemField: String, Sendable, CaseIterable {
    case createTime = "___createTime"
    case createdBy = "___createdBy"
    case etag = "___etag"
    case modTime = "___modTime"
    case modifiedBy = "___modifiedBy"
    case recordID = "___recordID"

    var type: EmulatorValueType {
      switch self {
      case .createTime, .modTime: .timestamp
      case .createdBy, .modifiedBy, .recordID: .reference
      case .etag: .string
      }
    }
  }

  struct RecordType: Sendable, Hashable {
    /// The declared and learned fields, without the system fields.
    var fields: [String: Field] = [:]
    /// The indexes of the system fields that have any.
    var systemIndexes: [SystemField: SchemaIndexes] = [:]
    var grants: SchemaGrants = [:]
  }

  /// The custom roles, without the three predefined ones.
  var roles: Set<String> = []
  /// The record types by name. `Users` is predefined [D], with the grants that exported schemas show [C]. Shares are
  /// predefined too [FW]; the server adds these fields to their declaration [C].
  var types: [String: RecordType] = [usersType: users, ShareState.recordType: shares]

  static let usersType = "Users"

  private static let users = RecordType(
    fields: ["roles": Field(type: FieldType(.int64, isList: true))],
    grants: [SchemaRole.creator: [.write], SchemaRole.world: [.read]]
  )

  private static let shares = RecordType(
    fields: [
      "cloudkit.title": Field(type: FieldType(.string)), "cloudkit.type": Field(type: FieldType(.string)),
      "cloudkit.thumbnailImageData": Field(type: FieldType(.bytes)),
    ],
    grants: SchemaRole.defaultGrants
  )

  subscript(type: String) -> RecordType? { types[type] }

  /// Adds the predefined types and fields that the schema does not declare. A schema cannot remove them. [E]
  mutating func completePredefinedTypes() {
    for (name, type) in Schema().types {
      types[name, default: type].fields.merge(type.fields) { given, _ in given }
    }
  }
}

extension Schema {
  /// Adds a type and its fields as the first save does: with every index that fits, as the exported schemas of apps
  /// without a declared schema show [C], and with the grants that the Console gives a new type [FW].
  mutating func learn(type: String, fields: [String: FieldType], indexesSystemFields: Bool) {
    var known = types[type] ?? RecordType(grants: SchemaRole.defaultGrants)
    if types[type] == nil, indexesSystemFields {
      for field in SystemField.allCases where field != .etag {
        known.systemIndexes[field] = SchemaIndexes.fitting(FieldType(field.type)).union(.sortable)
      }
    }
    for (name, type) in fields where known.fields[name] == nil {
      known.fields[name] = Field(type: type, indexes: .fitting(type))
    }
    types[type] = known
  }
}

/// Rules for names.
extension Schema {
  /// Whether the name is a letter followed by letters, digits and `_`, at most 255 bytes. [FW]
  static func isName(_ name: String) -> Bool {
    guard let first = name.utf8.first, name.utf8.count <= 255 else { return false }
    return isLetter(first) && name.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
  }

  /// Whether a record of the type may have a field of that name. Shares have `cloudkit.` fields that no other type can
  /// have. [FW]
  static func isField(_ name: String, of type: String) -> Bool {
    guard name.utf8.count <= 255 else { return false }
    return isName(name)
      || type == ShareState.recordType && name.hasPrefix("cloudkit.") && isName(String(name.dropFirst(9)))
  }

  /// Whether the name has 1 to 255 ASCII characters and no control characters. This is the framework's rule for record
  /// and zone names. The emulator enforces it because it makes binary comparison and Swift's string comparison agree.
  /// [E]
  static func isRecordName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 255 && name.utf8.allSatisfy { $0 > 0x1F && $0 < 0x7F }
  }

  static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
