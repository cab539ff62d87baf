extension CKContainer {
  /// What a program may ask a user for.
  public struct ApplicationPermissions: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt
    /// Makes a set of permissions from its bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// That others find the user by an address.
    public static let userDiscoverability = ApplicationPermissions(rawValue: 1 << 0)
  }

  /// What a user answered, with Apple's numbers.
  public enum ApplicationPermissionStatus: Int, Sendable {
    /// Not asked yet.
    case initialState = 0
    /// Could not be asked.
    case couldNotComplete = 1
    /// Refused.
    case denied = 2
    /// Granted.
    case granted = 3
  }

  /// What the user answered.
  ///
  /// Web Services ask on the page where the user signs in and tell nobody the answer, so this is `granted` for a signed-in
  /// user. One who refused is not found by others, and shows no name.
  ///
  /// - Throws: `CKError.notAuthenticated` where there is no user.
  public func applicationPermissionStatus(
    for applicationPermission: ApplicationPermissions
  ) async throws -> ApplicationPermissionStatus {
    guard try client.get().isSignedIn else { throw CKError(.notAuthenticated, "Nobody is signed in.") }
    return .granted
  }

  /// The same as `applicationPermissionStatus(for:)`: a user is asked where they sign in and nowhere else.
  @discardableResult
  public func requestApplicationPermission(
    _ applicationPermission: ApplicationPermissions
  ) async throws -> ApplicationPermissionStatus {
    try await applicationPermissionStatus(for: applicationPermission)
  }
}
