extension CKContainer {
  /// The permissions that an app can request from a user.
  public struct ApplicationPermissions: OptionSet, Sendable {
    /// The raw bits.
    public let rawValue: UInt
    /// Creates a set of permissions from raw bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Allows other users to find the user by an address.
    public static let userDiscoverability = ApplicationPermissions(rawValue: 1 << 0)
  }

  /// The user's decision about a permission. The raw values are Apple's.
  public enum ApplicationPermissionStatus: Int, Sendable {
    /// The user has not been asked.
    case initialState = 0
    /// The request could not be completed.
    case couldNotComplete = 1
    /// The user denied the permission.
    case denied = 2
    /// The user granted the permission.
    case granted = 3
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown = -1
  }

  /// Returns the user's decision about a permission.
  ///
  /// Web Services ask for the permission on the sign-in page and do not report the decision, so this returns `granted`
  /// for every signed-in user. A user who denied it cannot be found by others, and their name is not shown.
  ///
  /// - Throws: `CKError.notAuthenticated` if no user is signed in.
  public func applicationPermissionStatus(
    for applicationPermission: ApplicationPermissions
  ) async throws -> ApplicationPermissionStatus {
    guard try client.get().isSignedIn else { throw CKError(.notAuthenticated, "No user is signed in.") }
    return .granted
  }

  /// Does the same as `applicationPermissionStatus(for:)`, because users are asked only on the sign-in page.
  @discardableResult
  public func requestApplicationPermission(
    _ applicationPermission: ApplicationPermissions
  ) async throws -> ApplicationPermissionStatus {
    try await applicationPermissionStatus(for: applicationPermission)
  }
}

// MARK: - Other names

// Apple's headers name these inside of a type that does not exist, so that Swift sees them with underscores; older code
// has the nested names.

extension CKContainer {
  /// A namespace for older names of the permissions.
  public enum Application {
    /// The older name of `CKContainer.ApplicationPermissions`.
    public typealias Permissions = ApplicationPermissions
    /// The older name of `CKContainer.ApplicationPermissionStatus`.
    public typealias PermissionStatus = ApplicationPermissionStatus
    /// A handler that gets the user's decision, or `couldNotComplete` and an error.
    public typealias PermissionBlock = @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void
  }
}

/// The same as `CKContainer.ApplicationPermissions`.
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions
/// The same as `CKContainer.ApplicationPermissionStatus`.
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
/// The same as `CKContainer.Application.PermissionBlock`.
public typealias CKContainer_Application_PermissionBlock = CKContainer.Application.PermissionBlock
