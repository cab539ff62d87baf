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

  /// Creates a subscription to all changes of a database, with silent pushes.
  package init(watchingAllAs subscriptionID: String) {
    self.init(subscriptionID: subscriptionID)
    subscriptionType = "database"
    notificationInfo = .silent
  }
}

extension WireSubscription: WireObject {
  package init() { self.init(subscriptionID: "") }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    var unordered = query.map(UnorderedQuery.init)
    try json("deleted", &deleted)
    try json("firesOn", &firesOn)
    try json("firesOnce", &firesOnce)
    try json("notificationInfo", &notificationInfo)
    try json("query", &unordered)
    try json("subscriptionID", &subscriptionID)
    try json("subscriptionType", &subscriptionType)
    try json("zoneID", &zoneID)
    try json("zoneWide", &zoneWide)
    query = unordered?.query
  }
}

/// A query without its order.
private struct UnorderedQuery: WireObject {
  var query = WireQuery()

  mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("filterBy", &query.filterBy, default: [])
    try json("recordType", &query.recordType)
  }
}

extension WireSubscription: WireItem {
  package static var list: StaticString { "subscriptions" }
  package static func id(of error: WireItemError) -> String? { error.subscriptionID }
  package var id: String? { subscriptionID }
  package consuming func result() -> WireResult<Self> { deleted == true ? .deleted(subscriptionID) : .item(self) }
}

/// The contents and behavior of a push.
package struct WireNotificationInfo: Hashable, Sendable {
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

  /// Wakes the app without showing anything.
  package static var silent: WireNotificationInfo {
    var info = WireNotificationInfo()
    info.shouldSendContentAvailable = true
    return info
  }
}

extension WireNotificationInfo: WireObject {
  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("additionalFields", &additionalFields)
    try json("alertActionLocalizationKey", &alertActionLocalizationKey)
    try json("alertBody", &alertBody)
    try json("alertLaunchImage", &alertLaunchImage)
    try json("alertLocalizationArgs", &alertLocalizationArgs)
    try json("alertLocalizationKey", &alertLocalizationKey)
    try json("category", &category)
    try json("collapseIdKey", &collapseIdKey)
    try json("shouldBadge", &shouldBadge)
    try json("shouldSendContentAvailable", &shouldSendContentAvailable)
    try json("shouldSendMutableContent", &shouldSendMutableContent)
    try json("soundName", &soundName)
    try json("subtitle", &subtitle)
    try json("subtitleLocalizationArgs", &subtitleLocalizationArgs)
    try json("subtitleLocalizationKey", &subtitleLocalizationKey)
    try json("title", &title)
    try json("titleLocalizationArgs", &titleLocalizationArgs)
    try json("titleLocalizationKey", &titleLocalizationKey)
  }
}
