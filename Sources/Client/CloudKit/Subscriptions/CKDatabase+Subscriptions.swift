extension CKDatabase {
  /// Saves a subscription: creates it, or replaces the one with the same identifier.
  ///
  /// - Throws: `CKError`; `invalidArguments` if the server does not support its query.
  @discardableResult
  public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
    let results = try await modifySubscriptions(saving: [subscription], deleting: [])
    return try results.saveResults.item(subscription.subscriptionID, in: .write)
  }

  /// Returns a subscription.
  ///
  /// - Throws: `CKError.unknownItem` if there is none.
  public func subscription(for subscriptionID: CKSubscription.ID) async throws -> CKSubscription {
    try await subscriptions(for: [subscriptionID]).item(subscriptionID, in: .read)
  }

  /// Returns several subscriptions, each with its own result.
  public func subscriptions(
    for ids: [CKSubscription.ID]
  ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
    let found = try await lookup(ids).map { id, result in
      let subscription = result.flatMap { wire in
        wire.flatMap { CKSubscription.subscription(wire: $0) }.map { .success($0) }
          ?? .failure(CKError(.unknownItem, "The subscription \(id) does not exist."))
      }
      return (id, subscription)
    }
    return Dictionary(found) { $1 }
  }

  private func lookup(
    _ ids: [CKSubscription.ID]
  ) async throws(CKError) -> [(CKSubscription.ID, Result<WireSubscription?, any Error>)] {
    let found = try await results(of: ids, id: \.self, .read) { client, ids throws(WebServicesError) in
      try await client.lookupSubscriptions(ids, in: name)
    }
    return Array(zip(ids, found))
  }

  /// Returns all subscriptions of the user, or of the server-to-server key, in this database. Types that this library
  /// does not know are left out.
  public func allSubscriptions() async throws -> [CKSubscription] {
    let answer = try await perform(.read) { client throws(WebServicesError) in
      try await client.listSubscriptions(in: name)
    }
    return try answer.compactMap { element in
      switch element {
      case .item(let wire): CKSubscription.subscription(wire: wire)
      case .deleted: nil
      case .failure(_, let failure): throw CKError(failure, in: .item)
      }
    }
  }

  /// Deletes a subscription.
  ///
  /// - Throws: `CKError.unknownItem` if there is none.
  @discardableResult
  public func deleteSubscription(withID subscriptionID: CKSubscription.ID) async throws -> CKSubscription.ID {
    try await modifySubscriptions(saving: [], deleting: [subscriptionID]).deleteResults.item(subscriptionID, in: .write)
    return subscriptionID
  }

  /// Saves and deletes subscriptions, each with its own result. The request is never atomic.
  ///
  /// The server may keep an existing subscription as it is when it is created again, so one more request first asks
  /// which of them exist; those are updated.
  ///
  /// - Throws: `CKError.invalidArguments` if a subscription appears twice; another error if the whole request failed.
  @discardableResult
  public func modifySubscriptions(
    saving subscriptionsToSave: [CKSubscription],
    deleting subscriptionIDsToDelete: [CKSubscription.ID]
  ) async throws -> ModifyResults<CKSubscription.ID, CKSubscription> {
    let saves = subscriptionsToSave.map(\.subscriptionID)
    guard (saves + subscriptionIDsToDelete).isWithoutRepetition else {
      throw CKError.invalidArguments("A subscription appears twice in one call.")
    }
    var saved: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
    var wires: [WireSubscription] = []
    for subscription in subscriptionsToSave {
      do throws(CKError) {
        wires.append(try subscription.wire())
      } catch {
        saved[subscription.subscriptionID] = .failure(error)
      }
    }
    // Those that exist are updated.
    let known = try await lookup(wires.map(\.subscriptionID)).filter { (try? $1.get()) != nil }.map(\.0)
    let operations =
      wires.map { WebServicesClient.SubscriptionOperation(known.contains($0.subscriptionID) ? .update : .create, $0) }
      + subscriptionIDsToDelete.map { .init(.delete, WireSubscription(subscriptionID: $0)) }
    let answered = try await results(of: operations, id: \.id, .write) { client, part throws(WebServicesError) in
      try await client.modifySubscriptions(part, in: name)
    }
    let results = Dictionary(uniqueKeysWithValues: zip(operations.map(\.id), answered))
    for subscription in subscriptionsToSave {
      // The reply may omit unchanged values. An accepted subscription equals the sent one.
      guard let result = results[subscription.subscriptionID] else { continue }
      saved[subscription.subscriptionID] = result.map { wire in
        let answered = wire.flatMap { CKSubscription.subscription(wire: $0) }
        answered?.narrowedRecordType = subscription.narrowedRecordType
        return answered ?? subscription
      }
    }
    let deleted = subscriptionIDsToDelete.compactMap { id in results[id].map { (id, $0.map { _ in }) } }
    return (saved, Dictionary(uniqueKeysWithValues: deleted))
  }
}
