import Foundation

/// Who sent a request.
enum Caller: Sendable, Hashable {
  /// An API token and nobody behind it. [D]
  case world
  /// Somebody signed in, by the name the web-auth token carries. [D]
  case user(name: String, nextToken: String)
  /// A server-to-server key, which acts as a user of its own. [L3]
  case server(keyID: String)

  /// The caller's user record name, `nil` for the world.
  var recordName: String? {
    switch self {
    case .world: nil
    case .user(let name, _): WebAuthToken.recordName(of: name)
    case .server(let keyID): WebAuthToken.recordName(of: "server-to-server/\(keyID)")
    }
  }
}

/// What a request's credentials amount to: a caller, or the refusal to send, which may still renew a web-auth token.
struct Authentication: Sendable {
  var caller: Result<Caller, ServerError>
  /// An option of the query, where credentials are read too; unknown ones are ignored. [L1]
  let wantsSyncToken: Bool

  /// The replacement token each authenticated answer carries, also an error. [L3]
  var nextToken: String? {
    if case .success(.user(_, let token)) = caller { token } else { nil }
  }

  init(_ request: EmulatorRequest, route: Route, configuration: EmulatorConfiguration, at time: Date) {
    let query = QueryString.values(request.query)
    wantsSyncToken = query["getCurrentSyncToken"] == "true"
    do throws(ServerError) {
      caller = .success(try Self.caller(request, query, route: route, configuration: configuration, at: time))
    } catch {
      caller = .failure(error)
    }
  }

  private static func caller(
    _ request: EmulatorRequest,
    _ query: [String: String],
    route: Route,
    configuration: EmulatorConfiguration,
    at time: Date
  ) throws(ServerError) -> Caller {
    if ServerSignature.isClaimed(by: request) {
      return try ServerSignature.verify(request, route: route, configuration: configuration, at: time)
    }
    // No credentials at all: 400 [2nd] (Question 21); a wrong API token: 401. [E]
    guard let apiToken = query["ckAPIToken"], !apiToken.isEmpty else {
      let isBadRequest = configuration.assumptions.missingCredentials == .badRequest
      throw ServerError(isBadRequest ? .badRequest : .authenticationFailed, "request carries no credentials")
    }
    if configuration.strictAuth, !configuration.apiTokens.contains(apiToken) {
      throw ServerError(.authenticationFailed, "Authentication failed")
    }
    let needsUser = route.scope != .public || route.operation.needsUser
    guard let text = query["ckWebAuthToken"] ?? query["ckSession"], !text.isEmpty else {
      guard needsUser else { return .world }
      throw signInNeeded(request, route)
    }
    // What cannot be a token was never one. [E]
    guard let token = WebAuthToken(text, configuration) else {
      throw configuration.strictAuth
        ? signInNeeded(request, route) : ServerError(.authenticationFailed, "Authentication failed")
    }
    guard configuration.admits(token.name), token.isGood(at: time) else { throw signInNeeded(request, route) }
    return .user(name: token.name, nextToken: token.next(at: time, configuration).text(configuration))
  }

  /// How a credential is refused that was good before.
  func expiry(_ exchange: Exchange) -> ServerError {
    if case .success(.server) = caller { return ServerError(.authenticationFailed, "Authentication failed") }
    guard let route = exchange.route else { return ServerError(.authenticationRequired, "request needs authorization") }
    return Self.signInNeeded(exchange.request, route)
  }

  /// Sends the user to the server's own sign-in page. [E]
  static func signInNeeded(_ request: EmulatorRequest, _ route: Route) -> ServerError {
    let container = SignInPage.encode(route.container)
    let url = "\(request.baseURL)\(SignInPage.path)?container=\(container)&environment=\(route.environment)"
    return ServerError(.authenticationRequired, "request needs authorization", redirectURL: url)
  }
}

extension EmulatorConfiguration {
  /// The users who are known by name.
  var admitted: Set<String> { users.union(directory.map(\.name)) }

  func admits(_ name: String) -> Bool { !strictAuth || admitted.contains(name) }
}
