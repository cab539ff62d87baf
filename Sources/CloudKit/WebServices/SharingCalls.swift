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

  /// Reads shares by their short GUIDs; changes nothing.
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

  /// Makes the caller take part in shares; afterwards their zones are in the shared database.
  package func acceptShares(_ shortGUIDs: [String]) async throws(WebServicesError) -> [WireShareResult] {
    let body = SharesBody(shortGUIDs: shortGUIDs.map { .init(value: $0, shouldFetchRootRecord: false) })
    return try await call("records/accept", in: .public, body, as: SharesAnswer.self).results
  }
}
