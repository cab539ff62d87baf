package import JSONText

/// The subscription calls of Web Services (reference 5.8).
extension WebServicesClient {
  /// Fetches all of the caller's subscriptions in a database. Sent as `POST {}`, so that it is clear what the signature
  /// covers.
  package func listSubscriptions(in database: DatabaseName) async throws(WebServicesError) -> [WireSubscriptionResult] {
    try await call("subscriptions/list", in: database, as: WireList.self) { _ in }.elements
  }

  /// Fetches subscriptions by identifier. Missing ones are returned as `NOT_FOUND` elements.
  package func lookupSubscriptions(
    _ subscriptionIDs: [String],
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireSubscriptionResult] {
    let subscriptions = subscriptionIDs.map { JSON.object(["subscriptionID": .string($0)]) }
    return try await call("subscriptions/lookup", in: database, as: WireList.self) {
      $0.member("subscriptions", subscriptions)
    }.elements
  }

  /// One operation of `subscriptions/modify`.
  package struct SubscriptionOperation: JSONWritable, Sendable {
    /// The action to apply to the subscription.
    package enum Kind: String, Sendable { case create, update, delete }

    package var operationType: Kind
    package var subscription: WireSubscription

    package init(_ operationType: Kind, _ subscription: WireSubscription) {
      self.operationType = operationType
      self.subscription = subscription
    }

    package func write(to json: inout JSONWriter) {
      json.beginObject()
      json.member("operationType", operationType.rawValue)
      json.member("subscription", subscription)
      json.endObject()
    }
  }

  /// Creates, updates and deletes subscriptions, in order, never atomically.
  package func modifySubscriptions(
    _ operations: [SubscriptionOperation],
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireSubscriptionResult] {
    try await call("subscriptions/modify", in: database, as: WireList.self) {
      $0.member("operations", operations)
    }.elements
  }
}
