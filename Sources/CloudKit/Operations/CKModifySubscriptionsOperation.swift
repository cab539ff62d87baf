/// An operation that saves and deletes subscriptions; never atomic.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
  private struct Parameters {
    var subscriptionsToSave: [CKSubscription]?
    var subscriptionIDsToDelete: [CKSubscription.ID]?
  }

  private struct Blocks {
    var perSave: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    var perDelete: ((CKSubscription.ID, Result<Void, any Error>) -> Void)?
    var completion: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

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
    await conclude(blocks) { [self] blocks in
      for (id, result) in saves.elements { blocks.perSave?(id, result) }
      for (id, result) in deletes.elements { blocks.perDelete?(id, result) }
      let outcome = outcome(answer, itemErrors: saves.errors.merging(deletes.errors) { $1 })
      blocks.result?(outcome)
      let happened = answer.failure == nil
      blocks.completion?(happened ? saves.values : nil, happened ? deletes.successes : nil, outcome.failure)
    }
  }
}

// MARK: - Parameters and callbacks

extension CKModifySubscriptionsOperation {
  /// The subscriptions to save.
  public var subscriptionsToSave: [CKSubscription]? {
    get { parameters.subscriptionsToSave }
    set { parameters.subscriptionsToSave = newValue }
  }

  /// The IDs of the subscriptions to delete.
  public var subscriptionIDsToDelete: [CKSubscription.ID]? {
    get { parameters.subscriptionIDsToDelete }
    set { parameters.subscriptionIDsToDelete = newValue }
  }

  /// Called for each subscription to save with it, or with an error.
  public var perSubscriptionSaveBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)? {
    get { blocks.perSave }
    set { blocks.perSave = newValue }
  }

  /// Called for each subscription to delete with the result.
  public var perSubscriptionDeleteBlock: ((CKSubscription.ID, Result<Void, any Error>) -> Void)? {
    get { blocks.perDelete }
    set { blocks.perDelete = newValue }
  }

  /// Called once, when all work is done.
  public var modifySubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `modifySubscriptionsResultBlock`, with the saved and deleted subscriptions; nil if the operation
  /// failed as a whole.
  public var modifySubscriptionsCompletionBlock: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
