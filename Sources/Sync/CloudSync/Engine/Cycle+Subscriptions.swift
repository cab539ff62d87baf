import CloudKit
import Facts

/// The subscriptions for pushes. They have the same identifiers on every device, so that there is one of each, and are
/// checked now and then, because servers and people remove them.
extension Cycle {
  /// Milliseconds after which the server is asked for its subscriptions again.
  private static let verificationInterval = SystemClock.day

  /// Milliseconds after which a server that rejected the subscriptions is asked again.
  private static let retryInterval: Int64 = 600_000

  /// Creates the subscriptions of this database on the server, if they are missing.
  ///
  /// - Returns: false if the server does not hold all of them, so that pushes are unreliable.
  func subscribe() async throws -> Bool {
    let wanted = Self.subscriptions(database, types: try store.polledTypes())
    let identifiers = Set(wanted.map(\.subscriptionID))
    if let subscribed = session.subscribed, identifiers.isSubset(of: subscribed.identifiers),
      abs(store.now() - subscribed.at) < Self.verificationInterval
    {
      return true
    }
    if let refusedAt = session.subscriptionsRefusedAt, abs(store.now() - refusedAt) < Self.retryInterval {
      return false
    }
    guard try store.mayRequest() else { return false }
    do {
      try await verify(wanted)
      session.subscribed = (identifiers, store.now())
      return true
    } catch let error as WebServicesError {
      try Task.checkCancellation()
      // The next sync finds out the user.
      if isOtherSignIn { return false }
      if error.means(.wait(.throttle), during: .subscribing) {
        // The whole database backs off; the subscriptions are requested again afterwards.
        try store.record(error, random: configuration.random(), lease)
        return false
      }
      // Polls continue meanwhile.
      session.subscriptionsRefusedAt = store.now()
      try store.note(.subscriptionsRefused(code: error.code.name, message: error.reason), lease)
      return false
    }
  }

  private func verify(_ wanted: [WireSubscription]) async throws {
    let held = try await request { (client, database) async throws(WebServicesError) in
      try await client.listSubscriptions(in: database)
    }
    var known: [String: WireSubscription] = [:]
    for case .item(let subscription) in held { known[subscription.subscriptionID] = subscription }
    let operations = wanted.compactMap { subscription -> WebServicesClient.SubscriptionOperation? in
      guard let other = known[subscription.subscriptionID] else { return .init(.create, subscription) }
      return other.watchesTheSame(as: subscription) ? nil : .init(.update, subscription)
    }
    guard !operations.isEmpty else { return }
    let results = try await request { (client, database) async throws(WebServicesError) in
      try await client.modifySubscriptions(operations, in: database)
    }
    for case .failure(_, let error) in results where !error.means(.acknowledge, during: .subscribing) { throw error }
    try store.note(.subscribed(count: operations.count), lease)
  }

  /// One subscription for the whole database, or for the public database one for each record type.
  static func subscriptions(_ database: DatabaseName, types: [String]) -> [WireSubscription] {
    let id = CKDatabaseSubscription.allChangesID
    guard database == .public else { return [WireSubscription(watchingAllAs: id)] }
    return types.map { WireSubscription(watching: $0, as: "\(id)-\($0)") }
  }
}

extension WireSubscription {
  fileprivate init(watching type: String, as identifier: String) {
    self.init(subscriptionID: identifier)
    subscriptionType = "query"
    zoneWide = true
    query = WireQuery(recordType: type)
    firesOn = ["create", "update", "delete"]
    notificationInfo = .silent
  }

  fileprivate func watchesTheSame(as other: WireSubscription) -> Bool {
    subscriptionType == other.subscriptionType && query?.recordType == other.query?.recordType
      && Set(firesOn ?? []) == Set(other.firesOn ?? []) && query?.filterBy.isEmpty ?? true && firesOnce != true
  }
}
