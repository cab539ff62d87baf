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
        url.shareGUID.map { found.metadata($0) } ?? .failure(CKError.invalidArguments("Not the URL of a share."))
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
  /// They are accepted in requests of 200. If a later request than the first fails, its shares and those after it have its
  /// error.
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
        ? found.metadata(metadata.shortGUID).map(\.share)
        : .failure(CKError(.badContainer, "The share belongs to the container \(metadata.containerIdentifier)."))
    }
    return results
  }

  /// Requests shares, 200 at a time and each once.
  ///
  /// - Throws: The error of the first request. A later one does not hide what the requests before it did.
  private func shares(
    _ shortGUIDs: [String],
    _ context: FailureContext,
    _ ask: (WebServicesClient, [String]) async throws(WebServicesError) -> [WireResult<WireShareInformation>]
  ) async throws(CKError) -> ShareAnswers {
    var answers = ShareAnswers(containerIdentifier: containerIdentifier ?? "")
    for chunk in shortGUIDs.withoutRepetition.chunks(of: CKDatabase.largestBatch) {
      let elements: [WireResult<WireShareInformation>]
      do throws(CKError) {
        elements = try await perform(context) { client throws(WebServicesError) in
          try await ask(client, Array(chunk))
        }
      } catch {
        guard !answers.elements.isEmpty else { throw error }
        answers.failure = error
        break
      }
      for (index, element) in elements.enumerated() {
        // A result that does not name its share belongs to the share at the same index.
        let asked = index < chunk.count ? chunk[chunk.startIndex + index] : nil
        if let guid = element.id ?? asked { answers.elements[guid] = element }
      }
    }
    return answers
  }
}

/// The results of share requests by short GUID.
private struct ShareAnswers {
  let containerIdentifier: String
  var elements: [String: WireResult<WireShareInformation>] = [:]
  /// The error of the request after which no more were sent.
  var failure: CKError?

  func metadata(_ shortGUID: String) -> Result<CKShare.Metadata, any Error> {
    switch elements[shortGUID] {
    case .item(let information):
      if let share = information.share {
        let container = containerIdentifier
        return .success(CKShareMetadata(share, shortGUID: shortGUID, wire: information, containerIdentifier: container))
      }
      return .failure(
        CKError(
          .participantMayNeedVerification,
          "Open the share's URL in a browser to verify which invited person you are."
        )
      )
    case .failure(_, let failure): return .failure(CKError(failure, in: .item))
    case .deleted, nil: return .failure(failure ?? CKError(.internalError, "The reply does not contain the share."))
    }
  }
}
