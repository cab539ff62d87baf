/// Takes part in shares. Add it to the container that the shares are in.
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
  private struct Parameters {
    var shareMetadatas: [CKShare.Metadata]?
  }

  private struct Blocks {
    var perShare: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)?
    var perShareResult: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)?
    var completion: (((any Error)?) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

  /// Makes an operation that accepts nothing until `shareMetadatas` is set.
  public override init() {}

  /// Makes an operation that takes part in shares.
  public convenience init(shareMetadatas: [CKShare.Metadata]) {
    self.init()
    self.shareMetadatas = shareMetadatas
  }

  override func run() async {
    let metadatas = shareMetadatas?.withoutRepetition ?? []
    let container = beginInContainer()
    let answer = await attempt { try await container.accept(metadatas) }
    let items = ItemResults(of: metadatas, in: answer)
    await conclude(blocks) { [self] blocks in
      // Apple names the failed ones by their URLs.
      var errors: [AnyHashable: any Error] = [:]
      for (metadata, result) in items.elements {
        errors[metadata.share.url.map { AnyHashable($0) } ?? AnyHashable(metadata)] = result.failure
        if let perShareResult = blocks.perShareResult {
          perShareResult(metadata, result)
        } else {
          blocks.perShare?(metadata, try? result.get(), result.failure)
        }
      }
      let outcome = outcome(answer, itemErrors: errors)
      blocks.result?(outcome)
      blocks.completion?(outcome.failure)
    }
  }
}

// MARK: - What to accept, and whom to tell

extension CKAcceptSharesOperation {
  /// The shares to take part in.
  public var shareMetadatas: [CKShare.Metadata]? {
    get { parameters.shareMetadatas }
    set { parameters.shareMetadatas = newValue }
  }

  /// Called for each share with it, or with why it was not accepted.
  public var perShareResultBlock: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)? {
    get { blocks.perShareResult }
    set { blocks.perShareResult = newValue }
  }

  /// The older form of `perShareResultBlock`.
  public var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)? {
    get { blocks.perShare }
    set { blocks.perShare = newValue }
  }

  /// Called when all is done. Shares that failed are named by their URLs in a partial failure.
  public var acceptSharesResultBlock: ((Result<Void, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `acceptSharesResultBlock`.
  public var acceptSharesCompletionBlock: (((any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
