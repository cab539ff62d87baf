package import CloudKit
package import Facts
import Foundation

/// The credential, the client and the engine.
extension StoreSession {
  /// The kind of the configured credential, by its name in the JSON; nil: none.
  package func credentialName() throws(CommandFailure) -> String? {
    switch try settings.credential() {
    case .serverToServer: "serverToServer"
    case .webAuth: "webAuth"
    case .apiToken: "apiToken"
    case .none: nil
    }
  }

  /// The identity given by the credential; nil if only the server knows it.
  package func identity() throws(CommandFailure) -> String? {
    switch try settings.credential() {
    case .serverToServer(let keyID, _): "key:\(keyID)"
    case .apiToken: SyncStore.anonymous
    case .webAuth, .none: nil
    }
  }

  /// The identifier of the sign-in; nil without a user.
  var signIn: String? {
    guard case .webAuth(_, let token)? = try? settings.credential() else { return nil }
    return KeptToken.origin(of: token)
  }

  /// The user who enqueues, as given by the credential; nil without a user.
  func sender() throws(CommandFailure) -> Sender? {
    switch try settings.credential() {
    case .serverToServer: Sender(user: try identity())
    case .webAuth: Sender(user: nil, credential: signIn)
    case .apiToken, .none: nil
    }
  }

  /// The saved web auth token; nil without a user.
  package var kept: KeptToken? {
    guard case .webAuth(_, let token)? = try? settings.credential() else { return nil }
    let path =
      storePath ?? settings.basePath.map { StorePath.path(ofUnknown: KeptToken.origin(of: token), base: $0) }
    return path.map { KeptToken(storePath: $0, configured: token) }
  }

  /// The failure for a store of another user: a person must sign in as the store's user. If the saved token turned out
  /// to be another user's, it is removed.
  package func failure(ofOtherUser error: StoreError) -> CommandFailure {
    guard found.usesKeptToken, kept?.forget() == true else { return CommandFailure(error.message, .personNeeded) }
    let next = "the token saved beside the store was theirs and was removed, try again with your own"
    return CommandFailure("\(error.message); \(next)", .personNeeded)
  }

  /// The variables of this process that name a proxy.
  package var proxies: ProxySettings { ProxySettings(environment: ProcessInfo.processInfo.environment) }

  /// The way to the server.
  package var route: ProxySettings.Route { proxies.route(to: settings.serverURL) }

  /// A client of the configured server, with the credential and its saved token.
  ///
  /// - Parameter timeout: the maximum time for a request.
  package func client(_ scope: SyncStore.Scope, timeout: Duration = .seconds(60)) throws -> WebServicesClient {
    let kept = kept
    let url = settings.serverURL
    guard settings.allowsHTTP || !CKHTTPTransport.isOpen(url) else {
      throw CommandFailure.usage(
        "\(url.absoluteString.excerpt) (\(settings.serverPlace)) is not encrypted, so credentials could be read on "
          + "the way; use https, or --allow-http"
      )
    }
    let credential: CKCredential
    switch try settings.credential() {
    case .serverToServer(let keyID, let file):
      guard scope.database == .public else {
        throw CommandFailure.usage(
          "a server-to-server key can access only the public database; omit --database, or configure "
            + "CLOUDKIT_API_TOKEN and CLOUDKIT_WEB_AUTH_TOKEN"
        )
      }
      credential = .serverToServerKey(try .load(keyID: keyID, file: file))
    case .apiToken(let token):
      credential = .apiToken(token)
    case .webAuth(let apiToken, let webAuthToken):
      let known = kept?.read()
      if known != nil { found.usesKeptToken = true }
      credential = .webAuth(apiToken: apiToken, webAuthToken: known ?? CKCredential.repaired(token: webAuthToken))
    case .none:
      throw CommandFailure.noCredential(scope.database)
    }
    return WebServicesClient(
      WebServicesClient.Configuration(
        container: scope.container,
        environment: scope.environment,
        credential: credential,
        tokenRotated: { [kept] token in kept?.keep(token) }
      ),
      transport: CKHTTPTransport(baseURL: url, timeout: timeout, allowsHTTP: settings.allowsHTTP)
    )
  }

  /// An engine for an open store.
  ///
  /// - Parameters:
  ///   - takesOver: whether this user takes over another user's store with its queued changes.
  ///   - replacesPolicy: whether the given policy replaces the stored one.
  package func engine(_ store: SyncStore, takesOver: Bool = false, replacesPolicy: Bool = false) throws -> SyncEngine {
    let client = try client(store.scope)
    let isFirst = try store.settings().policy == nil
    let named = isFirst || replacesPolicy ? try settings.namedPolicy() : nil
    var configuration = SyncEngine.Configuration(
      client: client,
      // The first sync stores it; after that, the stored one applies.
      policy: isFirst ? named : nil,
      identity: try identity()
    )
    configuration.signIn = signIn
    configuration.takesOver = takesOver
    configuration.replacingPolicy = replacesPolicy ? named : nil
    // Without a user there are no subscriptions.
    if configuration.identity != SyncStore.anonymous {
      configuration.pushes = CKContainer(sharing: client).notifications
    }
    return SyncEngine(store: store, configuration)
  }

  /// Asks the server for the user's name; for a key, makes a signed request and returns the key's identity.
  package func user(_ client: WebServicesClient, _ scope: SyncStore.Scope) async -> Result<String, WebServicesError> {
    do throws(WebServicesError) {
      guard let identity = try? identity() else { return .success(try await client.caller().userRecordName) }
      // No call names a key; listing the zones shows whether it has access.
      _ = try await client.listZones(in: scope.database)
      return .success(identity)
    } catch {
      return .failure(error)
    }
  }
}

extension CommandFailure {
  /// - Parameter database: what is to be accessed, if that is known.
  package static func noCredential(_ database: DatabaseName = .public) -> CommandFailure {
    let user = "CLOUDKIT_API_TOKEN and CLOUDKIT_WEB_AUTH_TOKEN"
    let variables = database == .public ? "CLOUDKIT_KEY_ID and CLOUDKIT_KEY_FILE, or CLOUDKIT_API_TOKEN" : user
    return CommandFailure("no credential is configured; set \(variables)", .personNeeded)
  }
}
