/// Prints schemas as the service exports them: types, fields and roles sorted by name, types aligned in a column,
/// permissions and indexes in a fixed order. Equal schemas give equal texts, and parsing and printing a printed text
/// does not change it. [C]
enum SchemaWriter {
  /// Words that are valid identifiers only in quotation marks. [FW]
  static let reserved: Set<String> = ["grant", "preferred", "queryable", "sortable", "searchable"]

  static func text(_ schema: Schema) -> String {
    let roles = schema.roles.sorted().map { "    CREATE ROLE \(quote($0));" }
    let types = schema.types.sorted { $0.key < $1.key }.map { text($0.key, $0.value) }
    return (["DEFINE SCHEMA"] + roles + types).joined(separator: "\n\n") + "\n"
  }

  private static func text(_ name: String, _ type: Schema.RecordType) -> String {
    var fields = type.fields.map { (name: $0.key, words: words($0.value)) }
    for field in Schema.SystemField.allCases {
      let indexes = type.systemIndexes[field] ?? []
      fields.append((field.rawValue, words(Schema.Field(type: Schema.FieldType(field.type), indexes: indexes))))
    }
    fields.sort { $0.name < $1.name }
    let width = fields.map { quote($0.name).utf8.count }.max() ?? 0
    let lines = fields.map { field in
      let name = quote(field.name)
      return name + String(repeating: " ", count: width - name.utf8.count) + " " + field.words
    }
    let grants = type.grants.sorted { $0.key < $1.key }.filter { !$0.value.isEmpty }
      .map { role, permissions in
        let words = SchemaPermission.allCases.filter(permissions.contains).map(\.rawValue).joined(separator: ", ")
        return "GRANT \(words) TO \(quote(role))"
      }
    let body = (lines + grants).map { "        \($0)" }.joined(separator: ",\n")
    return "    RECORD TYPE \(quote(name)) (\n\(body)\n    );"
  }

  private static func words(_ field: Schema.Field) -> String {
    let indexes = SchemaIndexes.keywords.filter { field.indexes.contains($0.index) }.map { " \($0.keyword)" }.joined()
    return word(field) + indexes
  }

  private static func word(_ field: Schema.Field) -> String {
    let scalar = field.type.scalar == .asset ? "ASSET" : field.type.scalar.rawValue
    let element =
      switch field.number {
      case .undecided: "NUMBER"
      case .preferred: "NUMBER PREFERRED AS \(scalar)"
      case nil: field.type.isEncrypted ? "ENCRYPTED \(scalar)" : scalar
      }
    return field.type.isList ? "LIST<\(element)>" : element
  }

  private static func quote(_ name: String) -> String {
    Schema.isName(name) && !reserved.contains(name.lowercased()) ? name : "\"\(name)\""
  }
}
