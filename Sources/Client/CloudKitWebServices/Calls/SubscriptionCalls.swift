package import JSONText

/// The subscription calls of Web Services (reference 5.8).
extension WebServicesClient {
  /// Fetches all of the caller's subscriptions in a database. Sent as `POST {}`, so that it is clear what the signature
  /// covers.
  package func listSubscriptions(
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireResult<WireSubscription>] {
    try await list("subscriptions/list", in: database) { _ in }
  }

  /// Fetches subscriptions by identifier. Missing ones are returned as `NOT_FOUND` elements.
  package func lookupSubscriptions(
    _ subscriptionIDs: [String],
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireResult<WireSubscription>] {
    let subscriptions = subscriptionIDs.map { JSON.object(["subscriptionID": .string($0)]) }
    return try await list("subscriptions/lookup", in: database) { $0.member("subscriptions", subscriptions) }
  }

  /// One operation of `subscriptions/modify`.
  package struct SubscriptionOperation: JSONWritable, Sendable {
    /// The action to apply to the subscription.
    package enum Kind: String, Sendable { case create, update, delete }

    package var operationType: Kind
    package var subscription: WireSubscription
    /// The identifier of the subscription.
    package var id: String { subscription.subscriptionID }

    package init(_ operationType: Kind, _ subscription: WireSubscription) {
      self.operationType = operationType
      self.subscription = subscription
    }

    package func write(to json: inout JSONWriter) {
      json.object {
        $0.member("operationType", operationType.rawValue)
        $0.member("subscription", subscription)
      }
    }
  }

  /// Creates, updates and deletes subscriptions, in order, never atomically.
  package func modifySubscriptions(
    _ operations: [SubscriptionOperation],
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireResult<WireSubscription>] {
    try await list("subscriptions/modify", in: database) { $0.member("operations", operations) }
  }
}
