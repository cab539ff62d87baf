extension WebServicesClient {
  private struct SharesBody: Encodable, Sendable {
    struct ShortGUID: Encodable, Sendable {
      var value: String
      var shouldFetchRootRecord: Bool
      var rootRecordDesiredKeys: [String]?
    }

    var shortGUIDs: [ShortGUID]
  }

  private struct SharesAnswer: Decodable, Sendable {
    var results: [WireShareResult]
  }

  /// Fetches shares by their short GUIDs without changing anything.
  package func resolveShares(
    _ shortGUIDs: [String],
    shouldFetchRootRecord: Bool,
    rootRecordDesiredKeys: [String]?
  ) async throws(WebServicesError) -> [WireShareResult] {
    let body = SharesBody(
      shortGUIDs: shortGUIDs.map {
        .init(
          value: $0,
          shouldFetchRootRecord: shouldFetchRootRecord,
          rootRecordDesiredKeys: rootRecordDesiredKeys
        )
      }
    )
    return try await call("records/resolve", in: .public, body, as: SharesAnswer.self).results
  }

  /// Accepts shares as the current user. Their zones then appear in the shared database.
  package func acceptShares(_ shortGUIDs: [String]) async throws(WebServicesError) -> [WireShareResult] {
    let body = SharesBody(shortGUIDs: shortGUIDs.map { .init(value: $0, shouldFetchRootRecord: false) })
    return try await call("records/accept", in: .public, body, as: SharesAnswer.self).results
  }
}
