internal import Foundation

/// Receives pushes from CloudKit's web courier.
struct WebCourier: Sendable {
  /// The address where the pushes of one token are received.
  struct Box: Sendable {
    let transport: any CKTransport
    let path: String
    let query: String
    /// The time when the token expires.
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

  /// The timeout of one long-polling request. Keep-alives arrive sooner; a connection that died silently is dropped
  /// after this.
  private static let longestPoll = Duration.seconds(600)
  /// The default and maximum lifetime of a token, in seconds (reference 4).
  private static let lifetime = 43_200.0

  /// Creates a push token.
  func open() async throws(CKError) -> Box {
    let (token, transport) = try await container.perform(.read) { client throws(WebServicesError) in
      let token = try await client.createToken(apnsEnvironment: client.configuration.environment)
      guard let origin = URL(string: token.webcourierURL)?.origin else {
        throw WebServicesError(
          .unexpectedServerResponse,
          "the web courier's address is not a valid URL",
          effect: .unknown
        )
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
  /// - Returns: The push's JSON; nil for a keep-alive.
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

  /// Waits. Returns false if the task was cancelled in the meantime.
  func wait(_ duration: Duration) async -> Bool { (try? await sleep(duration)) != nil }
}

extension URL {
  /// The URL's scheme, host and port; nil if it has no host or is not an HTTP or HTTPS URL.
  var origin: URL? {
    guard let scheme = scheme?.lowercased(), ["http", "https"].contains(scheme), let host = host(), !host.isEmpty else {
      return nil
    }
    return URL(string: "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")")
  }
}
