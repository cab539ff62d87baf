/// An operation that fetches subscriptions by ID, or all subscriptions.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
  private struct Parameters {
    var subscriptionIDs: [CKSubscription.ID]?
    var readsAll = false
  }

  private struct Blocks {
    var perSubscription: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    var completion: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

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
    operation.parameters.readsAll = true
    return operation
  }

  override func run() async {
    let parameters = parameters.value
    let database = begin()
    var ids = parameters.subscriptionIDs?.withoutRepetition ?? []
    let answer: Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error> = await attempt {
      guard parameters.readsAll else { return try await database.subscriptions(for: ids) }
      let subscriptions = try await database.allSubscriptions()
      ids = subscriptions.map(\.subscriptionID).withoutRepetition
      return Dictionary(subscriptions.map { ($0.subscriptionID, .success($0)) }) { $1 }
    }
    let items = ItemResults(of: ids, in: answer)
    await conclude(blocks) { [self] blocks in
      for (id, result) in items.elements { blocks.perSubscription?(id, result) }
      let outcome = outcome(answer, itemErrors: items.errors)
      blocks.result?(outcome)
      let subscriptions = items.values.map { ($0.subscriptionID, $0) }
      blocks.completion?(answer.failure == nil ? Dictionary(subscriptions) { $1 } : nil, outcome.failure)
    }
  }
}

// MARK: - Parameters and callbacks

extension CKFetchSubscriptionsOperation {
  /// The IDs of the subscriptions to fetch. Duplicates are fetched once.
  public var subscriptionIDs: [CKSubscription.ID]? {
    get { parameters.subscriptionIDs }
    set { parameters.subscriptionIDs = newValue }
  }

  /// Called for each subscription with it, or with an error.
  public var perSubscriptionResultBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)? {
    get { blocks.perSubscription }
    set { blocks.perSubscription = newValue }
  }

  /// Called once, when all work is done.
  public var fetchSubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `fetchSubscriptionsResultBlock`, with the fetched subscriptions; nil if the operation failed as
  /// a whole.
  public var fetchSubscriptionCompletionBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
