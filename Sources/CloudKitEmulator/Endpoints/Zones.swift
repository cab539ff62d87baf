import JSONText

/// `zones/list`, `zones/lookup` and `zones/modify` (reference 5.5). [D]
extension EmulatorCore {
  /// Lists zones. Which zones the public and the shared database list is not documented [E]; the other keys of the
  /// response were observed. [L1]
  func listZones(_ call: Call) -> JSONObject {
    let places = places(for: call)
    let token = call.route.scope == .shared ? SharedToken(places).text : database(for: call).token.text
    return [
      "zones": .array(places.map(\.zone.json)), "syncToken": .string(token), "moreComing": .bool(false),
    ]
  }

  func lookupZones(_ call: Call) throws(ServerError) -> JSONObject {
    var results: [JSON] = []
    for item in try items("zones", of: call.body) {
      // Zone IDs are bare here and wrapped in an object only in zones/modify. Both forms are accepted. [E]
      let zoneID = item["zoneID"] ?? .object(item)
      results.append(try result(zoneID) { () throws(ServerError) in try place(zoneID, for: call).zone.json })
    }
    return ["zones": .array(results)]
  }

  /// Performs the operations in order, each on its own; zone operations are never atomic. [D]
  func modifyZones(_ call: Call) throws(ServerError) -> JSONObject {
    let database = database(for: call)
    // A request with an invalid operation does nothing.
    let operations = try items("operations", of: call.body).map { (item) throws(ServerError) in
      guard let type = item["operationType"]?.string, ["create", "delete"].contains(type),
        let zoneID = item["zone"]?.object?["zoneID"]
      else { throw .badRequest("Missing or unknown 'operationType', or missing 'zone'") }
      return (type, zoneID)
    }
    var results: [JSON] = []
    for (type, zoneID) in operations {
      results.append(
        try result(zoneID) { () throws(ServerError) in
          type == "create"
            ? try createZone(zoneID, in: database, call) : try deleteZone(zoneID, in: database)
        }
      )
    }
    return ["zones": .array(results)]
  }

  private func result(_ zoneID: JSON, _ body: () throws(ServerError) -> JSON) throws(ServerError) -> JSON {
    do throws(ServerError) {
      return try body()
    } catch {
      guard error.code != .internalError else { throw error }
      return .object(error.members(after: ["zoneID": zoneID]))
    }
  }

  /// Creates a zone. By default, creating a zone that exists succeeds and changes nothing. [E] (Question 11)
  private func createZone(_ zoneID: JSON, in database: DatabaseState, _ call: Call) throws(ServerError) -> JSON {
    let (name, owner) = try Self.zoneName(zoneID)
    // [E]
    guard owner == nil || owner == database.owner else {
      throw ServerError(.accessDenied, "Zones of another owner cannot be created")
    }
    if let zone = database.zones[name] {
      if assumptions.existingZone == .exists { throw ServerError(.exists, "zone to insert already exists") }
      return zone.json
    }
    guard StoredRecord.isName(name), !name.hasPrefix("_") else { throw .badRequest("Invalid zone name") }
    // The limit does not count the default zone. [E] (Question 22)
    if let limit = assumptions.zoneLimit, database.zones.count > limit {
      throw ServerError(.quotaExceeded, "Too many zones")
    }
    let origin = "\(seed)/\(database.key.path)/\(name)/\(database.counter + 1)/\(call.milliseconds)"
    var commit = Commit(database: database.key, counter: database.counter + 1, sequence: database.sequence + 1)
    let row = Commit.ZoneRow(name: name, identity: Derived.number(origin), sequence: 0, changed: commit.sequence)
    commit.changes = [.zoneCreated(row)]
    try self.commit(commit)
    return try zone(zoneID, in: database).json
  }

  private var assumptions: EmulatorAssumptions { configuration.assumptions }

  /// Deletes a zone. The error codes for missing zones and for the default zone are not documented. [E] (Question 11)
  func deleteZone(_ zoneID: JSON, in database: DatabaseState) throws(ServerError) -> JSON {
    let (name, _) = try Self.zoneName(zoneID)
    if assumptions.missingZone == .succeeds, database.zones[name] == nil {
      return .object(["zoneID": zoneID, "deleted": .bool(true)])
    }
    let zone = try zone(zoneID, in: database)
    guard zone.isCustom else {
      let isBadRequest = assumptions.defaultZoneDeletion == .badRequest
      throw ServerError(isBadRequest ? .badRequest : .accessDenied, "The default zone cannot be deleted")
    }
    var commit = Commit(database: database.key, counter: database.counter + 1, sequence: database.sequence + 1)
    commit.changes = [.zoneDeleted(name: zone.name, sequence: commit.sequence)]
    try self.commit(commit)
    return .object(["zoneID": zone.zoneID, "deleted": .bool(true)])
  }
}
