public import CloudKit
import Foundation

extension SyncEngine.Configuration {
  /// Everything about a database of a container, with the store where `cktop` looks for it, too.
  ///
  /// - Parameters:
  ///   - container: how the server is reached and as whom; its pushes are listened to.
  ///   - user: whose store is meant, such as `CKContainer.signIn(callback:)` tells. One machine may serve several users:
  ///     each has a store, and what one has queued is sent as nobody else. Without a user it is the store of whoever came
  ///     first.
  ///   - storePath: the file of the store; by default one that is named after container, environment and database in
  ///     `$XDG_STATE_HOME/cktop`.
  /// - Throws: `CKError` where the container's configuration is of no use.
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
    // Only the public database is there for nobody; whoever asks for another is somebody who signs in.
    case .apiToken:
      identity = databaseScope == .public && user == nil && !client.isSignedIn ? SyncStore.nobody : nil
    case .webAuth, nil: identity = nil
    }
    pushes = container.notifications
    origin = container.database(with: databaseScope)
    let base = storePath ?? StorePath.standard(scope, ProcessInfo.processInfo.environment)
    if identity == nil { owner = user?.recordName }
    location = (base, scope)
  }
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
