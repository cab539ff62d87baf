import CloudKitEmulator

/// One switch of the emulator in another position than the default.
struct OtherAssumption: Sendable, CustomStringConvertible {
  /// The property of `EmulatorAssumptions`.
  let name: String
  let description: String
  let change: @Sendable (inout EmulatorConfiguration) -> Void

  init(_ name: String, _ value: String, _ change: @escaping @Sendable (inout EmulatorAssumptions) -> Void) {
    self.name = name
    description = "\(name) \(value)"
    self.change = { change(&$0.assumptions) }
  }

  /// Those that a user can see in development.
  static let ofUsers: [OtherAssumption] =
    flags + others("missingCredentials", \.missingCredentials) + others("atomicFailure", \.atomicFailure)
    + others("updateWithoutTag", \.updateWithoutTag) + others("missingUpdate", \.missingUpdate)
    + others("deletionWithoutTag", \.deletionWithoutTag) + others("missingForceDelete", \.missingForceDelete)
    + others("repeatedRecord", \.repeatedRecord) + others("exceededLimit", \.exceededLimit)
    + others("unknownRecordType", \.unknownRecordType) + others("unsortedOrder", \.unsortedOrder)
    + others("changesOrder", \.changesOrder) + others("emptySyncToken", \.emptySyncToken)
    + others("expiredSyncToken", \.expiredSyncToken) + others("callerEnvelope", \.callerEnvelope)
    + others("encryptedType", \.encryptedType) + others("existingZone", \.existingZone)
    + others("missingZone", \.missingZone) + others("timestampFraction", \.timestampFraction)
    + [
      OtherAssumption("rereferenceWrapper", "records") { $0.rereferenceWrapper = "records" },
      OtherAssumption("nearDistance", "1000") { $0.nearDistance = 1000 },
      OtherAssumption("listLimit", "1000") { $0.listLimit = 1000 },
      OtherAssumption("filterLimit", "20") { $0.filterLimit = 20 },
    ]

  private static let flags: [OtherAssumption] = [
    OtherAssumption("listsTakePost", "false") { $0.listsTakePost = false },
    OtherAssumption("cascadesLeaveTombstones", "false") { $0.cascadesLeaveTombstones = false },
    OtherAssumption("developmentLearnsSchema", "false") { $0.developmentLearnsSchema = false },
    OtherAssumption("learntTypesIndexSystemFields", "false") { $0.learntTypesIndexSystemFields = false },
    OtherAssumption("emptyListsAddFields", "true") { $0.emptyListsAddFields = true },
    OtherAssumption("comparesTextIgnoringCase", "true") { $0.comparesTextIgnoringCase = true },
    OtherAssumption("negationsMatchNull", "true") { $0.negationsMatchNull = true },
    OtherAssumption("acceptsDatabaseSubscriptions", "false") { $0.acceptsDatabaseSubscriptions = false },
    OtherAssumption("acceptsSharedSubscriptions", "false") { $0.acceptsSharedSubscriptions = false },
    OtherAssumption("subscriptionsAreZoneWide", "true") { $0.subscriptionsAreZoneWide = true },
  ]

  /// Those that a server-to-server key can see.
  static let ofKeys: [OtherAssumption] =
    others("emptyBodySignature", \.emptyBodySignature) + others("missingCredentials", \.missingCredentials)
    + [
      OtherAssumption("futureSkew", "0") { $0.futureSkew = .zero },
      OtherAssumption("futureSkew", "3600") { $0.futureSkew = .seconds(3600) },
      OtherAssumption("signatureLifetime", "60") { $0.signatureLifetime = .seconds(60) },
    ]

  /// Those that can be seen in production.
  static let ofProduction = others("unknownField", \.unknownField)

  /// Those that no run can see.
  static let untestable: [OtherAssumption] =
    others("defaultZoneDeletion", \.defaultZoneDeletion) + others("uninvited", \.uninvited)
    + [
      OtherAssumption("requestsPerSecond", "1000") { $0.requestsPerSecond = 1000 },
      OtherAssumption("sendsRetryAfterHeader", "false") { $0.sendsRetryAfterHeader = false },
      OtherAssumption("zoneLimit", "20") { $0.zoneLimit = 20 },
      OtherAssumption("subscriptionLimit", "20") { $0.subscriptionLimit = 20 },
      OtherAssumption("participantsLeaveByDeletingShares", "false") { $0.participantsLeaveByDeletingShares = false },
    ]

  /// One for each value that is not the default.
  private static func others<Value: CaseIterable & Equatable & Sendable>(
    _ name: String,
    _ path: any WritableKeyPath<EmulatorAssumptions, Value> & Sendable
  ) -> [OtherAssumption] {
    let standard = EmulatorAssumptions()[keyPath: path]
    return Value.allCases.filter { $0 != standard }
      .map { value in OtherAssumption(name, "\(value)") { $0[keyPath: path] = value } }
  }
}
