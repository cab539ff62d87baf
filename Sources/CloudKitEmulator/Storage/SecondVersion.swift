import GRDB

/// Takes over the schemas of the second version, which knew the types of fields and neither indexes nor grants.
enum SecondVersion {
  static func takeOver(_ db: Database) throws {
    var schemas: [String: Schema] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT * FROM field") {
      let (schema, type, name): (String, String, String) = (row["schema"], row["type"], row["name"])
      var fields: [String: Schema.FieldType] = [:]
      // The empty name kept a type without fields.
      if Schema.isField(name, of: type) { fields[name] = Schema.FieldType(name: row["kind"]) }
      schemas[schema, default: Schema()].learn(type: type, fields: fields, indexesSystemFields: true)
    }
    for (name, schema) in schemas { try db.run("INSERT INTO schema VALUES (?, ?)", [name, SchemaWriter.text(schema)]) }
    try db.execute(sql: "DROP TABLE field")
  }
}
