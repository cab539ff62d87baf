/// The subscription calls of Web Services (reference 5.8).
extension WebServicesClient {
  private struct EmptyBody: Encodable, Sendable {}

  private struct Subscriptions: Decodable, Sendable {
    var subscriptions: [WireSubscriptionResult]
  }

  /// Fetches all of the caller's subscriptions in a database. Sent as `POST {}`, so that it is clear what the signature
  /// covers.
  package func listSubscriptions(in database: DatabaseName) async throws(WebServicesError) -> [WireSubscriptionResult] {
    try await call("subscriptions/list", in: database, EmptyBody(), as: Subscriptions.self).subscriptions
  }

  private struct LookupBody: Encodable, Sendable {
    struct Element: Encodable, Sendable { var subscriptionID: String }
    var subscriptions: [Element]
  }

  /// Fetches subscriptions by identifier. Missing ones are returned as `NOT_FOUND` elements.
  package func lookupSubscriptions(
    _ subscriptionIDs: [String],
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireSubscriptionResult] {
    let body = LookupBody(subscriptions: subscriptionIDs.map(LookupBody.Element.init(subscriptionID:)))
    return try await call("subscriptions/lookup", in: database, body, as: Subscriptions.self).subscriptions
  }

  /// One operation of `subscriptions/modify`.
  package struct SubscriptionOperation: Encodable, Sendable {
    /// The action to apply to the subscription.
    package enum Kind: String, Encodable, Sendable { case create, update, delete }

    package var operationType: Kind
    package var subscription: WireSubscription

    package init(_ operationType: Kind, _ subscription: WireSubscription) {
      self.operationType = operationType
      self.subscription = subscription
    }
  }

  private struct ModifyBody: Encodable, Sendable {
    var operations: [SubscriptionOperation]
  }

  /// Creates, updates and deletes subscriptions, in order, never atomically.
  package func modifySubscriptions(
    _ operations: [SubscriptionOperation],
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireSubscriptionResult] {
    let body = ModifyBody(operations: operations)
    return try await call("subscriptions/modify", in: database, body, as: Subscriptions.self).subscriptions
  }
}
