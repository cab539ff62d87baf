/// An operation that finds users who agreed to be found. Add it to a container.
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
  private struct Parameters {
    var lookupInfos: [CKUserIdentity.LookupInfo]?
  }

  private struct Blocks {
    var discovered: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
    var completion: (((any Error)?) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

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
    await conclude(blocks) { [self] blocks in
      let found = (try? answer.get()) ?? [:]
      for info in infos {
        if let user = found[info] { blocks.discovered?(user, info) }
      }
      let outcome = outcome(answer, itemErrors: [:])
      blocks.result?(outcome)
      blocks.completion?(outcome.failure)
    }
  }
}

// MARK: - Parameters and callbacks

extension CKDiscoverUserIdentitiesOperation {
  /// The users to find. Duplicates are searched once.
  public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]? {
    get { parameters.lookupInfos }
    set { parameters.lookupInfos = newValue }
  }

  /// Called for each user found. It is not an error if a user is not found.
  public var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)? {
    get { blocks.discovered }
    set { blocks.discovered = newValue }
  }

  /// Called once, when all work is done.
  public var discoverUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `discoverUserIdentitiesResultBlock`.
  public var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
