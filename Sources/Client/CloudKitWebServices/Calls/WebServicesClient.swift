package import Foundation
package import JSONText

/// Sends typed calls to one container: encodes once, sends those bytes through the steps of every call, decodes, and
/// converts every failure into a `WebServicesError`.
///
/// Three steps send a request again, each after a refusal, which had no effect: `AsUser`, `Signed` and `Reconnected`.
package final class WebServicesClient: Sendable {
  package let configuration: Configuration
  package let transport: any CKTransport
  /// The transport for the bytes of assets.
  let assetTransport: any CKAssetTransport
  /// The token of the app, which users need to sign in; nil with a server-to-server key, or without a credential.
  let apiToken: String?
  /// The user of requests.
  let session: WebAuthSession
  /// The container and its environment, as in URL paths.
  package let containerPath: String
  private let steps: [any CallStep]
  private let measured: MeasuredTransport

  package init(_ configuration: Configuration, transport: any CKTransport) {
    self.configuration = configuration
    self.transport = transport
    assetTransport = transport.assetTransport
    containerPath = "\(configuration.container.percentEncoded)/\(configuration.environment)"
    let (now, instruments) = (configuration.now, configuration.instruments)
    var (key, token): (CKServerToServerKey?, String?)
    switch configuration.credential {
    case .serverToServerKey(let known): (key, apiToken) = (known, nil)
    case .apiToken(let known): apiToken = known
    case .webAuth(let known, let user): (apiToken, token) = (known, user)
    case nil: apiToken = nil
    }
    session = WebAuthSession(token: token, rotated: configuration.tokenRotated, refused: configuration.tokenRefused)
    var steps: [any CallStep] = [AsUser(session: session, apiToken: apiToken, instruments: instruments)]
    if let key { steps.append(Signed(with: key, now: now, instruments)) }
    steps.append(Reconnected())
    self.steps = steps
    measured = MeasuredTransport(transport: transport, instruments: instruments, now: now)
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

  /// Posts an object to an operation and decodes the reply.
  ///
  /// - Parameters:
  ///   - database: The operation's database; nil for an operation of a device (reference 5.10).
  ///   - body: Writes the members of the object, in the order of their keys: equal requests have equal bytes, which
  ///     recordings and simulations require.
  package func call<Answer: JSONReadable & Sendable>(
    _ operation: String,
    in database: DatabaseName?,
    as answer: Answer.Type = Answer.self,
    _ body: (inout JSONWriter) -> Void
  ) async throws(WebServicesError) -> Answer {
    try await post(operation, in: database, body).answer(now: configuration.now())
  }

  /// Posts an object to an operation of a database and returns the list that its reply is.
  func list<Element: WireListed>(
    _ operation: String,
    in database: DatabaseName,
    _ body: (inout JSONWriter) -> Void
  ) async throws(WebServicesError) -> [Element] {
    try await call(operation, in: database, as: WirePage.self, body).elements
  }

  /// Gets an operation that takes no body. Only for calls that are never signed, because sources disagree about what a
  /// signature without a body covers (reference 1.5).
  package func get<Answer: JSONReadable & Sendable>(
    _ operation: String,
    in database: DatabaseName,
    as answer: Answer.Type = Answer.self
  ) async throws(WebServicesError) -> Answer {
    try await exchange("GET", operation, in: database).answer(now: configuration.now())
  }

  /// Fetches the URL of the sign-in page, with an anonymous request that only a user may make (reference 1.4).
  package func signInPage() async throws(WebServicesError) -> String {
    let response = try await exchange("GET", "users/caller", in: .public, isAnonymous: true)
    let failure = WebServicesError(refusal: response, now: configuration.now())
    guard let page = failure.redirectURL else { throw failure }
    return page
  }

  /// Returns a transport to another server that a reply names.
  package func transport(to origin: URL, timeout: Duration) -> any CKTransport {
    transport.transport(to: origin, timeout: timeout)
  }

  /// Posts an object to an operation, of a device if the database is nil, and returns the reply or refusal.
  func post(
    _ operation: String,
    in database: DatabaseName?,
    _ members: (inout JSONWriter) -> Void
  ) async throws(WebServicesError) -> CKTransportResponse {
    let body: Data
    do throws(JSONError) {
      body = try JSONFragment { $0.object(members) }.data
    } catch {
      throw WebServicesError(.badRequest, "the request could not be encoded: \(error)", effect: .notSent)
    }
    return try await exchange("POST", operation, in: database, body)
  }

  private func exchange(
    _ method: String,
    _ operation: String,
    in database: DatabaseName?,
    _ body: Data = Data(),
    isAnonymous: Bool = false
  ) async throws(WebServicesError) -> CKTransportResponse {
    let part = database.map { "database/1/\(containerPath)/\($0.rawValue)" } ?? "device/1/\(containerPath)"
    let headers = [CKHTTPHeader("Content-Type", "application/json"), CKHTTPHeader("Accept", "application/json")]
    var request = CKTransportRequest(method: method, path: "/\(part)/\(operation)", headers: headers, body: body)
    request.timeout = Self.timeout
    return try await steps[...].send(Call(request: request, isAnonymous: isAnonymous), over: measured)
  }
}
