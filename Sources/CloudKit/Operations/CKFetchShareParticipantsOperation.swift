/// An operation that makes share participants from lookup information. Add it to a container.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
  private struct Parameters {
    var lookupInfos: [CKUserIdentity.LookupInfo]?
  }

  private struct Blocks {
    var fetched: ((CKShare.Participant) -> Void)?
    var perParticipantResult: ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
    var completion: (((any Error)?) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

  /// Makes an empty operation. Set `userIdentityLookupInfos` before you add it.
  public override init() {}

  /// Makes an operation that makes participants.
  public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
    self.init()
    self.userIdentityLookupInfos = userIdentityLookupInfos
  }

  override func run() async {
    let infos = userIdentityLookupInfos?.withoutRepetition ?? []
    let container = beginInContainer()
    let answer = await attempt { try await container.shareParticipants(for: infos) }
    let items = ItemResults(of: infos, in: answer)
    await conclude(blocks) { [self] blocks in
      for (info, result) in items.elements {
        if let perParticipantResult = blocks.perParticipantResult {
          perParticipantResult(info, result)
        } else if case .success(let participant) = result {
          blocks.fetched?(participant)
        }
      }
      let outcome = outcome(answer, itemErrors: items.errors)
      blocks.result?(outcome)
      blocks.completion?(outcome.failure)
    }
  }
}

// MARK: - Parameters and callbacks

extension CKFetchShareParticipantsOperation {
  /// The lookup information of the participants. Duplicates are looked up once.
  public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]? {
    get { parameters.lookupInfos }
    set { parameters.lookupInfos = newValue }
  }

  /// Called for each lookup with a participant, or with an error.
  public var perShareParticipantResultBlock:
    ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
  {
    get { blocks.perParticipantResult }
    set { blocks.perParticipantResult = newValue }
  }

  /// The older form of `perShareParticipantResultBlock`, for successful lookups.
  public var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? {
    get { blocks.fetched }
    set { blocks.fetched = newValue }
  }

  /// Called once, when all work is done.
  public var fetchShareParticipantsResultBlock: ((Result<Void, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `fetchShareParticipantsResultBlock`.
  public var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
