/// Record types and fields that writes add to the schema.
extension EmulatorCore {
  /// Whether writes may add to the schema. In production they never may. [D] (Question 15)
  func learnsSchema(_ call: Call) -> Bool {
    call.route.environment == "development" && configuration.assumptions.developmentLearnsSchema
  }

  /// Returns the schema with the types and fields that a batch uses first, or `nil` if there is nothing new, which is
  /// the usual case.
  func schema(_ name: String, with learnt: [String: [String: Schema.FieldType]]) -> Schema? {
    let known = schemas[name]
    let isNew = learnt.contains { type, fields in
      guard let old = known?[type] else { return true }
      return fields.keys.contains { old.fields[$0] == nil }
    }
    guard isNew else { return nil }
    var schema = known ?? Schema()
    for (type, fields) in learnt {
      let indexesSystemFields = configuration.assumptions.learntTypesIndexSystemFields
      schema.learn(type: type, fields: fields, indexesSystemFields: indexesSystemFields)
    }
    return schema
  }
}
