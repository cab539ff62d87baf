import CloudKitSchema
import JSONText

/// `subscriptions/list`, `subscriptions/lookup` and `subscriptions/modify` (reference 5.8). [D]
extension Endpoint {
  func listSubscriptions() -> JSONObject {
    ["subscriptions": .array(subscriptions.sorted { $0.key < $1.key }.map { .object($0.json) })]
  }

  /// The caller's subscriptions in the call's database.
  private var subscriptions: [Subscription] {
    world.subscriptions[home]?.values.filter { $0.key.scope == call.route.scope && $0.key.owner == user } ?? []
  }

  func lookupSubscriptions() throws(ServerError) -> JSONObject {
    let results = try items("subscriptions").map { (item) throws(ServerError) in
      guard let id = item["subscriptionID"]?.string else { throw .badRequest("Missing 'subscriptionID'") }
      return JSON.item(["subscriptionID": .string(id)]) { () throws(ServerError) in try subscription(id).json }
    }
    return ["subscriptions": .array(results)]
  }

  /// Performs the operations in order, each on its own. [D]
  func modifySubscriptions() throws(ServerError) -> [() -> Decision] {
    try items("operations").map { (item) throws(ServerError) in
      guard let type = item["operationType"]?.string, let object = item["subscription"]?.object else {
        throw .badRequest("Missing 'operationType' or 'subscription'")
      }
      return { [self] in
        let id = object["subscriptionID"]?.string ?? freeID()
        return .item(["subscriptionID": .string(id)]) { () throws(ServerError) in
          guard StoredRecord.isName(id) else { throw .badRequest("Invalid 'subscriptionID'") }
          switch type {
          case "create": break
          case "update": _ = try subscription(id)
          case "delete":
            let commit = world.commit(of: [.unsubscribed(try subscription(id).key)], in: home)
            return Decision(commit: commit) { ["subscriptionID": .string(id), "deleted": .bool(true)] }
          default: throw .badRequest("Unknown 'operationType'")
          }
          let new = try subscription(object, id)
          return Decision(commit: world.commit(of: [.subscribed(new)], in: home)) { new.json }
        }
      }
    }
  }

  /// Returns an ID that the owner does not use, including IDs from before a restart.
  private func freeID() -> String {
    let origin = "\(seed)/subscription/\(home.path)/\(call.route.scope)/\(call.milliseconds)"
    var number = subscriptions.count
    while true {
      let id = Derived.uuid("\(origin)/\(user)/\(number)")
      if !isUsed(id) { return id }
      number += 1
    }
  }

  /// Makes a new subscription, or one that replaces another. Creating an existing ID replaces it. [L3]
  private func subscription(_ object: JSONObject, _ id: String) throws(ServerError) -> Subscription {
    let owner = call.route.scope == .public ? database.owner : user
    let isZoneWide = assumptions.subscriptionsAreZoneWide
    let new = try Subscription(object, key: key(of: id), zonesOf: owner, isZoneWideByDefault: isZoneWide)
    // The framework has the other two kinds for the shared database; whether Web Services do is unknown. [FW]
    // (Question 18)
    guard call.route.scope != .shared || assumptions.acceptsSharedSubscriptions else {
      throw .badRequest("subscriptions are not applicable in the shared database")
    }
    switch new.kind {
    case .query(let type, let filters): try checkFilters(filters, type)
    case .zone: _ = try view(of: new.json["zoneID"])
    case .database:
      guard assumptions.acceptsDatabaseSubscriptions else { throw .badRequest("Unknown 'subscriptionType'") }
    }
    // [E] (Question 22)
    if let limit = assumptions.subscriptionLimit, !isUsed(id), subscriptions.count >= limit {
      throw ServerError(.quotaExceeded, "Too many subscriptions")
    }
    // The server fails like this instead of with EXISTS. [L3]
    if world.subscriptions[home]?.values.contains(where: { $0.collides(with: new) }) == true {
      throw ServerError(.internalError, "could not find subscription we just created")
    }
    return new
  }

  /// Checks filters by the rules of queries. Where writes extend the schema, filters on a type that does not exist yet
  /// are accepted. [E]
  private func checkFilters(_ filters: [JSONObject], _ type: String) throws(ServerError) {
    guard type != CKSchema.usersType else { throw .badRequest("Records of type 'Users' cannot be queried") }
    guard let recordType = schema?[type] else {
      guard learnsSchema else { throw unknownType(type) }
      return
    }
    for filter in filters {
      _ = try QueryFilter(filter, type: recordType, assumptions: assumptions)
    }
  }

  private func key(of id: String) -> Subscription.Key {
    Subscription.Key(scope: call.route.scope, owner: user, id: id)
  }

  private func isUsed(_ id: String) -> Bool { world.subscriptions[home]?[key(of: id)] != nil }

  private func subscription(_ id: String) throws(ServerError) -> Subscription {
    guard let known = world.subscriptions[home]?[key(of: id)] else {
      throw ServerError(.notFound, "Subscription not found")
    }
    return known
  }
}
