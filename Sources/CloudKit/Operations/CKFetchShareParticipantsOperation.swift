/// Makes people to be added to shares out of what is known of them. Add it to a container.
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

  /// Makes an operation that makes nobody until `userIdentityLookupInfos` is set.
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

// MARK: - Whom to make, and whom to tell

extension CKFetchShareParticipantsOperation {
  /// The people to make; naming one twice makes them once.
  public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]? {
    get { parameters.lookupInfos }
    set { parameters.lookupInfos = newValue }
  }

  /// Called for each of the people with a participant, or with why there is none.
  public var perShareParticipantResultBlock:
    ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
  {
    get { blocks.perParticipantResult }
    set { blocks.perParticipantResult = newValue }
  }

  /// The older form of `perShareParticipantResultBlock`, for participants that were made.
  public var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? {
    get { blocks.fetched }
    set { blocks.fetched = newValue }
  }

  /// Called when all is done.
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
