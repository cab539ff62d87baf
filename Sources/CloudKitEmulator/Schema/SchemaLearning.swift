/// Types and fields that writes bring along.
extension EmulatorCore {
  /// Whether writes may add to the schema: in development, never in production. [D] (Question 15)
  func learnsSchema(_ call: Call) -> Bool {
    call.route.environment == "development" && configuration.assumptions.developmentLearnsSchema
  }

  /// A schema with what a batch was the first to use; `nil` where there is nothing new, which is nearly always.
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
