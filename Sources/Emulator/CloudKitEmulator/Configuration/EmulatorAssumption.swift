/// One switch of `EmulatorAssumptions`: its name, its values, and how a value is read from text.
///
///     EmulatorAssumption.all.map(\.name)  // "emptyBodySignature", "listsTakePost", …
package struct EmulatorAssumption: Sendable {
  /// A value other than the default, as a test of a client sets it.
  package struct OtherValue: Sendable, CustomStringConvertible {
    /// The name of the switch.
    package let name: String
    /// The value as text.
    package let text: String
    /// Sets the value.
    package let set: @Sendable (inout EmulatorAssumptions) -> Void

    package var description: String { "\(name) \(text)" }
  }

  /// The name of the property.
  package let name: String
  /// The accepted values in words, the default first.
  package let values: String
  /// All other values of a switch with named values; examples of a number or a key.
  package let others: [OtherValue]
  private let read: @Sendable (String) -> (@Sendable (inout EmulatorAssumptions) -> Void)?

  /// Sets the value that a text names.
  ///
  /// - Returns: Whether the text names a value.
  package func set(_ text: String, in assumptions: inout EmulatorAssumptions) -> Bool {
    guard let set = read(text) else { return false }
    set(&assumptions)
    return true
  }

  /// All switches, in the order of their properties.
  package static let all: [EmulatorAssumption] = [
    choice("emptyBodySignature", \.emptyBodySignature), flag("listsTakePost", \.listsTakePost),
    seconds("futureSkew", \.futureSkew, examples: 0, 3600), choice("missingCredentials", \.missingCredentials),
    count("requestsPerSecond", \.requestsPerSecond, example: 1000),
    flag("sendsRetryAfterHeader", \.sendsRetryAfterHeader),
    seconds("signatureLifetime", \.signatureLifetime, examples: 60), choice("atomicFailure", \.atomicFailure),
    choice("updateWithoutTag", \.updateWithoutTag), choice("missingUpdate", \.missingUpdate),
    choice("deletionWithoutTag", \.deletionWithoutTag), choice("missingForceDelete", \.missingForceDelete),
    choice("repeatedRecord", \.repeatedRecord), choice("exceededLimit", \.exceededLimit),
    flag("cascadesLeaveTombstones", \.cascadesLeaveTombstones), choice("encryptedType", \.encryptedType),
    choice("timestampFraction", \.timestampFraction), choice("unknownRecordType", \.unknownRecordType),
    choice("unknownField", \.unknownField), flag("developmentLearnsSchema", \.developmentLearnsSchema),
    flag("learntTypesIndexSystemFields", \.learntTypesIndexSystemFields),
    flag("emptyListsAddFields", \.emptyListsAddFields), choice("unsortedOrder", \.unsortedOrder),
    choice("changesOrder", \.changesOrder), metres("nearDistance", \.nearDistance, example: 1000),
    flag("comparesTextIgnoringCase", \.comparesTextIgnoringCase), flag("negationsMatchNull", \.negationsMatchNull),
    choice("emptySyncToken", \.emptySyncToken), choice("expiredSyncToken", \.expiredSyncToken),
    choice("callerEnvelope", \.callerEnvelope), key("rereferenceWrapper", \.rereferenceWrapper, example: "records"),
    choice("existingZone", \.existingZone), choice("missingZone", \.missingZone),
    choice("defaultZoneDeletion", \.defaultZoneDeletion), count("zoneLimit", \.zoneLimit, example: 20),
    count("listLimit", \.listLimit, example: 1000), count("filterLimit", \.filterLimit, example: 20),
    flag("acceptsDatabaseSubscriptions", \.acceptsDatabaseSubscriptions),
    flag("acceptsSharedSubscriptions", \.acceptsSharedSubscriptions),
    count("subscriptionLimit", \.subscriptionLimit, example: 20),
    flag("subscriptionsAreZoneWide", \.subscriptionsAreZoneWide), choice("uninvited", \.uninvited),
    flag("participantsLeaveByDeletingShares", \.participantsLeaveByDeletingShares),
  ]

  private typealias Property<Value> = any WritableKeyPath<EmulatorAssumptions, Value> & Sendable

  private static func standard<Value>(_ property: Property<Value>) -> Value {
    EmulatorAssumptions()[keyPath: property]
  }

  private init<Value: Sendable>(
    _ name: String,
    _ property: Property<Value>,
    _ values: String,
    others: [String],
    read: @escaping @Sendable (String) -> Value?
  ) {
    self.name = name
    self.values = values
    self.read = { text in
      guard let value = read(text) else { return nil }
      return { $0[keyPath: property] = value }
    }
    let setter = self.read
    self.others = others.compactMap { text in
      setter(text).map { OtherValue(name: name, text: text, set: $0) }
    }
  }

  private static func choice<Value: CaseIterable & RawRepresentable<String> & Sendable>(
    _ name: String,
    _ property: Property<Value>
  ) -> Self {
    let byDefault = standard(property).rawValue
    let others = Value.allCases.map(\.rawValue).filter { $0 != byDefault }
    return Self(name, property, ([byDefault] + others).joined(separator: ", "), others: others) {
      Value(rawValue: $0)
    }
  }

  private static func flag(_ name: String, _ property: Property<Bool>) -> Self {
    let byDefault = standard(property)
    return Self(name, property, "\(byDefault), \(!byDefault)", others: ["\(!byDefault)"]) { Bool($0) }
  }

  private static func seconds(_ name: String, _ property: Property<Duration>, examples: Int...) -> Self {
    let values = "\(standard(property).components.seconds), other seconds"
    return Self(name, property, values, others: examples.map(String.init)) { text in
      Int32(text).flatMap { $0 >= 0 ? .seconds($0) : nil }
    }
  }

  private static func count(_ name: String, _ property: Property<Int?>, example: Int) -> Self {
    Self(name, property, "none, a number", others: ["\(example)"]) { text in
      if text == "none" { return .some(nil) }
      guard let number = Int32(text), number >= 0 else { return nil }
      return .some(Int(number))
    }
  }

  private static func metres(_ name: String, _ property: Property<Double?>, example: Int) -> Self {
    Self(name, property, "none, metres", others: ["\(example)"]) { text in
      if text == "none" { return .some(nil) }
      guard let number = Double(text), number >= 0, number.isFinite else { return nil }
      return .some(number)
    }
  }

  private static func key(_ name: String, _ property: Property<String>, example: String) -> Self {
    Self(name, property, "\(standard(property)), another key", others: [example]) { $0.isEmpty ? nil : $0 }
  }
}
