/// The rules for replacing a schema: additions are always allowed, removals only for what production does not have.
/// [FW]
struct SchemaUpdate {
  let parsed: SchemaParser
  /// The schema to be replaced.
  let current: Schema
  /// The schema in production, from which nothing may be removed.
  let deployed: Schema

  /// Checks the new schema as `validate-schema` does.
  ///
  /// - Throws: The first violation, by name.
  func validate() throws(SchemaError) {
    for (name, type) in deployed.types.sorted(by: { $0.key < $1.key }) {
      guard let new = parsed.schema.types[name] else {
        throw SchemaError("Record type '\(name)' is in production and cannot be removed", at: SchemaPlace())
      }
      for (field, old) in type.fields.sorted(by: { $0.key < $1.key }) {
        guard let changed = new.fields[field] else {
          let place = parsed.places[name] ?? SchemaPlace()
          throw SchemaError("Field '\(field)' of '\(name)' is in production and cannot be removed", at: place)
        }
        guard old.mayBecome(changed) else { throw typeChange(field, of: name, old, changed) }
      }
    }
    try validateNumbers()
  }

  /// Checks that numbers with a preferred type keep it, in development too. [FW]
  private func validateNumbers() throws(SchemaError) {
    for (name, type) in current.types.sorted(by: { $0.key < $1.key }) {
      for (field, old) in type.fields.sorted(by: { $0.key < $1.key }) where old.number == .preferred {
        guard let changed = parsed.schema.types[name]?.fields[field], !old.mayBecome(changed) else { continue }
        throw typeChange(field, of: name, old, changed)
      }
    }
  }

  private func typeChange(_ field: String, of type: String, _ old: Schema.Field, _ new: Schema.Field) -> SchemaError {
    SchemaError(
      "Field '\(field)' of '\(type)' is \(old.type.name) and cannot become \(new.type.name)",
      at: parsed.places["\(type).\(field)"] ?? SchemaPlace()
    )
  }
}

extension Schema.Field {
  /// Whether a deployed field may be redeclared like this. A type never changes, except that a plain `NUMBER` may
  /// become INT64 or DOUBLE. [FW]
  func mayBecome(_ new: Schema.Field) -> Bool {
    guard number == .undecided else { return type == new.type && new.number != .undecided }
    return [.int64, .double].map { Schema.FieldType($0, isList: type.isList) }.contains(new.type)
  }
}

extension Schema {
  /// Returns the schema of production after this one is deployed: indexes, grants and roles come from development, and
  /// nothing is removed. [FW]
  func deployed(over production: Schema) throws(ServerError) -> Schema {
    var merged = self
    for (name, type) in production.types.sorted(by: { $0.key < $1.key }) {
      guard var new = merged.types[name] else {
        merged.types[name] = type
        continue
      }
      for (field, old) in type.fields.sorted(by: { $0.key < $1.key }) {
        guard let changed = new.fields[field] else {
          new.fields[field] = old
          continue
        }
        guard old.mayBecome(changed) else {
          throw .badRequest("Field '\(field)' of '\(name)' has another type in production")
        }
      }
      merged.types[name] = new
    }
    merged.roles.formUnion(production.roles)
    return merged
  }
}
