public import Foundation

/// An operation that fetches the metadata of shares by their URLs. It changes nothing on the server. Add it to a
/// container.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
  private struct Parameters {
    var shareURLs: [URL]?
    var shouldFetchRootRecord = false
    var rootRecordDesiredKeys: [CKRecord.FieldKey]?
  }

  private struct Blocks {
    var perShare: ((URL, CKShare.Metadata?, (any Error)?) -> Void)?
    var perShareResult: ((URL, Result<CKShare.Metadata, any Error>) -> Void)?
    var completion: (((any Error)?) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

  /// Makes an empty operation. Set `shareURLs` before you add it.
  public override init() {}

  /// Makes an operation that fetches the metadata of shares.
  public convenience init(shareURLs: [URL]) {
    self.init()
    self.shareURLs = shareURLs
  }

  override func run() async {
    let parameters = parameters.value
    let container = beginInContainer()
    let urls = parameters.shareURLs?.withoutRepetition ?? []
    let answer = await attempt {
      try await container.shareMetadatas(
        for: urls,
        shouldFetchRootRecord: parameters.shouldFetchRootRecord,
        rootRecordDesiredKeys: parameters.rootRecordDesiredKeys
      )
    }
    let items = ItemResults(of: urls, in: answer)
    await conclude(blocks) { [self] blocks in
      for (url, result) in items.elements {
        if let perShareResult = blocks.perShareResult {
          perShareResult(url, result)
        } else {
          blocks.perShare?(url, try? result.get(), result.failure)
        }
      }
      let outcome = outcome(answer, itemErrors: items.errors)
      blocks.result?(outcome)
      blocks.completion?(outcome.failure)
    }
  }
}

// MARK: - Parameters and callbacks

extension CKFetchShareMetadataOperation {
  /// The URLs of the shares. Duplicates are fetched once.
  public var shareURLs: [URL]? {
    get { parameters.shareURLs }
    set { parameters.shareURLs = newValue }
  }

  /// Whether to fetch the root records too; false by default.
  public var shouldFetchRootRecord: Bool {
    get { parameters.shouldFetchRootRecord }
    set { parameters.shouldFetchRootRecord = newValue }
  }

  /// The fields of the root records to fetch; nil fetches all.
  public var rootRecordDesiredKeys: [CKRecord.FieldKey]? {
    get { parameters.rootRecordDesiredKeys }
    set { parameters.rootRecordDesiredKeys = newValue }
  }

  /// Called for each URL with the share's metadata, or with an error.
  public var perShareMetadataResultBlock: ((URL, Result<CKShare.Metadata, any Error>) -> Void)? {
    get { blocks.perShareResult }
    set { blocks.perShareResult = newValue }
  }

  /// The older form of `perShareMetadataResultBlock`.
  public var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)? {
    get { blocks.perShare }
    set { blocks.perShare = newValue }
  }

  /// Called once, when all work is done.
  public var fetchShareMetadataResultBlock: ((Result<Void, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `fetchShareMetadataResultBlock`.
  public var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
