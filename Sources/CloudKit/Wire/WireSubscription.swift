/// A subscription in its wire encoding (reference 5.8). Names are kept as received.
package struct WireSubscription: Hashable, Sendable, Codable {
  package var subscriptionID: String
  /// `query`, `zone` or `database`.
  package var subscriptionType: String?
  package var zoneID: WireZoneID?
  package var zoneWide: Bool?
  package var query: WireSubscribedQuery?
  /// `create`, `update`, `delete`; query subscriptions only.
  package var firesOn: [String]?
  package var firesOnce: Bool?
  package var notificationInfo: WireNotificationInfo?
  package var deleted: Bool?

  package init(subscriptionID: String) { self.subscriptionID = subscriptionID }
}

/// The records of a query subscription: a query without an order.
package struct WireSubscribedQuery: Hashable, Sendable, Codable {
  package var recordType: String
  package var filterBy: [WireSubscribedFilter]?

  package init(recordType: String, filterBy: [WireSubscribedFilter]) {
    self.recordType = recordType
    self.filterBy = filterBy
  }
}

/// A filter that can also be decoded, because the server returns a subscription's query.
package struct WireSubscribedFilter: Hashable, Sendable, Codable {
  package var comparator: String
  package var fieldName: String?
  package var systemFieldName: String?
  package var fieldValue: FieldValue
  package var distance: Double?

  package init(_ filter: WireFilter) {
    comparator = filter.comparator
    switch filter.name {
    case .field(let name): fieldName = name
    case .system(let name): systemFieldName = name
    case .wholeRecord: break
    }
    fieldValue = filter.value
    distance = filter.distance
  }
}

/// The contents and behavior of a push.
package struct WireNotificationInfo: Hashable, Sendable, Codable {
  package var alertBody: String?
  package var alertLocalizationKey: String?
  package var alertLocalizationArgs: [String]?
  package var alertActionLocalizationKey: String?
  package var alertLaunchImage: String?
  package var title: String?
  package var titleLocalizationKey: String?
  package var titleLocalizationArgs: [String]?
  package var subtitle: String?
  package var subtitleLocalizationKey: String?
  package var subtitleLocalizationArgs: [String]?
  package var soundName: String?
  package var additionalFields: [String]?
  package var category: String?
  package var collapseIdKey: String?
  package var shouldBadge: Bool?
  package var shouldSendContentAvailable: Bool?
  package var shouldSendMutableContent: Bool?

  package init() {}
}

/// A subscription, its deletion, or an error.
package enum WireSubscriptionResult: Hashable, Sendable, Decodable {
  case subscription(WireSubscription)
  case deleted(subscriptionID: String)
  case failure(subscriptionID: String?, WebServicesError)

  private enum Key: String, CodingKey { case subscriptionID }

  package init(from decoder: any Decoder) throws {
    if let failure = try WireItemError(ifPresentIn: decoder) {
      let container = try decoder.container(keyedBy: Key.self)
      self = .failure(
        subscriptionID: try container.decodeIfPresent(String.self, forKey: .subscriptionID),
        failure.error
      )
      return
    }
    let subscription = try WireSubscription(from: decoder)
    self =
      subscription.deleted == true
      ? .deleted(subscriptionID: subscription.subscriptionID) : .subscription(subscription)
  }
}
