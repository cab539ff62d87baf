import CloudKitEmulator
import Facts

/// One switch of `cktop serve --assume`: a property of `EmulatorAssumptions`, which documents it.
struct Assumption {
  let name: String
  /// The accepted values, the default first.
  let values: String
  /// Sets a value; returns `false` if it is invalid.
  let take: (String, inout EmulatorAssumptions) -> Bool

  static var all: [Assumption] {
    [
      choice("emptyBodySignature", \.emptyBodySignature), flag("listsTakePost", \.listsTakePost),
      seconds("futureSkew", \.futureSkew), choice("missingCredentials", \.missingCredentials),
      count("requestsPerSecond", \.requestsPerSecond), flag("sendsRetryAfterHeader", \.sendsRetryAfterHeader),
      seconds("signatureLifetime", \.signatureLifetime), choice("atomicFailure", \.atomicFailure),
      choice("updateWithoutTag", \.updateWithoutTag), choice("missingUpdate", \.missingUpdate),
      choice("deletionWithoutTag", \.deletionWithoutTag), choice("missingForceDelete", \.missingForceDelete),
      choice("repeatedRecord", \.repeatedRecord), choice("exceededLimit", \.exceededLimit),
      flag("cascadesLeaveTombstones", \.cascadesLeaveTombstones), choice("encryptedType", \.encryptedType),
      choice("timestampFraction", \.timestampFraction), choice("unknownRecordType", \.unknownRecordType),
      choice("unknownField", \.unknownField), flag("developmentLearnsSchema", \.developmentLearnsSchema),
      flag("learntTypesIndexSystemFields", \.learntTypesIndexSystemFields),
      flag("emptyListsAddFields", \.emptyListsAddFields),
      choice("unsortedOrder", \.unsortedOrder), choice("changesOrder", \.changesOrder),
      metres("nearDistance", \.nearDistance), flag("comparesTextIgnoringCase", \.comparesTextIgnoringCase),
      flag("negationsMatchNull", \.negationsMatchNull), choice("emptySyncToken", \.emptySyncToken),
      choice("expiredSyncToken", \.expiredSyncToken), choice("callerEnvelope", \.callerEnvelope),
      key("rereferenceWrapper", \.rereferenceWrapper), choice("existingZone", \.existingZone),
      choice("missingZone", \.missingZone), choice("defaultZoneDeletion", \.defaultZoneDeletion),
      count("zoneLimit", \.zoneLimit), count("listLimit", \.listLimit), count("filterLimit", \.filterLimit),
      flag("acceptsDatabaseSubscriptions", \.acceptsDatabaseSubscriptions),
      flag("acceptsSharedSubscriptions", \.acceptsSharedSubscriptions),
      count("subscriptionLimit", \.subscriptionLimit), flag("subscriptionsAreZoneWide", \.subscriptionsAreZoneWide),
      choice("uninvited", \.uninvited), flag("participantsLeaveByDeletingShares", \.participantsLeaveByDeletingShares),
    ]
  }

  /// Applies `name=value`.
  static func apply(_ text: String, to assumptions: inout EmulatorAssumptions) throws(CommandFailure) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let assumption = all.first(where: { $0.name == parts[0] }) else {
      throw .usage("--assume \(text.excerpt) is unknown; give name=value, with a name from cktop help assumptions")
    }
    guard assumption.take(parts[1], &assumptions) else {
      throw .usage("--assume \(text.excerpt) is invalid; \(assumption.name) takes \(assumption.values)")
    }
  }

  private typealias Property<Value> = WritableKeyPath<EmulatorAssumptions, Value>

  private static func standard<Value>(_ property: Property<Value>) -> Value {
    EmulatorAssumptions()[keyPath: property]
  }

  private static func switching<Value>(
    _ name: String,
    _ property: Property<Value>,
    _ values: String,
    _ read: @escaping (String) -> Value?
  ) -> Assumption {
    Assumption(name: name, values: values) { text, assumptions in
      guard let value = read(text) else { return false }
      assumptions[keyPath: property] = value
      return true
    }
  }

  private static func choice<Value: CaseIterable & RawRepresentable<String>>(
    _ name: String,
    _ property: Property<Value>
  ) -> Assumption {
    let byDefault = standard(property).rawValue
    let others = Value.allCases.map(\.rawValue).filter { $0 != byDefault }
    return switching(name, property, ([byDefault] + others).joined(separator: ", "), Value.init(rawValue:))
  }

  private static func flag(_ name: String, _ property: Property<Bool>) -> Assumption {
    switching(name, property, standard(property) ? "true, false" : "false, true") { Bool($0) }
  }

  private static func seconds(_ name: String, _ property: Property<Duration>) -> Assumption {
    switching(name, property, "\(standard(property).components.seconds), other seconds") { text in
      Int32(text).flatMap { $0 >= 0 ? .seconds($0) : nil }
    }
  }

  private static func count(_ name: String, _ property: Property<Int?>) -> Assumption {
    switching(name, property, "none, a number") { text in
      if text == "none" { return .some(nil) }
      guard let number = Int32(text), number >= 0 else { return nil }
      return .some(Int(number))
    }
  }

  private static func metres(_ name: String, _ property: Property<Double?>) -> Assumption {
    switching(name, property, "none, metres") { text in
      if text == "none" { return .some(nil) }
      guard let number = Double(text), number >= 0, number.isFinite else { return nil }
      return .some(number)
    }
  }

  private static func key(_ name: String, _ property: Property<String>) -> Assumption {
    switching(name, property, "\(standard(property)), another key") { $0.isEmpty ? nil : $0 }
  }
}
