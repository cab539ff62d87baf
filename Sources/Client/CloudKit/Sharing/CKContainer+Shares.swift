public import Foundation

extension CKContainer {
  /// Returns the metadata of a share by its URL, without accepting it.
  ///
  /// - Throws: `CKError.unknownItem` if there is no such share; `participantMayNeedVerification` if the user may be one
  ///   of several invited people and must open the URL to verify which.
  public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
    try await shareMetadatas(for: [url]).item(url, in: .read)
  }

  /// Returns the metadata of shares by their URLs, each with its own result.
  public func shareMetadatas(for urls: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
    try await shareMetadatas(for: urls, shouldFetchRootRecord: false, rootRecordDesiredKeys: nil)
  }

  /// Returns the metadata of shares with their root records.
  ///
  /// - Parameter rootRecordDesiredKeys: The fields of the root records to fetch; nil fetches all.
  func shareMetadatas(
    for urls: [URL],
    shouldFetchRootRecord: Bool,
    rootRecordDesiredKeys: [CKRecord.FieldKey]?
  ) async throws(CKError) -> [URL: Result<CKShare.Metadata, any Error>] {
    let found = try await shares(urls.compactMap(\.shareGUID), .read) { client, guids throws(WebServicesError) in
      try await client.resolveShares(
        guids,
        shouldFetchRootRecord: shouldFetchRootRecord,
        rootRecordDesiredKeys: rootRecordDesiredKeys
      )
    }
    var results: [URL: Result<CKShare.Metadata, any Error>] = [:]
    for url in urls {
      results[url] =
        url.shareGUID.flatMap { found[$0] } ?? .failure(CKError.invalidArguments("Not the URL of a share."))
    }
    return results
  }

  /// Accepts a share. Its zone then appears in the shared database.
  ///
  /// - Returns: The share, which the user has accepted.
  /// - Throws: `CKError.badContainer` for a share of another container; another error if the share could not be
  ///   accepted.
  @discardableResult
  public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
    try await accept([metadata]).item(metadata, in: .write)
  }

  /// Accepts shares, each with its own result.
  ///
  /// They are accepted in requests of 200. If a later request than the first fails, its shares and those after it have
  /// its error.
  ///
  /// - Throws: `CKError` if the first request failed.
  @discardableResult
  public func accept(
    _ metadatas: [CKShare.Metadata]
  ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
    let own = metadatas.filter { $0.containerIdentifier == containerIdentifier }
    let found = try await shares(own.map(\.shortGUID), .write) { client, guids throws(WebServicesError) in
      try await client.acceptShares(guids)
    }
    var results: [CKShare.Metadata: Result<CKShare, any Error>] = [:]
    for metadata in metadatas {
      results[metadata] =
        metadata.containerIdentifier == containerIdentifier
        ? found[metadata.shortGUID]?.map(\.share)
        : .failure(CKError(.badContainer, "The share belongs to the container \(metadata.containerIdentifier)."))
    }
    return results
  }

  /// Requests shares, each once, and returns their metadata by short GUID.
  ///
  /// - Throws: The error of the first request. A later one does not hide what the requests before it did.
  private func shares(
    _ shortGUIDs: [String],
    _ context: FailureContext,
    _ ask: (WebServicesClient, [String]) async throws(WebServicesError) -> [WireResult<WireShareInformation>]
  ) async throws(CKError) -> [String: Result<CKShare.Metadata, any Error>] {
    let guids = shortGUIDs.withoutRepetition
    let container = containerIdentifier ?? ""
    let found = try await publicCloudDatabase.results(of: guids, id: \.self, context, keepsResults: true, ask)
    let metadatas = zip(guids, found).map { guid, result in
      (guid, result.flatMap { CKShareMetadata.metadata(guid, $0, containerIdentifier: container) })
    }
    return Dictionary(uniqueKeysWithValues: metadatas)
  }
}

extension CKShareMetadata {
  fileprivate static func metadata(
    _ shortGUID: String,
    _ information: WireShareInformation?,
    containerIdentifier: String
  ) -> Result<CKShare.Metadata, any Error> {
    guard let information, let share = information.share else {
      let reason = "Open the share's URL in a browser to verify which invited person you are."
      return .failure(CKError(.participantMayNeedVerification, reason))
    }
    let container = containerIdentifier
    return .success(CKShareMetadata(share, shortGUID: shortGUID, wire: information, containerIdentifier: container))
  }
}
