package import JSONText

/// A subscription in its wire encoding (reference 5.8). Names are kept as received.
package struct WireSubscription: Hashable, Sendable {
  package var subscriptionID: String
  /// `query`, `zone` or `database`.
  package var subscriptionType: String?
  package var zoneID: WireZoneID?
  package var zoneWide: Bool?
  /// The records of a query subscription. Their order is not sent.
  package var query: WireQuery?
  /// `create`, `update`, `delete`; query subscriptions only.
  package var firesOn: [String]?
  package var firesOnce: Bool?
  package var notificationInfo: WireNotificationInfo?
  package var deleted: Bool?

  package init(subscriptionID: String) { self.subscriptionID = subscriptionID }
}

extension WireSubscription: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var subscriptionID: String?
    self.init(subscriptionID: "")
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "subscriptionID": try json.read(into: &subscriptionID)
      case "subscriptionType": try json.read(into: &subscriptionType)
      case "zoneID": try json.read(into: &zoneID)
      case "zoneWide": try json.read(into: &zoneWide)
      case "query": try json.read(into: &query)
      case "firesOn": try json.read(into: &firesOn)
      case "firesOnce": try json.read(into: &firesOnce)
      case "notificationInfo": try json.read(into: &notificationInfo)
      case "deleted": try json.read(into: &deleted)
      default: try json.skip()
      }
    }
    guard let subscriptionID else { throw json.failure("a subscription without an identifier", at: start) }
    self.subscriptionID = subscriptionID
  }

  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("deleted", deleted)
    json.member("firesOn", firesOn)
    json.member("firesOnce", firesOnce)
    json.member("notificationInfo", notificationInfo)
    if let query {
      json.key("query")
      json.beginObject()
      json.member("filterBy", query.filterBy)
      json.member("recordType", query.recordType)
      json.endObject()
    }
    json.member("subscriptionID", subscriptionID)
    json.member("subscriptionType", subscriptionType)
    json.member("zoneID", zoneID)
    json.member("zoneWide", zoneWide)
    json.endObject()
  }
}

/// The contents and behavior of a push.
package struct WireNotificationInfo: Hashable, Sendable, Codable, JSONReadable, JSONWritable {
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
package enum WireSubscriptionResult: Hashable, Sendable, JSONReadable {
  case subscription(WireSubscription)
  case deleted(subscriptionID: String)
  case failure(subscriptionID: String?, WebServicesError)

  package init(json: inout JSONReader) throws(JSONError) {
    if let failure = try WireItemError(ifPresent: &json) {
      self = .failure(subscriptionID: failure.subscriptionID, failure.error)
      return
    }
    let subscription = try WireSubscription(json: &json)
    self =
      subscription.deleted == true
      ? .deleted(subscriptionID: subscription.subscriptionID) : .subscription(subscription)
  }
}
