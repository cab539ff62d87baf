/// An operation that saves and deletes subscriptions; never atomic.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
  /// The subscriptions to save.
  @CKParameter public var subscriptionsToSave: [CKSubscription]?

  /// The IDs of the subscriptions to delete.
  @CKParameter public var subscriptionIDsToDelete: [CKSubscription.ID]?

  /// Called for each subscription to save with it, or with an error.
  @CKCallback public var perSubscriptionSaveBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?

  /// Called for each subscription to delete with the result.
  @CKCallback public var perSubscriptionDeleteBlock: ((CKSubscription.ID, Result<Void, any Error>) -> Void)?

  /// Called once, when all work is done.
  @CKCallback public var modifySubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `modifySubscriptionsResultBlock`, with the saved and deleted subscriptions; nil if the operation
  /// failed as a whole.
  @CKCallback public var modifySubscriptionsCompletionBlock:
    (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?

  /// Makes an empty operation. Set the items to save and to delete before you add it.
  public override init() {}

  /// Makes an operation that saves and deletes subscriptions.
  public convenience init(
    subscriptionsToSave: [CKSubscription]? = nil,
    subscriptionIDsToDelete: [CKSubscription.ID]? = nil
  ) {
    self.init()
    self.subscriptionsToSave = subscriptionsToSave
    self.subscriptionIDsToDelete = subscriptionIDsToDelete
  }

  override func run() async {
    let subscriptions = subscriptionsToSave ?? []
    let deletions = subscriptionIDsToDelete ?? []
    let database = begin()
    let answer = await attempt { try await database.modifySubscriptions(saving: subscriptions, deleting: deletions) }
    let saves = ItemResults(of: subscriptions.map(\.subscriptionID), in: answer.map(\.saveResults))
    let deletes = ItemResults(of: deletions, in: answer.map(\.deleteResults))
    await call { [self] in
      for (id, result) in saves.elements { perSubscriptionSaveBlock?(id, result) }
      for (id, result) in deletes.elements { perSubscriptionDeleteBlock?(id, result) }
      let outcome = outcome(answer, itemErrors: saves.errors.merging(deletes.errors) { $1 })
      modifySubscriptionsResultBlock?(outcome)
      let happened = answer.failure == nil
      modifySubscriptionsCompletionBlock?(
        happened ? saves.values : nil,
        happened ? deletes.successes : nil,
        outcome.failure
      )
    }
  }
}
