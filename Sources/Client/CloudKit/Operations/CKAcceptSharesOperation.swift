/// An operation that accepts shares. Add it to the container of the shares.
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
  /// The metadata of the shares to accept. Duplicates are accepted once.
  @CKParameter public var shareMetadatas: [CKShare.Metadata]?

  /// Called for each share with it, or with an error.
  @CKCallback public var perShareResultBlock: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)?

  /// The older form of `perShareResultBlock`.
  @CKCallback public var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)?

  /// Called once, when all work is done. A partial failure has the errors of the failed shares, keyed by their URLs.
  @CKCallback public var acceptSharesResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `acceptSharesResultBlock`.
  @CKCallback public var acceptSharesCompletionBlock: (((any Error)?) -> Void)?

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
    await call { [self] in
      // Apple's partial failures identify shares by their URLs.
      var errors: [AnyHashable: any Error] = [:]
      for (metadata, result) in items.elements {
        errors[metadata.share.url.map { AnyHashable($0) } ?? AnyHashable(metadata)] = result.failure
        if let perShareResultBlock {
          perShareResultBlock(metadata, result)
        } else {
          perShareCompletionBlock?(metadata, try? result.get(), result.failure)
        }
      }
      let outcome = outcome(answer, itemErrors: errors)
      acceptSharesResultBlock?(outcome)
      acceptSharesCompletionBlock?(outcome.failure)
    }
  }
}
