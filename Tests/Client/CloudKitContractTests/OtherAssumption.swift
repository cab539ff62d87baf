import CloudKitEmulator

/// The switches of the emulator in other positions than the default, by the runs that can see them.
enum OtherAssumption {
  typealias Value = EmulatorAssumption.OtherValue

  /// The names of those that a server-to-server key can see.
  private static let namesOfKeys: Set = [
    "emptyBodySignature", "missingCredentials", "futureSkew", "signatureLifetime",
  ]
  /// The names of those that can be seen in production only.
  private static let namesOfProduction: Set = ["unknownField"]
  /// The names of those that no run can see.
  private static let namesOfNone: Set = [
    "defaultZoneDeletion", "uninvited", "requestsPerSecond", "sendsRetryAfterHeader", "zoneLimit", "subscriptionLimit",
    "participantsLeaveByDeletingShares",
  ]

  /// Those that a user can see in development.
  static let ofUsers = values {
    $0 == "missingCredentials"
      || !namesOfKeys.contains($0) && !namesOfProduction.contains($0) && !namesOfNone.contains($0)
  }
  static let ofKeys = values(where: namesOfKeys.contains)
  static let ofProduction = values(where: namesOfProduction.contains)
  static let untestable = values(where: namesOfNone.contains)

  private static func values(where isSeen: (String) -> Bool) -> [Value] {
    EmulatorAssumption.all.filter { isSeen($0.name) }.flatMap(\.others)
  }
}
