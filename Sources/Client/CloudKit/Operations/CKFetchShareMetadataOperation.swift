public import Foundation

/// An operation that fetches the metadata of shares by their URLs. It changes nothing on the server. Add it to a
/// container.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
  /// The URLs of the shares. Duplicates are fetched once.
  @CKParameter public var shareURLs: [URL]?

  /// Whether to fetch the root records too; false by default.
  @CKParameter public var shouldFetchRootRecord = false

  /// The fields of the root records to fetch; nil fetches all.
  @CKParameter public var rootRecordDesiredKeys: [CKRecord.FieldKey]?

  /// Called for each URL with the share's metadata, or with an error.
  @CKCallback public var perShareMetadataResultBlock: ((URL, Result<CKShare.Metadata, any Error>) -> Void)?

  /// The older form of `perShareMetadataResultBlock`.
  @CKCallback public var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)?

  /// Called once, when all work is done.
  @CKCallback public var fetchShareMetadataResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `fetchShareMetadataResultBlock`.
  @CKCallback public var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)?

  /// Makes an empty operation. Set `shareURLs` before you add it.
  public override init() {}

  /// Makes an operation that fetches the metadata of shares.
  public convenience init(shareURLs: [URL]) {
    self.init()
    self.shareURLs = shareURLs
  }

  override func run() async {
    let container = beginInContainer()
    let urls = shareURLs?.withoutRepetition ?? []
    let answer = await attempt {
      try await container.shareMetadatas(
        for: urls,
        shouldFetchRootRecord: shouldFetchRootRecord,
        rootRecordDesiredKeys: rootRecordDesiredKeys
      )
    }
    let items = ItemResults(of: urls, in: answer)
    await call { [self] in
      for (url, result) in items.elements {
        if let perShareMetadataResultBlock {
          perShareMetadataResultBlock(url, result)
        } else {
          perShareMetadataBlock?(url, try? result.get(), result.failure)
        }
      }
      let outcome = outcome(answer, itemErrors: items.errors)
      fetchShareMetadataResultBlock?(outcome)
      fetchShareMetadataCompletionBlock?(outcome.failure)
    }
  }
}
