/// An operation that makes share participants from lookup information. Add it to a container.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
  /// The lookup information of the participants. Duplicates are looked up once.
  @CKParameter public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]?

  /// Called for each lookup with a participant, or with an error.
  @CKCallback public var perShareParticipantResultBlock:
    ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?

  /// The older form of `perShareParticipantResultBlock`, for successful lookups.
  @CKCallback public var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)?

  /// Called once, when all work is done.
  @CKCallback public var fetchShareParticipantsResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `fetchShareParticipantsResultBlock`.
  @CKCallback public var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)?

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
    await call { [self] in
      for (info, result) in items.elements {
        if let perShareParticipantResultBlock {
          perShareParticipantResultBlock(info, result)
        } else if case .success(let participant) = result {
          shareParticipantFetchedBlock?(participant)
        }
      }
      let outcome = outcome(answer, itemErrors: items.errors)
      fetchShareParticipantsResultBlock?(outcome)
      fetchShareParticipantsCompletionBlock?(outcome.failure)
    }
  }
}
