import JSONText

extension WebServicesClient {
  /// Fetches shares by their short GUIDs without changing anything.
  package func resolveShares(
    _ shortGUIDs: [String],
    shouldFetchRootRecord: Bool,
    rootRecordDesiredKeys: [String]?
  ) async throws(WebServicesError) -> [WireResult<WireShareInformation>] {
    try await shares("resolve", shortGUIDs, shouldFetchRootRecord, rootRecordDesiredKeys)
  }

  /// Accepts shares as the current user. Their zones then appear in the shared database.
  package func acceptShares(
    _ shortGUIDs: [String]
  ) async throws(WebServicesError) -> [WireResult<WireShareInformation>] {
    try await shares("accept", shortGUIDs, false, nil)
  }

  private func shares(
    _ operation: String,
    _ shortGUIDs: [String],
    _ shouldFetchRootRecord: Bool,
    _ rootRecordDesiredKeys: [String]?
  ) async throws(WebServicesError) -> [WireResult<WireShareInformation>] {
    let guids = shortGUIDs.map { guid in
      var object: JSONObject = [:]
      object.append("rootRecordDesiredKeys", rootRecordDesiredKeys.map { .array($0.map(JSON.string)) })
      object.append("shouldFetchRootRecord", .bool(shouldFetchRootRecord))
      object.append("value", .string(guid))
      return JSON.object(object)
    }
    return try await list("records/\(operation)", in: .public) { $0.member("shortGUIDs", guids) }
  }
}
