/// An operation that finds the user's contacts who use the app. Add it to a container.
///
/// Apple documents this request, but its servers answer it with HTTP 500, which is reported as an error.
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
  /// Called for each user found.
  @CKCallback public var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)?

  /// Called once, when all work is done.
  @CKCallback public var discoverAllUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `discoverAllUserIdentitiesResultBlock`.
  @CKCallback public var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

  /// Makes an operation.
  public override init() {}

  override func run() async {
    let container = beginInContainer()
    let answer = await attempt { try await container.allUserIdentitiesFromContacts() }
    await call { [self] in
      for user in (try? answer.get()) ?? [] { userIdentityDiscoveredBlock?(user) }
      let outcome = outcome(answer, itemErrors: [:])
      discoverAllUserIdentitiesResultBlock?(outcome)
      discoverAllUserIdentitiesCompletionBlock?(outcome.failure)
    }
  }
}
