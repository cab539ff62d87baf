import CloudKitSchema
import JSONText

/// `subscriptions/list`, `subscriptions/lookup` and `subscriptions/modify` (reference 5.8). [D]
extension EmulatorCore {
  func listSubscriptions(_ call: Call) -> JSONObject {
    ["subscriptions": .array(own(call).sorted { $0.key < $1.key }.map { .object($0.json) })]
  }

  private func own(_ call: Call) -> [Subscription] {
    let owner = owner(call)
    return subscriptions[home(of: call)]?.values.filter { $0.key.scope == call.route.scope && $0.key.owner == owner }
      ?? []
  }

  private var assumptions: EmulatorAssumptions { configuration.assumptions }

  func lookupSubscriptions(_ call: Call) throws(ServerError) -> JSONObject {
    var results: [JSON] = []
    for item in try items("subscriptions", of: call.body) {
      guard let id = item["subscriptionID"]?.string else { throw .badRequest("Missing 'subscriptionID'") }
      results.append(.object(subscription(id, call)?.json ?? Self.notFound.members(after: Self.identity(id))))
    }
    return ["subscriptions": .array(results)]
  }

  /// Performs the operations in order, each on its own. [D]
  func modifySubscriptions(_ call: Call) throws(ServerError) -> JSONObject {
    let operations = try items("operations", of: call.body).map { (item) throws(ServerError) in
      guard let type = item["operationType"]?.string, let object = item["subscription"]?.object else {
        throw .badRequest("Missing 'operationType' or 'subscription'")
      }
      return (type, object)
    }
    var results: [JSON] = []
    for (type, object) in operations {
      let id = object["subscriptionID"]?.string ?? freeID(call)
      do throws(ServerError) {
        guard StoredRecord.isName(id) else { throw .badRequest("Invalid 'subscriptionID'") }
        switch type {
        case "create": results.append(.object(try subscribe(object, id, call)))
        case "update":
          guard subscription(id, call) != nil else { throw Self.notFound }
          results.append(.object(try subscribe(object, id, call)))
        case "delete":
          guard let known = subscription(id, call) else { throw Self.notFound }
          try commit([.unsubscribed(known.key)], to: home(of: call))
          results.append(.object(["subscriptionID": .string(id), "deleted": .bool(true)]))
        default: throw .badRequest("Unknown 'operationType'")
        }
      } catch {
        results.append(.object(error.members(after: Self.identity(id))))
      }
    }
    return ["subscriptions": .array(results)]
  }

  /// Returns an ID that the owner does not use, including IDs from before a restart.
  private func freeID(_ call: Call) -> String {
    let origin = "\(seed)/subscription/\(home(of: call).path)/\(call.route.scope)/\(call.milliseconds)"
    var number = own(call).count
    while true {
      let id = Derived.uuid("\(origin)/\(owner(call))/\(number)")
      if subscription(id, call) == nil { return id }
      number += 1
    }
  }

  /// Creates or replaces a subscription. Creating an existing ID replaces it. [L3]
  private func subscribe(_ object: JSONObject, _ id: String, _ call: Call) throws(ServerError) -> JSONObject {
    let key = Subscription.Key(scope: call.route.scope, owner: owner(call), id: id)
    let owner = key.scope == .public ? database(for: call).owner : key.owner
    let isZoneWide = assumptions.subscriptionsAreZoneWide
    let new = try Subscription(object, key: key, zonesOf: owner, isZoneWideByDefault: isZoneWide)
    // The framework has the other two kinds for the shared database; whether Web Services do is unknown. [FW]
    // (Question 18)
    guard key.scope != .shared || assumptions.acceptsSharedSubscriptions else {
      throw .badRequest("subscriptions are not applicable in the shared database")
    }
    let home = home(of: call)
    switch new.kind {
    case .query(let type, let filters): try checkFilters(filters, type, call)
    case .zone: _ = try place(new.json["zoneID"], for: call)
    case .database:
      guard assumptions.acceptsDatabaseSubscriptions else { throw .badRequest("Unknown 'subscriptionType'") }
    }
    // [E] (Question 22)
    if let limit = assumptions.subscriptionLimit, subscription(id, call) == nil, own(call).count >= limit {
      throw ServerError(.quotaExceeded, "Too many subscriptions")
    }
    // The server fails like this instead of with EXISTS. [L3]
    if subscriptions[home]?.values.contains(where: { $0.collides(with: new) }) == true {
      throw ServerError(.internalError, "could not find subscription we just created")
    }
    try commit([.subscribed(new)], to: home)
    return new.json
  }

  /// Checks filters by the rules of queries. Where writes extend the schema, filters on a type that does not exist yet
  /// are accepted. [E]
  private func checkFilters(_ filters: [JSONObject], _ type: String, _ call: Call) throws(ServerError) {
    guard type != CKSchema.usersType else { throw .badRequest("Records of type 'Users' cannot be queried") }
    guard let recordType = schemas[call.route.schema]?[type] else {
      guard learnsSchema(call) else { throw unknownType(type) }
      return
    }
    for filter in filters {
      _ = try QueryFilter(filter, type: recordType, assumptions: configuration.assumptions)
    }
  }

  private func subscription(_ id: String, _ call: Call) -> Subscription? {
    subscriptions[home(of: call)]?[Subscription.Key(scope: call.route.scope, owner: owner(call), id: id)]
  }

  private func owner(_ call: Call) -> String { call.caller.recordName ?? "" }

  /// Returns the database that stores the subscriptions of a call. The shared database has no state of its own, so the
  /// user's private database stores them.
  private func home(of call: Call) -> DatabaseKey {
    let owner = call.route.scope == .public ? nil : owner(call)
    return DatabaseKey(container: call.route.container, environment: call.route.environment, owner: owner)
  }

  private static let notFound = ServerError(.notFound, "Subscription not found")

  private static func identity(_ id: String) -> JSONObject { ["subscriptionID": .string(id)] }
}
