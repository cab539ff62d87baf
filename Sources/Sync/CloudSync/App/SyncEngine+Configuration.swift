public import CloudKit
import Foundation

extension SyncEngine.Configuration {
  /// A configuration for a database of a container, with the same store that `cktop` uses by default.
  ///
  /// - Parameters:
  ///   - container: the connection to the server and the user; its push notifications are used.
  ///   - user: the owner of the store, such as `CKContainer.signIn(callback:)` returns. A machine may have several
  ///     users: each has a store, and queued changes are sent as their own user only. Without a user it is the store of
  ///     the first user.
  ///   - storePath: the file of the store; by default it is named after container, environment and database in
  ///     `$XDG_STATE_HOME/cktop`.
  /// - Throws: `CKError` if the container's configuration cannot be used.
  public init(
    container: CKContainer,
    databaseScope: CKDatabase.Scope = .private,
    user: CKRecord.ID? = nil,
    storePath: String? = nil
  ) throws(CKError) {
    let client = try container.webServices()
    self.init(client: client)
    let scope = SyncStore.Scope(
      container: client.configuration.container,
      environment: client.configuration.environment,
      database: DatabaseName(databaseScope)
    )
    switch client.configuration.credential {
    case .serverToServerKey(let key): identity = "key:\(key.keyID)"
    // Only the public database can be used without signing in.
    case .apiToken:
      identity = databaseScope == .public && user == nil && !client.isSignedIn ? SyncStore.anonymous : nil
    case .webAuth, nil: identity = nil
    }
    pushes = container.notifications
    origin = container.database(with: databaseScope)
    let base = storePath ?? StorePath.standard(scope, ProcessInfo.processInfo.environment)
    if identity == nil { owner = user?.recordName }
    location = (base, scope)
  }

  /// The same configuration for the records that others share with the user, with a store beside this one; nil unless
  /// this one is for a private database.
  package var forSharedDatabase: Self? {
    guard let location, location.scope.database == .private else { return nil }
    var shared = self
    shared.origin = CKContainer(sharing: client).sharedCloudDatabase
    shared.location = (StorePath.shared(besides: location.path, location.scope), location.scope)
    shared.location?.scope.database = .shared
    return shared
  }

  package var hasStore: Bool {
    get throws(StoreError) { try path.map(SyncStore.exists) ?? false }
  }

  /// The file of the store; nil if the configuration names none.
  var path: String? { location.map { StorePath.path(of: identity ?? owner, base: $0.path) } }
}

extension DatabaseName {
  init(_ scope: CKDatabase.Scope) {
    switch scope {
    case .public: self = .public
    case .private: self = .private
    case .shared: self = .shared
    }
  }
}
