import CloudKitSchema
import JSONText

/// A subscription to changes in one database of a user. (reference 5.8) [D]
struct Subscription {
  /// The change of a record that fires a subscription. The number is the notification's `fo`. [C]
  enum Firing: String, CaseIterable {
    case create, update, delete

    var number: Int64 { 1 + Int64(Self.allCases.firstIndex(of: self) ?? 0) }
  }

  enum Kind {
    case query(type: String, filters: [JSONObject])
    case zone
    case database
  }

  /// Identifies a subscription by database, owner and ID. Users see only their own subscriptions. [L3]
  struct Key: Hashable, Comparable {
    var scope: Route.Scope
    var owner: String
    var id: String

    static func < (left: Key, right: Key) -> Bool {
      (left.scope.rawValue, left.owner, left.id) < (right.scope.rawValue, right.owner, right.id)
    }
  }

  let key: Key
  let kind: Kind
  /// The zone of the subscription; `nil` for databases, and for queries over all zones or the default zone.
  let zone: (name: String, owner: String)?
  let isZoneWide: Bool
  let firesOn: Set<Firing>
  let firesOnce: Bool
  let notificationInfo: JSONObject
  /// The subscription as in responses.
  let json: JSONObject

  /// Decodes a subscription.
  ///
  /// - Parameter owner: The owner of the zone if the zone ID does not name one.
  /// - Throws: `BAD_REQUEST` if a part is missing or the database does not support the subscription.
  init(
    _ object: JSONObject,
    key: Key,
    zonesOf owner: String,
    isZoneWideByDefault: Bool = false
  ) throws(ServerError) {
    self.key = key
    notificationInfo = object["notificationInfo"]?.object ?? [:]
    firesOnce = object["firesOnce"]?.bool ?? false
    if let zoneID = object["zoneID"] {
      let (name, zoneOwner) = try Endpoint.zoneName(zoneID)
      zone = (name, zoneOwner ?? owner)
    } else {
      zone = nil
    }
    var json: JSONObject = ["subscriptionID": .string(key.id)]
    json.append("subscriptionType", object["subscriptionType"])
    json.append(
      "zoneID",
      zone.map { .object(["zoneName": .string($0.name), "ownerRecordName": .string($0.owner)]) }
    )
    switch object["subscriptionType"]?.string {
    case "query":
      // [FW]
      guard key.scope != .shared else {
        throw .badRequest("query subscriptions are not applicable in the shared database")
      }
      guard let query = object["query"]?.object, let type = query["recordType"]?.string, CKSchema.isName(type) else {
        throw .badRequest("A query subscription needs a 'query' with a 'recordType'")
      }
      kind = .query(type: type, filters: (query["filterBy"]?.array ?? []).compactMap(\.object))
      // Two of Apple's pages give different defaults. [D][JS] (Question 23)
      isZoneWide = object["zoneWide"]?.bool ?? isZoneWideByDefault
      let words = object["firesOn"]?.array?.compactMap { $0.string.flatMap(Firing.init(rawValue:)) } ?? []
      guard !words.isEmpty else { throw .badRequest("A query subscription needs 'firesOn'") }
      firesOn = Set(words)
      json.append("zoneWide", .bool(isZoneWide))
      json.append("query", .object(query))
      json.append("firesOn", .array(Firing.allCases.filter(firesOn.contains).map { .string($0.rawValue) }))
      json.append("firesOnce", .bool(firesOnce))
    case "zone":
      // [D]
      guard key.scope != .public, let zone, zone.name != ZoneState.defaultName else {
        throw .badRequest("A zone subscription needs the 'zoneID' of a custom zone")
      }
      (kind, isZoneWide, firesOn) = (.zone, false, [])
    case "database":
      // [FW] (Question 18)
      guard key.scope != .public else {
        throw .badRequest("database subscriptions are not applicable in the public database")
      }
      (kind, isZoneWide, firesOn) = (.database, true, [])
    default: throw .badRequest("Missing or unknown 'subscriptionType'")
    }
    json.append("notificationInfo", object["notificationInfo"])
    self.json = json
  }

  /// Whether the service treats a new subscription as a duplicate of this one. Filters are ignored. [L3]
  func collides(with other: Subscription) -> Bool {
    guard case .query(let type, _) = kind, case .query(let otherType, _) = other.kind else { return false }
    return key.scope == other.key.scope && key.owner == other.key.owner && key.id != other.key.id && type == otherType
      && firesOn == other.firesOn
  }
}
