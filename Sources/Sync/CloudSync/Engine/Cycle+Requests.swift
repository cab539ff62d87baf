import CloudKit

/// Requests of a sync cycle, and its heartbeat.
extension Cycle {
  /// Runs a request.
  func request<Value: Sendable>(
    _ body: @Sendable (WebServicesClient, DatabaseName) async throws(WebServicesError) -> Value
  ) async throws(WebServicesError) -> Value {
    try await timed(body).0.get()
  }

  /// Runs a request and measures its time.
  ///
  /// The request is only made as the user who was verified as the store's owner. If another user signs in meanwhile,
  /// its reply is discarded.
  func timed<Value: Sendable>(
    _ body: @Sendable (WebServicesClient, DatabaseName) async throws(WebServicesError) -> Value
  ) async -> (Result<Value, WebServicesError>, Double) {
    if isOtherSignIn { return (.failure(.otherSignIn(.notSent)), 0) }
    let start = ContinuousClock.now
    lease.shown.requestBegan(at: store.now())
    defer { lease.shown.requestEnded() }
    let (client, database) = (client, database)
    var result = await Self.result(as: session.authenticatedSignIn) { () async throws(WebServicesError) in
      try await body(client, database)
    }
    if case .success = result, isOtherSignIn { result = .failure(.otherSignIn(.unknown)) }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    return (result, seconds)
  }

  /// Runs a request that is only made while this sign-in holds.
  static func result<Value: Sendable>(
    as signIn: Int?,
    _ body: @Sendable () async throws(WebServicesError) -> Value
  ) async -> Result<Value, WebServicesError> {
    await WebServicesClient.$requiredSignIn.withValue(signIn) {
      do throws(WebServicesError) { return .success(try await body()) } catch { return .failure(error) }
    }
  }

  /// Whether a user signed in or out since the last verification.
  var isOtherSignIn: Bool { session.authenticatedSignIn.map { $0 != client.signIn } ?? false }

  /// Renews the lease until cancelled, and publishes a new activity soon, whatever the sync waits for.
  func beat() -> Task<Void, Never>? {
    guard let pause = configuration.heartbeat else { return nil }
    let (store, lease) = (store, lease)
    return Task.detached {
      var (last, noted) = (ContinuousClock.now, ContinuousClock.now)
      while true {
        try? await Task.sleep(for: min(pause, .milliseconds(250)))
        guard !Task.isCancelled else { return }
        lease.shown.noteSilence(at: store.now())
        guard lease.shown.unpublished != nil || last.duration(to: .now) >= pause else { continue }
        let isLong = noted.duration(to: .now) >= pause
        try? lease.renew(store, notesVerdict: isLong)
        last = .now
        if isLong { noted = last }
      }
    }
  }
}
