public import Foundation

extension CKContainer {
  /// What is known of a share by its URL. Changes nothing.
  ///
  /// - Throws: `CKError.unknownItem` where there is no such share, `participantMayNeedVerification` where the user may be
  ///   one of several who were invited and has to open the URL to say which.
  public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
    guard let result = try await shareMetadatas(for: [url])[url] else {
      throw CKError(.internalError, "The answer does not name the share.")
    }
    return try result.get()
  }

  /// What is known of shares by their URLs, each with its own result.
  public func shareMetadatas(for urls: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
    try await shareMetadatas(for: urls, shouldFetchRootRecord: false, rootRecordDesiredKeys: nil)
  }

  /// The same with the records that are shared.
  ///
  /// - Parameter rootRecordDesiredKeys: The fields to read of them; nil reads all.
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
        url.shareGUID.map { found.metadata($0) } ?? .failure(CKError.invalidArguments("Not a share's URL."))
    }
    return results
  }

  /// Takes part in a share. Its zone is in the shared database afterwards.
  ///
  /// - Returns: The share, in which the user has accepted.
  /// - Throws: `CKError.badContainer` for a share of another container; why the share could not be accepted.
  @discardableResult
  public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
    guard let result = try await accept([metadata])[metadata] else {
      throw CKError(.serverResponseLost, "The answer does not name the share.")
    }
    return try result.get()
  }

  /// Takes part in shares, each with its own result.
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
        : .failure(CKError(.badContainer, "The share is one of the container \(metadata.containerIdentifier)."))
    }
    return results
  }

  /// Asks for shares, 200 at a time and each once.
  private func shares(
    _ shortGUIDs: [String],
    _ context: FailureContext,
    _ ask: (WebServicesClient, [String]) async throws(WebServicesError) -> [WireShareResult]
  ) async throws(CKError) -> ShareAnswers {
    var seen: Set<String> = []
    var answers = ShareAnswers(containerIdentifier: containerIdentifier ?? "")
    for chunk in shortGUIDs.filter({ seen.insert($0).inserted }).chunks(of: CKDatabase.largestBatch) {
      let elements = try await perform(context) { client throws(WebServicesError) in
        try await ask(client, Array(chunk))
      }
      for (index, element) in elements.enumerated() {
        // An element that does not say which share it is about is the one at its place.
        let asked = index < chunk.count ? chunk[chunk.startIndex + index] : nil
        if let guid = element.shortGUID.flatMap({ $0.isEmpty ? nil : $0 }) ?? asked { answers.elements[guid] = element }
      }
    }
    return answers
  }
}

/// The elements of answers by the share that they are about.
private struct ShareAnswers {
  let containerIdentifier: String
  var elements: [String: WireShareResult] = [:]

  func metadata(_ shortGUID: String) -> Result<CKShare.Metadata, any Error> {
    switch elements[shortGUID] {
    case .share(var information):
      information.shortGUID = shortGUID
      return .success(CKShareMetadata(wire: information, containerIdentifier: containerIdentifier))
    case .verificationNeeded:
      return .failure(
        CKError(
          .participantMayNeedVerification,
          "Open the share's URL in a browser to say which of the invited you are."
        )
      )
    case .failure(_, let failure): return .failure(CKError(failure, in: .item))
    case nil: return .failure(CKError(.internalError, "The answer does not name the share."))
    }
  }
}
