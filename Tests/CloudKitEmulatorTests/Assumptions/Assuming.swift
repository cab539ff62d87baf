import CloudKitEmulator

extension Fixture {
  /// A fixture whose zone `notes` exists, with other assumptions than the default.
  static func assuming(_ change: (inout EmulatorAssumptions) -> Void = { _ in }) throws -> Fixture {
    var configuration = EmulatorConfiguration()
    change(&configuration.assumptions)
    return try withZone(configuration)
  }
}
