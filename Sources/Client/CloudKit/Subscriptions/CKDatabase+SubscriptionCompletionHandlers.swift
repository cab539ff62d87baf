// These methods call their `async` counterparts and call the handler once, on an unspecified thread.

extension CKDatabase {
  /// Saves a subscription and calls the handler with it or an error.
  @preconcurrency
  public func save(
    _ subscription: CKSubscription,
    completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.save(subscription) }
  }

  /// Fetches a subscription and calls the handler with it or an error.
  @preconcurrency
  public func fetch(
    withSubscriptionID subscriptionID: CKSubscription.ID,
    completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.subscription(for: subscriptionID) }
  }

  /// Fetches several subscriptions and calls the handler with their results, or with the error of the whole request.
  @preconcurrency
  public func fetch(
    withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
    completionHandler:
      @escaping @Sendable (Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.subscriptions(for: subscriptionIDs) }
  }

  /// Fetches all subscriptions and calls the handler with them or an error.
  @preconcurrency
  public func fetchAllSubscriptions(completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void) {
    settings.callBack(completionHandler) { try await self.allSubscriptions() }
  }

  /// Deletes a subscription and calls the handler with its identifier or an error.
  @preconcurrency
  public func delete(
    withSubscriptionID subscriptionID: CKSubscription.ID,
    completionHandler: @escaping @Sendable (CKSubscription.ID?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.deleteSubscription(withID: subscriptionID) }
  }

  /// Saves and deletes subscriptions and calls the handler with their results, or with the error of the whole request.
  @preconcurrency
  public func modifySubscriptions(
    saving subscriptionsToSave: [CKSubscription],
    deleting subscriptionIDsToDelete: [CKSubscription.ID],
    completionHandler: @escaping @Sendable (Result<ModifyResults<CKSubscription.ID, CKSubscription>, any Error>) -> Void
  ) {
    settings.callBack(completionHandler) {
      try await self.modifySubscriptions(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete)
    }
  }
}
