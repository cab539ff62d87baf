internal import CloudKitSchema

extension WireFieldName {
  /// Creates the wire name for a framework name.
  package init(framework name: String) {
    self = CKSchema.systemNames[name].map(WireFieldName.system) ?? .field(name)
  }

  /// The name for a predicate, which also accepts the wire names of system fields; nil for the whole record.
  package var framework: String? {
    switch self {
    case .field(let name), .system(let name): name
    case .wholeRecord: nil
    }
  }

  /// The type of a system field; nil for other fields, whose type only the schema knows. Callers compare some system
  /// fields with names, but the wire format uses references.
  package var systemType: FieldType? {
    guard case .system(let name) = self else { return nil }
    return name.hasSuffix("Timestamp") ? .timestamp : .reference
  }
}
