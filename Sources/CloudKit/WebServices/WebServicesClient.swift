import Foundation
import Synchronization

/// Which of a container's three databases; spelt as in the URL.
package enum DatabaseName: String, Hashable, Sendable, CaseIterable, Codable {
  case `public`, `private`, shared
}

/// Carries typed calls to one container: encodes once, signs those bytes, sends, decodes, and turns every way to fail
/// into one `WebServicesError`.
///
/// It does not retry, with one exception that costs nothing: a server-to-server request refused with 401 is signed
/// again once by the server's own clock, since a skewed clock cannot be told from a wrong key (reference 7.10).
package final class WebServicesClient: Sendable {
  /// What a client talks to and as whom.
  package struct Configuration: Sendable {
    package var container: String
    package var environment: String
    package var credential: CKCredential?
    package var now: @Sendable () -> Date
    /// Called with each replacement of the web-auth token, before the answer it came with is returned.
    package var tokenRotated: @Sendable (String) -> Void
    package var instruments: Instruments

    package init(
      container: String,
      environment: String,
      credential: CKCredential?,
      now: @escaping @Sendable () -> Date = { Date() },
      tokenRotated: @escaping @Sendable (String) -> Void = { _ in },
      instruments: Instruments = Instruments(Instruments.silent)
    ) {
      self.container = container
      self.environment = environment
      self.credential = credential
      self.now = now
      self.tokenRotated = tokenRotated
      self.instruments = instruments
    }
  }

  package let configuration: Configuration
  private let transport: any CKTransport
  private let session: Mutex<Session>

  private struct Session {
    var webAuthToken: String?
    /// Seconds to add to our clock, learnt from a refused signature.
    var clockOffset: TimeInterval = 0
  }

  package init(_ configuration: Configuration, transport: any CKTransport) {
    self.configuration = configuration
    self.transport = transport
    var session = Session()
    if case .webAuth(_, let token) = configuration.credential { session.webAuthToken = token }
    self.session = Mutex(session)
  }

  /// Posts a body to an operation of a database and decodes the answer.
  package func call<Answer: Decodable & Sendable>(
    _ operation: String,
    in database: DatabaseName,
    _ body: some Encodable & Sendable,
    as answer: Answer.Type = Answer.self
  ) async throws(WebServicesError) -> Answer {
    try Self.decode(try await post(path(of: operation, in: database), body))
  }

  /// Posts a body to an operation that belongs to a device and to no database (reference 5.10), and decodes the answer.
  package func callDevice<Answer: Decodable & Sendable>(
    _ operation: String,
    _ body: some Encodable & Sendable,
    as answer: Answer.Type = Answer.self
  ) async throws(WebServicesError) -> Answer {
    try Self.decode(try await post(devicePath(of: operation), body))
  }

  /// Posts a body to an operation that belongs to a device and answers with nothing that is documented.
  package func sendDevice(_ operation: String, _ body: some Encodable & Sendable) async throws(WebServicesError) {
    let response = try await post(devicePath(of: operation), body)
    guard (200..<300).contains(response.status) else { throw Self.refusal(response) }
  }

  private func post(
    _ path: String,
    _ body: some Encodable & Sendable
  ) async throws(WebServicesError) -> CKTransportResponse {
    let data: Data
    do {
      data = try Self.encode(body)
    } catch {
      throw WebServicesError(.badRequest, "the request could not be encoded: \(error)", effect: .notSent)
    }
    return try await exchange("POST", path, data)
  }

  /// Gets an operation that takes no body. Only for calls that are never signed, since sources disagree about what a
  /// signature covers where there is no body (reference 1.5).
  package func get<Answer: Decodable & Sendable>(
    _ operation: String,
    in database: DatabaseName,
    as answer: Answer.Type = Answer.self
  ) async throws(WebServicesError) -> Answer {
    try Self.decode(try await exchange("GET", path(of: operation, in: database), Data()))
  }

  private func path(of operation: String, in database: DatabaseName) -> String {
    "/database/1/\(Self.segment(configuration.container))/\(configuration.environment)/\(database.rawValue)/\(operation)"
  }

  private func devicePath(of operation: String) -> String {
    "/device/1/\(Self.segment(configuration.container))/\(configuration.environment)/\(operation)"
  }

  /// A transport to another server that an answer names.
  func transport(to origin: URL, timeout: Duration) -> any CKTransport {
    transport.transport(to: origin, timeout: timeout)
  }

  // MARK: - One exchange

  private func exchange(
    _ method: String,
    _ path: String,
    _ body: Data
  ) async throws(WebServicesError) -> CKTransportResponse {
    let first = try await send(method, path, body)
    guard first.status == 401, case .serverToServerKey = configuration.credential,
      let offset = clockOffset(from: first), abs(offset) > 60
    else { return first }
    session.withLock { $0.clockOffset = offset }
    configuration.instruments.signedAgain(offset: offset)
    return try await send(method, path, body)
  }

  private func send(
    _ method: String,
    _ path: String,
    _ body: Data
  ) async throws(WebServicesError) -> CKTransportResponse {
    var request = CKTransportRequest(method: method, path: path, body: body)
    request.headers = [CKHTTPHeader("Content-Type", "application/json"), CKHTTPHeader("Accept", "application/json")]
    request.timeout = Self.timeout
    let session = session.withLock { $0 }
    switch configuration.credential {
    case .serverToServerKey(let key):
      let date = configuration.now().addingTimeInterval(session.clockOffset)
      do {
        request.headers += try key.signatureHeaders(body: body, path: path, date: date)
      } catch {
        throw WebServicesError(.authenticationFailed, "the request could not be signed: \(error)", effect: .notSent)
      }
    case .apiToken(let token):
      request.query = CKCredential.query(apiToken: token, webAuthToken: nil)
    case .webAuth(let apiToken, let token):
      request.query = CKCredential.query(apiToken: apiToken, webAuthToken: session.webAuthToken ?? token)
    case nil:
      break
    }
    let exchange = Instruments.Exchange(path: path, sent: body.count)
    do {
      let response = try await transport.send(request)
      adoptToken(from: response)
      configuration.instruments.answered(exchange, with: response) { Self.refusal(response) }
      return response
    } catch {
      configuration.instruments.failed(exchange, error)
      var failure = WebServicesError(.networkError, error.message)
      failure.effect = error.delivery == .notSent ? .notSent : .unknown
      throw failure
    }
  }

  /// The newest token is taken from every answer, errors included (reference 1.4).
  private func adoptToken(from response: CKTransportResponse) {
    guard case .webAuth = configuration.credential,
      let token = response.header("X-Apple-CloudKit-Web-Auth-Token") ?? response.header("X-Apple-CloudKit-Session"),
      !token.isEmpty
    else { return }
    let changed = session.withLock { session in
      defer { session.webAuthToken = token }
      return session.webAuthToken != token
    }
    if changed {
      configuration.tokenRotated(token)
      configuration.instruments.adoptedToken()
    }
  }

  private func clockOffset(from response: CKTransportResponse) -> TimeInterval? {
    guard let header = response.header("Date") else { return nil }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    return formatter.date(from: header)?.timeIntervalSince(configuration.now())
  }

  // MARK: - JSON

  private static func encode(_ body: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    // Sorted keys make equal requests equal bytes, which recordings and simulations rely on.
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(body)
  }

  private static func decode<Answer: Decodable>(_ response: CKTransportResponse) throws(WebServicesError) -> Answer {
    guard (200..<300).contains(response.status) else { throw refusal(response) }
    do {
      return try JSONDecoder().decode(Answer.self, from: response.body)
    } catch {
      var failure = WebServicesError(
        .unexpectedServerResponse,
        "the answer is not CloudKit's: \(response.body.count) bytes that do not decode",
        effect: .unknown,
        httpStatus: response.status
      )
      failure.response = excerpt(response.body)
      throw failure
    }
  }

  private static func refusal(_ response: CKTransportResponse) -> WebServicesError {
    var failure: WebServicesError
    if let item = try? JSONDecoder().decode(WireItemError.self, from: response.body) {
      failure = item.error
    } else {
      failure = envelopeless(response)
    }
    failure.httpStatus = response.status
    failure.response = excerpt(response.body)
    if failure.retryAfter == nil { failure.retryAfter = response.header("Retry-After").flatMap(Double.init) }
    return failure
  }

  /// What an answer without the protocol's envelope means: it comes from something between us and CloudKit
  /// (reference 6.1).
  private static func envelopeless(_ response: CKTransportResponse) -> WebServicesError {
    let status = response.status
    switch status {
    case 401: return WebServicesError(.authenticationFailed, "refused with HTTP 401")
    case 403: return WebServicesError(.accessDenied, "refused with HTTP 403")
    case 404: return WebServicesError(.notFound, "nothing answers at this URL (HTTP 404)")
    case 413: return WebServicesError(.limitExceeded, "the request is too large for the server (HTTP 413)")
    case 421: return WebServicesError(.tryAgainLater, "misdirected connection (HTTP 421)")
    case 429: return WebServicesError(.throttled, "too many requests (HTTP 429)")
    case 502, 503, 504:
      // A gateway may answer after the server behind it has committed.
      return WebServicesError(.tryAgainLater, "the service is not reachable (HTTP \(status))", effect: .unknown)
    case 500...: return WebServicesError(.internalError, "the server failed (HTTP \(status))", effect: .unknown)
    default: return WebServicesError(.badRequest, "refused with HTTP \(status)")
    }
  }

  private static func excerpt(_ body: Data) -> String {
    String(decoding: body.prefix(4096), as: UTF8.self)
  }

  private static func segment(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-._~"))) ?? text
  }
}
