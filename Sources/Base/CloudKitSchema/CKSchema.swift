/// A schema: the record types and roles of one container and environment, as Apple's schema language (`.ckdb`)
/// describes them.
///
/// Two schemas are equal if they declare the same, whatever their comments and order.
public struct CKSchema: Sendable {
  /// The custom roles, without the three predefined ones.
  public var roles: Set<String> { didSet { isEdited = true } }
  /// The record types by name.
  public var types: [String: RecordType] { didSet { isEdited = true } }
  /// The text that was parsed, as long as it describes this schema.
  var source: Source?
  /// Whether the schema may differ from its source.
  private(set) var isEdited = false

  /// The text of a schema, and its statements in order.
  struct Source: Sendable {
    var text: String
    var lines: [SchemaLine]
  }

  /// The maximum size of a schema text in bytes, far more than any schema needs. Longer texts are rejected unread. [E]
  public static let sizeLimit = 4_000_000

  /// Creates a schema without a text.
  public init(roles: Set<String> = [], types: [String: RecordType] = [:]) {
    (self.roles, self.types) = (roles, types)
  }

  /// Parses a text in the schema language.
  ///
  /// The schema keeps the text's comments, order, blank lines and spelling; ``description`` returns the same text.
  ///
  /// - Throws: The first error, with line and column.
  public init(parsing text: String) throws(CKSchemaError) {
    guard text.utf8.count <= Self.sizeLimit else {
      throw CKSchemaError("The schema has more than \(Self.sizeLimit) bytes", at: Place())
    }
    let parser = try SchemaParser(text)
    self = parser.schema
    source = Source(text: text, lines: parser.lines)
    isEdited = false
  }
}

extension CKSchema {
  /// The wire name of a scalar field type. The list type appends `_LIST`. [D]
  public enum ValueType: String, Sendable, Hashable, CaseIterable {
    /// A text.
    case string = "STRING"
    /// A whole number.
    case int64 = "INT64"
    /// A floating point number.
    case double = "DOUBLE"
    /// Bytes.
    case bytes = "BYTES"
    /// A time in milliseconds since 1970.
    case timestamp = "TIMESTAMP"
    /// A location on Earth.
    case location = "LOCATION"
    /// A reference to another record.
    case reference = "REFERENCE"
    /// A file; `ASSET` in the schema language. [L3]
    case asset = "ASSETID"
  }

  /// The type of a field's values. It never changes once deployed.
  public struct FieldType: Sendable, Hashable {
    /// The type of the value, or of a list's elements.
    public var scalar: ValueType
    /// Whether the values are lists.
    public var isList: Bool
    /// Whether the values are encrypted.
    public var isEncrypted: Bool

    /// The wire name (reference 3.1, 3.5), e.g. `INT64_LIST` or `ENCRYPTED_STRING`. [D][L3]
    public var name: String {
      (isEncrypted ? Self.encryptedPrefix : "") + scalar.rawValue + (isList ? Self.listSuffix : "")
    }

    /// The beginning of the names of encrypted types.
    package static let encryptedPrefix = "ENCRYPTED_"
    /// The end of the names of list types.
    package static let listSuffix = "_LIST"

    /// Creates a type.
    public init(_ scalar: ValueType, isList: Bool = false, isEncrypted: Bool = false) {
      self.scalar = scalar
      self.isList = isList
      self.isEncrypted = isEncrypted
    }

    /// Creates the type of a wire name; `nil` if the name is unknown.
    public init?(name: String) {
      let (isEncrypted, isList) = (name.hasPrefix(Self.encryptedPrefix), name.hasSuffix(Self.listSuffix))
      let scalar = name.dropFirst(isEncrypted ? Self.encryptedPrefix.count : 0)
        .dropLast(isList ? Self.listSuffix.count : 0)
      guard let scalar = ValueType(rawValue: String(scalar)) else { return nil }
      self.init(scalar, isList: isList, isEncrypted: isEncrypted)
    }
  }

