import Foundation

/// The sender of a request.
enum Caller: Sendable, Hashable {
  /// An anonymous caller: an API token without a user. [D]
  case world
  /// A signed-in user, by the name in the web auth token. [D]
  case user(name: String, nextToken: String)
  /// A server-to-server key, which acts as its own user. [L3]
  case server(keyID: String)

  /// The caller's user record name; `nil` if anonymous.
  var recordName: String? {
    switch self {
    case .world: nil
    case .user(let name, _): WebAuthToken.recordName(of: name)
    case .server(let keyID): WebAuthToken.recordName(of: "server-to-server/\(keyID)")
    }
  }
}

/// The result of checking a request's credentials: a caller or an error.
struct Authentication: Sendable {
  let route: Route
  var caller: Result<Caller, ServerError>
  /// Whether the query requests the sync token; it is parsed here with the credentials. Unknown options are ignored.
  /// [L1]
  let wantsSyncToken: Bool

  /// The replacement for the web auth token, sent with each authenticated response, including errors. [L3]
  var nextToken: String? {
    if case .success(.user(_, let token)) = caller { token } else { nil }
  }

  init(_ request: EmulatorRequest, route: Route, configuration: EmulatorConfiguration, at time: Date) {
    self.route = route
    let query = QueryString.values(request.query)
    wantsSyncToken = query["getCurrentSyncToken"] == "true" && route.operation.answersWithSyncToken
    caller = Result { () throws(ServerError) in
      if ServerSignature.isClaimed(by: request) {
        return try ServerSignature.verify(request, route: route, configuration: configuration, at: time)
      }
      // No credentials: 400 [2nd] (Question 21). A wrong API token: 401. [E]
      guard let apiToken = query["ckAPIToken"], !apiToken.isEmpty else {
        let isBadRequest = configuration.assumptions.missingCredentials == .badRequest
        throw ServerError(isBadRequest ? .badRequest : .authenticationFailed, "request carries no credentials")
      }
      if configuration.strictAuth, !configuration.apiTokens.contains(apiToken) { throw .unauthenticated }
      let needsUser = route.scope != .public || route.operation.needsUser
      guard let text = query["ckWebAuthToken"] ?? query["ckSession"], !text.isEmpty else {
        guard needsUser else { return .world }
        throw Self.signInNeeded(request, route)
      }
      // A malformed token was never valid. [E]
      guard let token = WebAuthToken(text, configuration) else {
        throw configuration.strictAuth ? Self.signInNeeded(request, route) : .unauthenticated
      }
      guard configuration.admits(token.name), token.isGood(at: time) else { throw Self.signInNeeded(request, route) }
      return .user(name: token.name, nextToken: token.next(at: time, configuration).text(configuration))
    }
  }

  /// Returns the error for a credential that has expired.
  func expiry(_ request: EmulatorRequest) -> ServerError {
    if case .success(.server) = caller { return .unauthenticated }
    return Self.signInNeeded(request, route)
  }

  /// Returns an error with the URL of the server's own sign-in page. For a web page, the URL names its origin, to which
  /// the sign-in page passes the token. [E]
  static func signInNeeded(_ request: EmulatorRequest, _ route: Route) -> ServerError {
    let container = QueryString.encode(route.container)
    let origin = request.header("origin").map { "&\(SignInPages.originKey)=\(QueryString.encode($0))" } ?? ""
    let url = "\(request.baseURL)\(SignInPages.path)?container=\(container)&environment=\(route.environment)\(origin)"
    return ServerError(.authenticationRequired, "request needs authorization", redirectURL: url)
  }
}

extension EmulatorConfiguration {
  /// The names of all configured users.
  var admitted: Set<String> { users.union(directory.map(\.name)) }

  func admits(_ name: String) -> Bool { !strictAuth || admitted.contains(name) }
}
