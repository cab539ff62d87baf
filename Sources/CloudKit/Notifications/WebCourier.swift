internal import Foundation

/// Collects pushes from CloudKit's web courier.
struct WebCourier: Sendable {
  /// Where the pushes of one token are collected.
  struct Box: Sendable {
    let transport: any CKTransport
    let path: String
    let query: String
    /// When the token is no longer good.
    let ends: ContinuousClock.Instant
  }

  let container: CKContainer
  let now: @Sendable () -> ContinuousClock.Instant
  let sleep: @Sendable (Duration) async throws -> Void

  init(
    _ container: CKContainer,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    self.container = container
    self.now = now
    self.sleep = sleep
  }

  /// The longest that one request hangs. Keep-alives come sooner; a connection that died without a word is given up then.
  private static let longestPoll = Duration.seconds(600)
  /// How long a token is good where its URL does not say (reference 4).
  private static let lifetime = 43_200.0

  /// Makes a push token.
  func open() async throws(CKError) -> Box {
    let (token, transport) = try await container.perform(.read) { client throws(WebServicesError) in
      let token = try await client.createToken(apnsEnvironment: client.configuration.environment)
      guard let origin = URL(string: token.webcourierURL)?.origin else {
        throw WebServicesError(.unexpectedServerResponse, "the web courier's address is no URL", effect: .unknown)
      }
      return (token, client.transport(to: origin, timeout: Self.longestPoll))
    }
    let parts = URLComponents(string: token.webcourierURL)
    let ttl = parts?.queryItems?.first { $0.name == "ttl" }?.value.flatMap(Double.init) ?? Self.lifetime
    return Box(
      transport: transport,
      path: parts?.percentEncodedPath ?? "/",
      query: parts?.percentEncodedQuery ?? "",
      ends: now() + .seconds(min(max(ttl, 1), Self.lifetime))
    )
  }

  /// Waits for a push.
  ///
  /// - Returns: Its JSON; nil for a keep-alive.
  func collect(from box: Box) async throws(CKError) -> Data? {
    do throws(CKTransportError) {
      let answer = try await box.transport.send(CKTransportRequest(method: "GET", path: box.path, query: box.query))
      guard (200..<300).contains(answer.status) else {
        throw CKTransportError(.unknown, "The web courier answered with HTTP \(answer.status).")
      }
      return answer.body.isEmpty ? nil : answer.body
    } catch {
      throw CKError(.networkFailure, error.message)
    }
  }

  /// Waits; false when the task was cancelled meanwhile.
  func wait(_ duration: Duration) async -> Bool { (try? await sleep(duration)) != nil }
}

extension URL {
  /// Scheme, host and port alone; nil where one of the first two is missing or is not the web's.
  var origin: URL? {
    guard let scheme = scheme?.lowercased(), ["http", "https"].contains(scheme), let host = host(), !host.isEmpty else {
      return nil
    }
    return URL(string: "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")")
  }
}
