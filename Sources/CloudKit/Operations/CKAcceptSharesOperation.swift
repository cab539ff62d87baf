/// An operation that accepts shares. Add it to the container of the shares.
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

  /// Makes an empty operation. Set `shareMetadatas` before you add it.
  public override init() {}

  /// Makes an operation that accepts shares.
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
      // Apple's partial failures identify shares by their URLs.
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

// MARK: - Parameters and callbacks

extension CKAcceptSharesOperation {
  /// The metadata of the shares to accept. Duplicates are accepted once.
  public var shareMetadatas: [CKShare.Metadata]? {
    get { parameters.shareMetadatas }
    set { parameters.shareMetadatas = newValue }
  }

  /// Called for each share with it, or with an error.
  public var perShareResultBlock: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)? {
    get { blocks.perShareResult }
    set { blocks.perShareResult = newValue }
  }

  /// The older form of `perShareResultBlock`.
  public var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)? {
    get { blocks.perShare }
    set { blocks.perShare = newValue }
  }

  /// Called once, when all work is done. A partial failure has the errors of the failed shares, keyed by their URLs.
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
