import Foundation
package import JSONText
import Synchronization

/// One of a container's three databases. The raw value is its name in URLs.
package enum DatabaseName: String, Hashable, Sendable, CaseIterable, Codable {
  case `public`, `private`, shared

  /// The zone of models and queued changes without one. Only custom zones have a change feed, and only the private
  /// database can have them.
  package var zoneForChanges: CKRecordZoneID { self == .private ? CKRecordZoneID(zoneName: "cktop") : .default }
}

/// Sends typed calls to one container: encodes once, signs those bytes, sends, decodes, and converts every failure into
/// a `WebServicesError`.
///
/// It retries only in three cases, each after a refusal, which had no effect:
/// - A server-to-server request refused with 401 is signed again once with the server's time, because a wrong clock
///   cannot be distinguished from a wrong key (reference 7.10).
/// - A request refused because its web auth token was replaced in the meantime is sent once more with the newest token.
/// - A request whose connection led to another server is sent once more over a new one (reference 1.2).
package final class WebServicesClient: Sendable {
  /// The container, environment and credential of a client.
  package struct Configuration: Sendable {
    package var container: String
    package var environment: String
    package var credential: CKCredential?
    package var now: @Sendable () -> Date
    /// Called with each new web auth token, before its response is returned.
    package var tokenRotated: @Sendable (String) -> Void
    /// Called with a web auth token that is no longer valid and was dropped. If it is nil, a refused token is sent
    /// again with the next request. A sign-in or sign-out that it begins follows when it returns.
    package var tokenRefused: (@Sendable (String) -> Void)?
    package var instruments: Instruments
    /// The cache of records that the containers of one configuration share; nil for none.
    package var cache: SharedRecordCache?

    package init(
      container: String,
      environment: String,
      credential: CKCredential?,
      now: @escaping @Sendable () -> Date = { Date() },
      tokenRotated: @escaping @Sendable (String) -> Void = { _ in },
      tokenRefused: (@Sendable (String) -> Void)? = nil,
      instruments: Instruments = Instruments(Instruments.silent),
      cache: SharedRecordCache? = nil
    ) {
      self.container = container
      self.environment = environment
      self.credential = credential
      self.now = now
      self.tokenRotated = tokenRotated
      self.tokenRefused = tokenRefused
      self.instruments = instruments
      self.cache = cache
    }
  }

  package let configuration: Configuration
  package let transport: any CKTransport
  /// The transport for the bytes of assets.
  let assetTransport: any CKAssetTransport
  private let webAuth: WebAuthSession
  /// The container and its environment, as in URL paths.
  package let place: String
  /// The seconds to add to the local clock, known from a refused signature.
  private let clockOffset = Mutex<TimeInterval>(0)

  package init(_ configuration: Configuration, transport: any CKTransport) {
    self.configuration = configuration
    self.transport = transport
    assetTransport = transport.assetTransport
    place = "\(configuration.container.percentEncoded)/\(configuration.environment)"
    let token: String? = if case .webAuth(_, let token) = configuration.credential { token } else { nil }
    webAuth = WebAuthSession(token: token, rotated: configuration.tokenRotated, refused: configuration.tokenRefused)
  }

  /// The credential with the newest web auth token.
  package var credential: CKCredential? {
    guard case .webAuth(let apiToken, _) = configuration.credential, let token = webAuth.current else {
      return configuration.credential
    }
    return .webAuth(apiToken: apiToken, webAuthToken: token.text)
  }

  /// Returns a client of the same container with its own session.
  ///
  /// - Parameter wrap: Returns a transport around this client's.
  package func with(
    _ credential: CKCredential?,
    through wrap: (any CKTransport) -> any CKTransport = { $0 }
  ) -> WebServicesClient {
    var configuration = configuration
    configuration.credential = credential
    return WebServicesClient(configuration, transport: wrap(transport))
  }

  /// Whether users can sign in, which requires an API token.
  var takesUsers: Bool {
    switch configuration.credential {
    case .apiToken, .webAuth: true
    case .serverToServerKey, nil: false
    }
  }

  /// Whether requests are sent as a signed-in user.
  package var isSignedIn: Bool { webAuth.current != nil }

  /// The sign-in that requests must be sent as; a request without it fails. Nil allows any sign-in.
  @TaskLocal package static var requiredSignIn: Int?

  /// A number that increases with each sign-in and sign-out. Facts about one user may not apply to the next.
  package var signIn: Int { webAuth.signIn }

  /// The user of requests, whose records the cache keeps apart from those of other users.
  var reader: RecordCache.Reader {
    if case .serverToServerKey(let key)? = configuration.credential { return RecordCache.Reader(keyID: key.keyID) }
    return webAuth.reader
  }

  /// Whether the user signed out. An expired or refused token does not count.
  package var hasSignedOut: Bool { webAuth.hasSignedOut }

  /// Whether no user signed in since the client was made, or the user signed out. An expired or refused token does not
  /// count.
  var isSignedOut: Bool {
    if case .webAuth = configuration.credential { return hasSignedOut }
    return !isSignedIn && (hasSignedOut || signIn == 0)
  }

  /// Returns the newest web auth token if it belongs to an API token.
  func webAuthToken(for apiToken: String?) throws(WebServicesError) -> String {
    switch configuration.credential {
    case .apiToken(let own) where own == apiToken, .webAuth(let own, _) where own == apiToken:
      if let token = webAuth.current?.text { return token }
    default: break
    }
    throw WebServicesError(.authenticationFailed, "no user is signed in with this API token", effect: .notSent)
  }

  /// Sends later requests as the user of a web auth token, or anonymously if it is nil.
  func beginSession(with token: String?) { webAuth.begin(with: token) }

  /// Fetches the URL of the sign-in page, with an anonymous request that only a user may make (reference 1.4).
  func signInPage() async throws(WebServicesError) -> String {
    let failure = refusal(try await send("GET", path(of: "users/caller", in: .public), Data(), as: nil))
    guard let page = failure.redirectURL else { throw failure }
    return page
  }

  /// Posts an object to an operation of a database and decodes the reply.
  ///
  /// - Parameter body: Writes the members of the object, in the order of their keys: equal requests have equal bytes,
  ///   which recordings and simulations require.
  package func call<Answer: JSONReadable & Sendable>(
    _ operation: String,
    in database: DatabaseName,
    as answer: Answer.Type = Answer.self,
    _ body: (inout JSONWriter) -> Void
  ) async throws(WebServicesError) -> Answer {
    try decode(try await exchange("POST", path(of: operation, in: database), try Self.encode(body)))
  }

  /// Posts a body to an operation of a device, not of a database (reference 5.10), and decodes the reply.
  package func callDevice<Answer: JSONReadable & Sendable>(
    _ operation: String,
    _ body: (inout JSONWriter) -> Void
  ) async throws(WebServicesError) -> Answer {
    try decode(try await exchange("POST", devicePath(of: operation), try Self.encode(body)))
  }

  /// Posts a body to an operation of a device whose reply has no documented contents.
  package func sendDevice(_ operation: String, _ body: (inout JSONWriter) -> Void) async throws(WebServicesError) {
    let response = try await exchange("POST", devicePath(of: operation), try Self.encode(body))
    guard (200..<300).contains(response.status) else { throw refusal(response) }
  }

  /// Gets an operation that takes no body. Only for calls that are never signed, because sources disagree about what a
  /// signature without a body covers (reference 1.5).
  package func get<Answer: JSONReadable & Sendable>(
    _ operation: String,
    in database: DatabaseName,
    as answer: Answer.Type = Answer.self
  ) async throws(WebServicesError) -> Answer {
    try decode(try await exchange("GET", path(of: operation, in: database), Data()))
  }

  private func path(of operation: String, in database: DatabaseName) -> String {
    "/database/1/\(place)/\(database.rawValue)/\(operation)"
  }

  private func devicePath(of operation: String) -> String { "/device/1/\(place)/\(operation)" }

  /// Returns a transport to another server that a reply names.
  func transport(to origin: URL, timeout: Duration) -> any CKTransport {
    transport.transport(to: origin, timeout: timeout)
  }

  // MARK: - Exchanges

  private func exchange(
    _ method: String,
    _ path: String,
    _ body: Data
  ) async throws(WebServicesError) -> CKTransportResponse {
    let token = webAuth.current
    if let required = Self.requiredSignIn, required != token?.signIn ?? webAuth.signIn {
      throw .otherSignIn(.notSent)
    }
    let first = try await send(method, path, body, as: token)
    if let token {
      guard let code = Self.refusalOfUser(first),
        let newer = webAuth.replacement(of: token, isInvalid: code == .authenticationRequired)
      else { return first }
      return try await send(method, path, body, as: newer)
    }
    guard first.status == 401, case .serverToServerKey = configuration.credential,
      let offset = clockOffset(from: first), abs(offset) > 60
    else { return first }
    clockOffset.withLock { $0 = offset }
    configuration.instruments.signedAgain(offset: offset)
    return try await send(method, path, body, as: nil)
  }

  /// The code of a response that refuses the request's credentials; nil for any other response, such as a proxy's 401 and
  /// a 421 about the connection.
  ///
  /// Only `authenticationRequired` says that the user has to sign in. `authenticationFailed` is also the answer to a wrong
  /// API token (reference 1.3).
  private static func refusalOfUser(_ response: CKTransportResponse) -> ServerErrorCode? {
    guard [401, 421].contains(response.status), let code = (try? WireItemError(json: response.body))?.error.code,
      [.authenticationFailed, .authenticationRequired].contains(code)
    else { return nil }
    return code
  }

  private func send(
    _ method: String,
    _ path: String,
    _ body: Data,
    as user: WebAuthSession.Token?
  ) async throws(WebServicesError) -> CKTransportResponse {
    var request = CKTransportRequest(method: method, path: path, body: body)
    request.headers = [CKHTTPHeader("Content-Type", "application/json"), CKHTTPHeader("Accept", "application/json")]
    request.timeout = Self.timeout
    switch configuration.credential {
    case .serverToServerKey(let key):
      let date = configuration.now().addingTimeInterval(clockOffset.withLock { $0 })
      do {
        request.headers += try key.signatureHeaders(body: body, path: path, date: date)
      } catch {
        throw WebServicesError(.authenticationFailed, "the request could not be signed: \(error)", effect: .notSent)
      }
    case .apiToken(let apiToken), .webAuth(let apiToken, _):
      request.query = CKCredential.query(apiToken: apiToken, webAuthToken: user?.text)
    case nil:
      break
    }
    let response = try await deliver(request, as: user)
    guard response.isMisdirected else { return response }
    request.needsNewConnection = true
    return try await deliver(request, as: user)
  }

  private func deliver(
    _ request: CKTransportRequest,
    as user: WebAuthSession.Token?
  ) async throws(WebServicesError) -> CKTransportResponse {
    let exchange = Instruments.Exchange(path: request.path, sent: request.body.count)
    do {
      let response = try await transport.send(request)
      if let user { adoptToken(from: response, to: user) }
      configuration.instruments.answered(exchange, with: response) { refusal(response) }
      return response
    } catch {
      configuration.instruments.failed(exchange, error)
      var failure = WebServicesError(.networkError, error.message)
      failure.effect = error.delivery == .notSent ? .notSent : .unknown
      throw failure
    }
  }

  /// Adopts the newest token from a response. Every response can carry one, errors included (reference 1.4).
  private func adoptToken(from response: CKTransportResponse, to user: WebAuthSession.Token) {
    guard
      let token = response.header("X-Apple-CloudKit-Web-Auth-Token") ?? response.header("X-Apple-CloudKit-Session"),
      !token.isEmpty
    else { return }
    if webAuth.adopt(token, inAnswerTo: user) { configuration.instruments.adoptedToken() }
  }

  private func clockOffset(from response: CKTransportResponse) -> TimeInterval? {
    let now = configuration.now()
    return response.date(now: now)?.timeIntervalSince(now)
  }

  // MARK: - JSON

  private static func encode(_ members: (inout JSONWriter) -> Void) throws(WebServicesError) -> Data {
    do throws(JSONError) {
      return try JSONFragment { $0.object(members) }.data
    } catch {
      throw WebServicesError(.badRequest, "the request could not be encoded: \(error)", effect: .notSent)
    }
  }

  private func decode<Answer: JSONReadable>(_ response: CKTransportResponse) throws(WebServicesError) -> Answer {
    guard (200..<300).contains(response.status) else { throw refusal(response) }
    do throws(JSONError) {
      let answer = try Answer(json: response.body)
      guard let id = response.requestID, let items = answer as? any WireItems else { return answer }
      return items.naming(request: id) as? Answer ?? answer
    } catch {
      var failure = WebServicesError(
        .unexpectedServerResponse,
        "the reply is not CloudKit's: \(response.body.count) bytes could not be decoded (\(error))",
        effect: .unknown,
        httpStatus: response.status
      )
      failure.response = WebServicesError.excerpt(response.body)
      failure.uuid = response.requestID
      throw failure
    }
  }

  private func refusal(_ response: CKTransportResponse) -> WebServicesError {
    WebServicesError(refusal: response, now: configuration.now())
  }
}

extension WebServicesError {
  /// Creates the error for a request of a user who is no longer signed in.
  package static func otherSignIn(_ effect: Effect) -> WebServicesError {
    WebServicesError(.authenticationRequired, "the signed-in user changed in the meantime", effect: effect)
  }
}