  /// The kind of a field declared as `NUMBER`. [FW]
  public enum Number: Sendable, Hashable {
    /// `NUMBER` without `PREFERRED AS`: the field is a DOUBLE that also accepts whole numbers. [E]
    case undecided
    /// `NUMBER PREFERRED AS` the field's type.
    case preferred
  }

  /// The declaration of a field.
  public struct Field: Sendable, Hashable {
    /// The type of the values.
    public var type: FieldType
    /// The indexes of the field.
    public var indexes: Indexes
    /// The kind of a field declared as `NUMBER`.
    public var number: Number?

    /// Creates a declaration.
    public init(type: FieldType, indexes: Indexes = [], number: Number? = nil) {
      (self.type, self.indexes, self.number) = (type, indexes, number)
    }
  }

  /// The fields that every type has. A schema can set only their indexes. [FW]
  public enum SystemField: String, Sendable, CaseIterable {
    /// The time at which the record was created.
    case createTime = "___createTime"
    /// The user who created the record.
    case createdBy = "___createdBy"
    /// The record's change tag.
    case etag = "___etag"
    /// The time at which the record was last modified.
    case modTime = "___modTime"
    /// The user who last modified the record.
    case modifiedBy = "___modifiedBy"
    /// The record's name.
    case recordID = "___recordID"

    /// The type of the field's values.
    public var type: ValueType {
      switch self {
      case .createTime, .modTime: .timestamp
      case .createdBy, .modifiedBy, .recordID: .reference
      case .etag: .string
      }
    }
  }

  /// The declaration of a record type.
  public struct RecordType: Sendable, Hashable {
    /// The declared fields, without the system fields.
    public var fields: [String: Field]
    /// The indexes of the system fields that have any.
    public var systemIndexes: [SystemField: Indexes]
    /// The permissions by role for records in the public database. (reference 1.7) [FW]
    public var grants: [String: Set<Permission>]

    /// Creates a declaration.
    public init(
      fields: [String: Field] = [:],
      systemIndexes: [SystemField: Indexes] = [:],
      grants: [String: Set<Permission>] = [:]
    ) {
      (self.fields, self.systemIndexes, self.grants) = (fields, systemIndexes, grants)
    }

    /// The declaration of a field or system field; `nil` if the type has no such field.
    public subscript(field: String) -> Field? {
      guard let system = SystemField(rawValue: field) else { return fields[field] }
      return Field(type: FieldType(system.type), indexes: systemIndexes[system] ?? [])
    }

    /// The grants that contain permissions.
    var effectiveGrants: [String: Set<Permission>] { grants.filter { !$0.value.isEmpty } }
  }

  /// A permission that a role can have. Deleting a record requires WRITE.
  public enum Permission: String, Sendable, CaseIterable {
    /// To fetch and query records.
    case read = "READ"
    /// To create records.
    case create = "CREATE"
    /// To change and delete records.
    case write = "WRITE"
  }

  /// The roles that every container has. [FW]
  public enum Role {
    /// Every caller, with or without an account.
    public static let world = "_world"
    /// Every signed-in caller, including server-to-server keys. [L3]
    public static let authenticated = "_icloud"
    /// The user who created the record.
    public static let creator = "_creator"

    static let predefined: Set<String> = [world, authenticated, creator]

    /// The grants that Apple's page on the schema language recommends for types in public databases. [FW]
    public static let defaultGrants: [String: Set<Permission>] = [
      creator: [.write], authenticated: [.create], world: [.read],
    ]
  }
}

extension CKSchema: Hashable, CustomStringConvertible {
  /// The declaration of a record type; `nil` if the schema has none.
  public subscript(type: String) -> RecordType? { types[type] }

  /// Whether both declare the same, whatever their comments and order.
  public static func == (left: CKSchema, right: CKSchema) -> Bool {
    left.roles == right.roles && left.types == right.types
  }

  /// Hashes what the schema declares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(roles)
    hasher.combine(types)
  }

  /// The schema in Apple's schema language.
  ///
  /// A parsed schema gives its text. If it was edited, or was not parsed, the text has the layout of ``formatted``.
  public var description: String {
    if let source, !isEdited { source.text } else { formatted }
  }
}
