import CloudKitSchema

/// The rules for replacing a schema: additions are always allowed, removals only for what production does not have.
/// [FW]
extension CKSchema {
  /// Checks this schema, as `validate-schema` does, before it replaces the current one.
  ///
  /// - Parameter deployed: The schema in production, from which nothing may be removed.
  /// - Throws: The first violation, by name.
  func validate(over current: CKSchema, deployed: CKSchema) throws(CKSchemaError) {
    // Numbers with a preferred type keep it, in development too. [FW]
    let numbers = current.changes(to: self).filter { change in
      change.kind == .fieldTypeChanged
        && change.type.flatMap { current.types[$0] }?.fields[change.field ?? ""]?.number == .preferred
    }
    guard let change = (deployed.changes(to: self) + numbers).first(where: \.isRefused), let type = change.type else {
      return
    }
    switch (change.kind, change.field) {
    case (.fieldRemoved, let field?):
      throw CKSchemaError("Field '\(field)' of '\(type)' is in production and cannot be removed", at: place(of: type))
    case (.fieldTypeChanged, let field?):
      throw CKSchemaError(
        "Field '\(field)' of '\(type)' is \(change.from ?? "") and cannot become \(change.to ?? "")",
        at: place(of: type, field: field)
      )
    default:
      throw CKSchemaError("Record type '\(type)' is in production and cannot be removed", at: Place())
    }
  }
}

extension CKSchema {
  /// Returns the schema of production after this one is deployed: indexes, grants and roles come from development, and
  /// nothing is removed. [FW]
  func deployed(over production: CKSchema) throws(ServerError) -> CKSchema {
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
