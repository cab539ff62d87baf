/// An operation that finds the user's contacts who use the app. Add it to a container.
///
/// Apple documents this request, but its servers answer it with HTTP 500, which is reported as an error.
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
  private struct Blocks {
    var discovered: ((CKUserIdentity) -> Void)?
    var completion: (((any Error)?) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
  }

  private let blocks = Locked(Blocks())

  /// Makes an operation.
  public override init() {}

  override func run() async {
    let container = beginInContainer()
    let answer = await attempt { try await container.allUserIdentitiesFromContacts() }
    await conclude(blocks) { [self] blocks in
      for user in (try? answer.get()) ?? [] { blocks.discovered?(user) }
      let outcome = outcome(answer, itemErrors: [:])
      blocks.result?(outcome)
      blocks.completion?(outcome.failure)
    }
  }
}

// MARK: - Callbacks

extension CKDiscoverAllUserIdentitiesOperation {
  /// Called for each user found.
  public var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)? {
    get { blocks.discovered }
    set { blocks.discovered = newValue }
  }

  /// Called once, when all work is done.
  public var discoverAllUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `discoverAllUserIdentitiesResultBlock`.
  public var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
