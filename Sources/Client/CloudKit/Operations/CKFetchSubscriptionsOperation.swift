/// An operation that fetches subscriptions by ID, or all subscriptions.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
  /// The IDs of the subscriptions to fetch. Duplicates are fetched once.
  @CKParameter public var subscriptionIDs: [CKSubscription.ID]?

  /// Called for each subscription with it, or with an error.
  @CKCallback public var perSubscriptionResultBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?

  /// Called once, when all work is done.
  @CKCallback public var fetchSubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `fetchSubscriptionsResultBlock`, with the fetched subscriptions; nil if the operation failed as
  /// a whole.
  @CKCallback public var fetchSubscriptionCompletionBlock:
    (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?

  @CKParameter private var readsAll = false

  /// Makes an empty operation. Set `subscriptionIDs` before you add it.
  public override init() {}

  /// Makes an operation that fetches subscriptions.
  public convenience init(subscriptionIDs: [CKSubscription.ID]) {
    self.init()
    self.subscriptionIDs = subscriptionIDs
  }

  /// Makes an operation that fetches all subscriptions of its database.
  public class func fetchAllSubscriptionsOperation() -> CKFetchSubscriptionsOperation {
    let operation = CKFetchSubscriptionsOperation()
    operation.readsAll = true
    return operation
  }

  override func run() async {
    let database = begin()
    var ids = subscriptionIDs?.withoutRepetition ?? []
    let answer: Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error> = await attempt {
      guard readsAll else { return try await database.subscriptions(for: ids) }
      let subscriptions = try await database.allSubscriptions()
      ids = subscriptions.map(\.subscriptionID).withoutRepetition
      return Dictionary(subscriptions.map { ($0.subscriptionID, .success($0)) }) { $1 }
    }
    let items = ItemResults(of: ids, in: answer)
    await call { [self] in
      for (id, result) in items.elements { perSubscriptionResultBlock?(id, result) }
      let outcome = outcome(answer, itemErrors: items.errors)
      fetchSubscriptionsResultBlock?(outcome)
      let subscriptions = items.values.map { ($0.subscriptionID, $0) }
      fetchSubscriptionCompletionBlock?(answer.failure == nil ? Dictionary(subscriptions) { $1 } : nil, outcome.failure)
    }
  }
}
