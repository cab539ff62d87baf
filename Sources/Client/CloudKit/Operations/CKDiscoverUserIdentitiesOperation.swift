/// An operation that finds users who agreed to be found. Add it to a container.
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
  /// The users to find. Duplicates are searched once.
  @CKParameter public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]?

  /// Called for each user found. It is not an error if a user is not found.
  @CKCallback public var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?

  /// Called once, when all work is done.
  @CKCallback public var discoverUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `discoverUserIdentitiesResultBlock`.
  @CKCallback public var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

  /// Makes an empty operation. Set `userIdentityLookupInfos` before you add it.
  public override init() {}

  /// Makes an operation that finds users.
  public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
    self.init()
    self.userIdentityLookupInfos = userIdentityLookupInfos
  }

  override func run() async {
    let infos = userIdentityLookupInfos?.withoutRepetition ?? []
    let container = beginInContainer()
    let answer = await attempt { try await container.identities(for: infos) }
    await call { [self] in
      let found = (try? answer.get()) ?? [:]
      for info in infos {
        if let user = found[info] { userIdentityDiscoveredBlock?(user, info) }
      }
      let outcome = outcome(answer, itemErrors: [:])
      discoverUserIdentitiesResultBlock?(outcome)
      discoverUserIdentitiesCompletionBlock?(outcome.failure)
    }
  }
}
