extension WebServicesClient {
  /// The longest that a request of the present task may take; nil leaves it to the transport.
  @TaskLocal static var timeout: Duration?

  /// Makes a request that may take so long at most.
  static func withTimeout<Answer: Sendable>(
    _ timeout: Duration?,
    _ client: WebServicesClient,
    _ request: (WebServicesClient) async throws(WebServicesError) -> Answer
  ) async throws(WebServicesError) -> Answer {
    // `withValue` forgets which error is thrown.
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
