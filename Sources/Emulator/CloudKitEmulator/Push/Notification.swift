import Foundation
import JSONText

/// The content of a push notification, in the format of the web courier. (reference 5.10) [C]
struct Notification {
  var subscription: Subscription
  /// The database that has changed.
  var database: DatabaseKey
  /// The key of the content besides the subscription and the database: `qry`, `fet` or `met`.
  var kind: String
  var details: JSONObject
  /// The record of a query notification.
  var record: StoredRecord?

  /// The private database of the user who receives it.
  var owner: DatabaseKey {
    DatabaseKey(container: database.container, environment: database.environment, owner: subscription.key.owner)
  }

  /// The subscription that ends with this notification.
  var lastOf: Subscription.Key? {
    if case .query = subscription.kind, subscription.firesOnce { subscription.key } else { nil }
  }

  /// The maximum size of an APNs payload in bytes. [FW]
  static let sizeLimit = 4096

  /// Returns the encoded payload. If it exceeds the size limit, `aps` is reduced to `content-available`, the additional
  /// fields are removed, and the payload is marked as pruned. Which parts the real service removes is unknown. [E]
  func payload(id: String) -> Data {
    let whole = JSON.object(["aps": .object(aps), "ck": .object(ck(id, isPruned: false))]).data
    guard whole.count > Self.sizeLimit else { return whole }
    let aps: JSONObject = ["content-available": .int(1)]
    return JSON.object(["aps": .object(aps), "ck": .object(ck(id, isPruned: true))]).data
  }

  private func ck(_ id: String, isPruned: Bool) -> JSONObject {
    var content: JSONObject = ["sid": .string(subscription.key.id), "dbs": .int(subscription.key.scope.number)]
    content = .joining(content, details)
    let fields = subscription.notificationInfo["additionalFields"]?.array?.compactMap(\.string) ?? []
    if let record, !fields.isEmpty, !isPruned {
      var values = JSONObject()
      for field in fields {
        values.append(field, record.content.fields[field].map { FieldEncoding().bare($0) })
      }
      // [E]
      content.append("af", .object(values))
    }
    var ck: JSONObject = [
      "cid": .string(database.container), "nid": .string(id), "ckuserid": .string(subscription.key.owner),
      // Assumed to be the number of the environment. [E]
      "ce": .int(database.environment == "production" ? 1 : 2),
      kind: .object(content),
    ]
    if isPruned { ck.append("p", .int(1)) }
    return ck
  }

  /// The part for APNs, with only the requested keys. [D] The keys of titles and subtitles are those of APNs. [FW]
  private var aps: JSONObject {
    let info = subscription.notificationInfo
    var alert = JSONObject()
    alert.append("title", info["title"])
    alert.append("title-loc-key", info["titleLocalizationKey"])
    alert.append("title-loc-args", texts(info["titleLocalizationArgs"]))
    alert.append("subtitle", info["subtitle"])
    alert.append("subtitle-loc-key", info["subtitleLocalizationKey"])
    alert.append("subtitle-loc-args", texts(info["subtitleLocalizationArgs"]))
    alert.append("body", info["alertBody"])
    alert.append("loc-key", info["alertLocalizationKey"])
    alert.append("loc-args", texts(info["alertLocalizationArgs"]))
    alert.append("action-loc-key", info["alertActionLocalizationKey"])
    alert.append("launch-image", info["alertLaunchImage"])
    var aps = JSONObject()
    if !alert.members.isEmpty { aps.append("alert", .object(alert)) }
    aps.append("sound", info["soundName"])
    aps.append("category", info["category"])
    if info["shouldBadge"]?.bool == true { aps.append("badge", .int(1)) }
    if info["shouldSendContentAvailable"]?.bool == true { aps.append("content-available", .int(1)) }
    if info["shouldSendMutableContent"]?.bool == true { aps.append("mutable-content", .int(1)) }
    return aps
  }

  /// Returns the values of the fields that a text's arguments name.
  private func texts(_ names: JSON?) -> JSON? {
    (names?.array).map { .array($0.map { .string(text(of: $0.string ?? "")) }) }
  }

  private func text(of field: String) -> String {
    guard let value = record?.content.fields[field] else { return "" }
    let json = FieldEncoding().bare(value)
    return json.string ?? json.text
  }
}

extension Route.Scope {
  /// The number of the database in the notification's `dbs`. [C]
  fileprivate var number: Int64 {
    switch self {
    case .public: 1
    case .private: 2
    case .shared: 3
    }
  }
}
