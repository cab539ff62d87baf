extension CKSchema {
  /// The record types, fields, values and queries that a program uses, with counts.
  public struct Usage: Sendable, Hashable {
    /// The number of uses.
    public struct Count: Sendable, Hashable {
      /// The records that exist.
      public var records: Int
      /// The changes that have not been sent.
      public var changes: Int

      /// Creates a count.
      public init(records: Int = 0, changes: Int = 0) { (self.records, self.changes) = (records, changes) }

      /// The count in words, such as `2 records, 1 unsent change`; `nil` if it is zero.
      var text: String? {
        let parts = [
          records == 0 ? nil : "\(records) record\(records == 1 ? "" : "s")",
          changes == 0 ? nil : "\(changes) unsent change\(changes == 1 ? "" : "s")",
        ]
        return changes + records == 0 ? nil : parts.compactMap { $0 }.joined(separator: ", ")
      }

      static func + (left: Count, right: Count) -> Count {
        Count(records: left.records + right.records, changes: left.changes + right.changes)
      }
    }

    /// The uses of one record type.
    public struct TypeUsage: Sendable, Hashable {
      /// The uses of the type.
      public var count = Count()
      /// The uses of each field by the type of the value.
      public var fields: [String: [FieldType: Count]] = [:]
      /// The indexes that queries need, by field.
      public var queries: [String: Indexes] = [:]

      /// Creates usage without fields and queries.
      public init(_ count: Count = Count()) { self.count = count }
    }

    /// The uses by record type.
    public var types: [String: TypeUsage]

    /// Creates a usage.
    public init(types: [String: TypeUsage] = [:]) { self.types = types }

    /// Creates the usage of a program that uses everything a schema declares.
    public init(_ schema: CKSchema) {
      types = [:]
      for (name, type) in schema.types {
        var usage = TypeUsage()
        usage.fields = type.fields.mapValues { [$0.type: Count()] }
        usage.queries = type.fields.mapValues(\.indexes).filter { !$0.value.isEmpty }
        for (field, indexes) in type.systemIndexes { usage.queries[field.rawValue] = indexes }
        types[name] = usage
      }
    }

    /// Returns the uses of one record type, or of one of its fields.
    public func only(_ type: String, field: String? = nil) -> Usage {
      guard var usage = types[type], let field else { return Usage(types: types.filter { $0.key == type }) }
      usage.fields = usage.fields.filter { $0.key == field }
      usage.queries = usage.queries.filter { $0.key == field }
      return Usage(types: [type: usage])
    }

    /// The schema that allows these uses, with the grants that CloudKit Console gives a new type.
    ///
    /// A field has the type that most records have, without records that most changes have, or `DOUBLE` if some numbers
    /// are whole and some are not. Its indexes are those that queries need. Comments state the counts and other types
    /// that were seen.
    public var schema: CKSchema {
      var schema = CKSchema(types: recordTypes.filter { $0.key != usersType })
      let lines = schema.lines.map { line in
        var line = line
        line.trailing = comment(on: line.statement).map { ["// \($0)"] } ?? []
        return line
      }
      schema.source = Source(text: SchemaWriter.text(lines), lines: lines)
      return schema
    }

    /// The types with these uses; names that the schema language does not have are left out.
    var recordTypes: [String: RecordType] {
      let named = types.filter { CKSchema.isName($0.key) }
      return Dictionary(
        uniqueKeysWithValues: named.map { name, use in
          var type = use.recordType
          type.fields = type.fields.filter { CKSchema.isField($0.key, of: name) }
          return (name, type)
        }
      )
    }

    private func comment(on statement: SchemaLine.Statement) -> String? {
      switch statement {
      case .opening(let type): return types[type]?.count.text
      case .field(let type, let name, let field):
        let seen = types[type]?.fields[name] ?? [:]
        let others = seen.filter { $0.key != field.type }.sorted { $0.key.name < $1.key.name }
        let texts = [
          seen[field.type]?.text, types[type]?.queries[name] == nil ? nil : "used by queries",
        ]
        return
          (texts.compactMap { $0 }
          + others.map { "\($0.value.text ?? "also") as \(SchemaWriter.word(Field(type: $0.key)))" })
          .joined(separator: "; ").nonEmpty
      default: return nil
      }
    }
  }
}

extension CKSchema.Usage.TypeUsage {
  fileprivate var recordType: CKSchema.RecordType {
    var type = CKSchema.RecordType(grants: CKSchema.Role.defaultGrants)
    for (name, seen) in fields {
      guard let fieldType = Self.type(of: seen) else { continue }
      let indexes = queries[name]?.intersection(.fitting(fieldType)) ?? []
      type.fields[name] = CKSchema.Field(type: fieldType, indexes: indexes)
    }
    for (name, indexes) in queries {
      if let field = CKSchema.SystemField(rawValue: name) { type.systemIndexes[field] = indexes }
    }
    return type
  }

  /// The type that a field with these values should have; `nil` if none was seen.
  private static func type(of seen: [CKSchema.FieldType: CKSchema.Usage.Count]) -> CKSchema.FieldType? {
    let (whole, fraction) = (CKSchema.FieldType(.int64), CKSchema.FieldType(.double))
    // A server has the records already, so their type counts more than that of changes.
    let counts = seen.mapValues(\.records).filter { $0.value > 0 }
    let number = counts.isEmpty ? seen.mapValues(\.changes) : counts
    if Set(number.keys) == [whole, fraction] { return fraction }
    return number.max { ($0.value, $1.key.name) < ($1.value, $0.key.name) }?.key
  }
}

extension String {
  fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
