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
    var results: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
    for chunk in ids.chunks(of: Self.largestBatch) {
      let answer = try await perform(.read) { client throws(WebServicesError) in
        try await client.lookupSubscriptions(Array(chunk), in: name)
      }
      for (id, result) in Self.match(answer, to: Array(chunk)) {
        results[id] = result.flatMap { found in
          found.map { .success($0) } ?? .failure(CKError(.unknownItem, "The subscription \(id) does not exist."))
        }
      }
    }
    return results
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
  /// The server may keep an existing subscription as it is when it is created again, so one more request first asks which
  /// of them exist; those are updated.
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
    let known = try await existing(among: wires.map(\.subscriptionID))
    var operations = wires.map {
      WebServicesClient.SubscriptionOperation(known.contains($0.subscriptionID) ? .update : .create, $0)
    }
    operations += subscriptionIDsToDelete.map { .init(.delete, WireSubscription(subscriptionID: $0)) }
    var results: [CKSubscription.ID: Result<CKSubscription?, any Error>] = [:]
    for chunk in operations.chunks(of: Self.largestBatch) {
      let answer = try await perform(.write) { client throws(WebServicesError) in
        try await client.modifySubscriptions(Array(chunk), in: name)
      }
      results.merge(Self.match(answer, to: chunk.map(\.subscription.subscriptionID))) { _, new in new }
    }
    for subscription in subscriptionsToSave where saved[subscription.subscriptionID] == nil {
      let id = subscription.subscriptionID
      // The reply may omit unchanged values. An accepted subscription equals the sent one.
      saved[id] = results.result(id, in: .write).map { answered in
        answered?.narrowedRecordType = subscription.narrowedRecordType
        return answered ?? subscription
      }
    }
    let deleted = subscriptionIDsToDelete.map { id in (id, results.result(id, in: .write).map { _ in }) }
    return (saved, Dictionary(uniqueKeysWithValues: deleted))
  }

  /// Returns the identifiers of those subscriptions that exist.
  private func existing(among ids: [CKSubscription.ID]) async throws(CKError) -> Set<CKSubscription.ID> {
    var existing: Set<CKSubscription.ID> = []
    for chunk in ids.chunks(of: Self.largestBatch) {
      let answer = try await perform(.read) { client throws(WebServicesError) in
        try await client.lookupSubscriptions(Array(chunk), in: name)
      }
      for case .item(let wire) in answer { existing.insert(wire.subscriptionID) }
    }
    return existing
  }

  /// Matches results to identifiers. A nil result stands for a deleted subscription, or one of an unknown type.
  private static func match(
    _ elements: [WireResult<WireSubscription>],
    to ids: [CKSubscription.ID]
  ) -> [CKSubscription.ID: Result<CKSubscription?, any Error>] {
    var results: [CKSubscription.ID: Result<CKSubscription?, any Error>] = [:]
    for (index, element) in elements.enumerated() {
      switch element {
      case .item(let wire): results[wire.subscriptionID] = .success(CKSubscription.subscription(wire: wire))
      case .deleted(let id, _): results[id] = .success(nil)
      case .failure(let id, let failure):
        if let id = id ?? (index < ids.count ? ids[index] : nil) { results[id] = .failure(CKError(failure, in: .item)) }
      }
    }
    return results
  }
}
