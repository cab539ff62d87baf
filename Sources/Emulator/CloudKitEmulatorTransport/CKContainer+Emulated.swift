public import CloudKit
public import CloudKitEmulator

/// Containers for tests and previews.
extension CKContainer {
  /// Makes a container of a user on an emulator in this process, without an account, a network or sockets.
  ///
  /// ```swift
  /// let emulator = try Emulator()
  /// let (ana, ben) = (CKContainer.emulated(user: "ana", on: emulator), CKContainer.emulated(user: "ben", on: emulator))
  /// ```
  ///
  /// - Parameters:
  ///   - user: The name of the user, who exists from the first request on; a name is always the same user.
  ///   - identifier: The container's identifier; the emulator makes the container when it is asked for it.
  ///   - emulator: The server. Containers on one emulator share its data.
  public static func emulated(
    user: String,
    identifier: String = "iCloud.emulated",
    on emulator: Emulator
  ) -> CKContainer {
    CKContainer(
      identifier: identifier,
      credential: .webAuth(apiToken: "emulated", webAuthToken: user),
      transport: EmulatorTransport(emulator)
    )
  }

  /// Makes a container of a user on a new, empty emulator in memory.
  ///
  /// ```swift
  /// let database = try CKContainer.emulated(user: "ana").privateCloudDatabase
  /// ```
  ///
  /// - Throws: An error if the emulator cannot start.
  public static func emulated(user: String, identifier: String = "iCloud.emulated") throws -> CKContainer {
    emulated(user: user, identifier: identifier, on: try Emulator())
  }
}
