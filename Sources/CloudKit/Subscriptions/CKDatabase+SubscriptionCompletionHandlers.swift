// Each of these makes the `async` call of the same meaning and calls its handler once, on a thread of its own choice.

extension CKDatabase {
  /// Saves a subscription and calls back with it, or with why it was not saved.
  @preconcurrency
  public func save(
    _ subscription: CKSubscription,
    completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.save(subscription) }
  }

  /// Reads a subscription and calls back with it, or with why it could not be had.
  @preconcurrency
  public func fetch(
    withSubscriptionID subscriptionID: CKSubscription.ID,
    completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.subscription(for: subscriptionID) }
  }

  /// Reads several subscriptions and calls back with their results, or with why a request as a whole failed.
  @preconcurrency
  public func fetch(
    withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
    completionHandler:
      @escaping @Sendable (Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.subscriptions(for: subscriptionIDs) }
  }

  /// Reads all subscriptions and calls back with them, or with why they could not be had.
  @preconcurrency
  public func fetchAllSubscriptions(completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void) {
    settings.callBack(completionHandler) { try await self.allSubscriptions() }
  }

  /// Deletes a subscription and calls back with its identifier, or with why it was not deleted.
  @preconcurrency
  public func delete(
    withSubscriptionID subscriptionID: CKSubscription.ID,
    completionHandler: @escaping @Sendable (CKSubscription.ID?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.deleteSubscription(withID: subscriptionID) }
  }

  /// Saves and deletes subscriptions and calls back with their results, or with why a request as a whole failed.
  @preconcurrency
  public func modifySubscriptions(
    saving subscriptionsToSave: [CKSubscription],
    deleting subscriptionIDsToDelete: [CKSubscription.ID],
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
            deleteResults: [CKSubscription.ID: Result<Void, any Error>]
          ), any Error
        >
      ) -> Void
  ) {
    settings.callBack(completionHandler) {
      try await self.modifySubscriptions(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete)
    }
  }
}
