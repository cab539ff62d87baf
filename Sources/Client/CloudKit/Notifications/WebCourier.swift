internal import Foundation

/// Receives pushes from CloudKit's web courier.
struct WebCourier: Sendable {
  /// The address where the pushes of one token are received.
  struct PushChannel: Sendable {
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
  func open() async throws(CKError) -> PushChannel {
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
    return PushChannel(
      transport: transport,
      path: parts?.percentEncodedPath ?? "/",
      query: parts?.percentEncodedQuery ?? "",
      ends: now() + .seconds(min(max(ttl, 1), Self.lifetime))
    )
  }

  /// Waits for a push.
  ///
  /// - Returns: The push's JSON; nil for a keep-alive.
  /// - Throws: `CKError.networkFailure` if the courier cannot be reached or is busy; `serviceUnavailable` if it refuses
  ///   the token.
  func collect(from channel: PushChannel) async throws(CKError) -> Data? {
    let answer: CKTransportResponse
    do throws(CKTransportError) {
      answer = try await channel.transport.send(
        CKTransportRequest(method: "GET", path: channel.path, query: channel.query)
      )
    } catch {
      throw CKError(.networkFailure, error.message)
    }
    guard (200..<300).contains(answer.status) else {
      let wait = answer.retryAfter(now: Date()).map { [CKErrorRetryAfterKey: $0] }
      // A server that is busy has not refused the token.
      let isBusy = answer.status >= 500 || answer.status == 429
      throw CKError(
        isBusy ? .networkFailure : .serviceUnavailable,
        "The web courier answered with HTTP \(answer.status).",
        adding: wait ?? [:]
      )
    }
    return answer.body.isEmpty ? nil : answer.body
  }

  /// Waits. Returns false if the task was cancelled in the meantime.
  func wait(_ duration: Duration) async -> Bool { (try? await sleep(duration)) != nil }
}
