extension WebServicesClient {
  /// The maximum time for a request of the current task; nil leaves it to the transport.
  @TaskLocal static var timeout: Duration?

  /// Makes a request with a maximum time.
  package static func withTimeout<Answer: Sendable>(
    _ timeout: Duration?,
    _ client: WebServicesClient,
    _ request: (WebServicesClient) async throws(WebServicesError) -> Answer
  ) async throws(WebServicesError) -> Answer {
    // `withValue` does not preserve the error type.
    let result = await $timeout.withValue(timeout) { () async -> Result<Answer, WebServicesError> in
      do throws(WebServicesError) {
        return .success(try await request(client))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

/// Returns the result of a call; nil if it has not returned at a time, when it is cancelled.
func finished<Value: Sendable>(
  by end: ContinuousClock.Instant,
  _ call: @escaping @Sendable () async -> Value
) async -> Value? {
  await withTaskGroup(of: Value?.self) { group in
    group.addTask { await call() }
    group.addTask {
      try? await Task.sleep(until: end, clock: .continuous)
      return nil
    }
    defer { group.cancelAll() }
    return await group.next() ?? nil
  }
}
