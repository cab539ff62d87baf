import CloudKitSchema

/// Record types and fields that writes add to the schema.
extension Endpoint {
  /// Whether writes may add to the schema. In production they never may. [D] (Question 15)
  var learnsSchema: Bool { call.route.environment == "development" && assumptions.developmentLearnsSchema }

  /// Returns the schema with the types and fields that a batch uses first, or `nil` if there is nothing new, which is
  /// the usual case.
  func schema(with learnt: [String: [String: CKSchema.FieldType]]) -> CKSchema? {
    let known = self.schema
    let isNew = learnt.contains { type, fields in
      guard let old = known?[type] else { return true }
      return fields.keys.contains { old.fields[$0] == nil }
    }
    guard isNew else { return nil }
    var schema = known ?? .predefined
    for (type, fields) in learnt {
      schema.learn(type: type, fields: fields, indexesSystemFields: assumptions.learntTypesIndexSystemFields)
    }
    return schema
  }
}

extension CKSchema {
  /// Adds a type and its fields as the first save does: with every index that fits, as the exported schemas of apps
  /// without a declared schema show [C], and with the grants that the Console gives a new type [FW].
  mutating func learn(type: String, fields: [String: FieldType], indexesSystemFields: Bool) {
    var known = types[type] ?? RecordType(grants: Role.defaultGrants)
    if types[type] == nil, indexesSystemFields {
      for field in SystemField.allCases where field != .etag {
        known.systemIndexes[field] = Indexes.fitting(FieldType(field.type)).union(.sortable)
      }
    }
    for (name, type) in fields where known.fields[name] == nil {
      known.fields[name] = Field(type: type, indexes: .fitting(type))
    }
    types[type] = known
  }
}
