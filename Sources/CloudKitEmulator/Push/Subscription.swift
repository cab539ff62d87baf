/// What somebody wants to be told about in one of their databases. (5.8) [D]
struct Subscription {
  /// What happened to a record; the number is the one of a notification's `fo`. [C]
  enum Firing: String, CaseIterable {
    case create, update, delete

    var number: Int64 {
      switch self {
      case .create: 1
      case .update: 2
      case .delete: 3
      }
    }
  }

  enum Kind {
    case query(type: String, filters: [JSONObject])
    case zone
    case database
  }

  /// Subscriptions are told apart by their owner, who sees no others, and by the database. [L3]
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
  /// The one zone it is about; `nil` for a query over the default zone or over all, and for databases.
  let zone: (name: String, owner: String)?
  let isZoneWide: Bool
  let firesOn: Set<Firing>
  let firesOnce: Bool
  let notificationInfo: JSONObject
  /// The subscription as answers spell it.
  let json: JSONObject

  /// Reads a subscription.
  ///
  /// - Parameter owner: Whose zones a zone ID without an owner means.
  /// - Throws: `BAD_REQUEST` for what the database does not offer, or a missing part.
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
      let (name, zoneOwner) = try EmulatorCore.zoneName(zoneID)
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
      guard let query = object["query"]?.object, let type = query["recordType"]?.string, Schema.isName(type) else {
        throw .badRequest("A query subscription needs a 'query' with a 'recordType'")
      }
      kind = .query(type: type, filters: (query["filterBy"]?.array ?? []).compactMap(\.object))
      // Two of Apple's pages disagree about the default. [D][JS] (Question 23)
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

  /// Whether a new subscription would be the same as this one in the eyes of the service: filters take no part. [L3]
  func collides(with other: Subscription) -> Bool {
    guard case .query(let type, _) = kind, case .query(let otherType, _) = other.kind else { return false }
    return key.scope == other.key.scope && key.owner == other.key.owner && key.id != other.key.id && type == otherType
      && firesOn == other.firesOn
  }
}
