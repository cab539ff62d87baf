import JSONText

/// `zones/list`, `zones/lookup` and `zones/modify` (reference 5.5). [D]
extension Endpoint {
  /// Lists zones. Which zones the public and the shared database list is not documented [E]; the other keys of the
  /// response were observed. [L1]
  func listZones() -> JSONObject {
    let views = views()
    let token = call.route.scope == .shared ? SharedToken(views).text : database.token.text
    return [
      "zones": .array(views.map { .object($0.zone.json) }), "syncToken": .string(token), "moreComing": .bool(false),
    ]
  }

  func lookupZones() throws(ServerError) -> JSONObject {
    let results = try items("zones").map { item in
      // Zone IDs are bare here and wrapped in an object only in zones/modify. Both forms are accepted. [E]
      let zoneID = item["zoneID"] ?? .object(item)
      return JSON.item(["zoneID": zoneID]) { () throws(ServerError) in try view(of: zoneID).zone.json }
    }
    return ["zones": .array(results)]
  }

  /// Performs the operations in order, each on its own; zone operations are never atomic. [D]
  func modifyZones() throws(ServerError) -> [() -> Decision] {
    // A request with an invalid operation does nothing.
    try items("operations").map { (item) throws(ServerError) in
      guard let type = item["operationType"]?.string, ["create", "delete"].contains(type),
        let zoneID = item["zone"]?.object?["zoneID"]
      else { throw .badRequest("Missing or unknown 'operationType', or missing 'zone'") }
      return { [self] in
        .item(["zoneID": zoneID], failsAlone: false) { () throws(ServerError) in
          type == "create" ? try creation(ofZone: zoneID) : try deletion(ofZone: zoneID)
        }
      }
    }
  }

  /// Creates a zone. By default, creating a zone that exists succeeds and changes nothing. [E] (Question 11)
  private func creation(ofZone zoneID: JSON) throws(ServerError) -> Decision {
    let database = database
    let (name, owner) = try Self.zoneName(zoneID)
    // [E]
    guard owner == nil || owner == database.owner else {
      throw ServerError(.accessDenied, "Zones of another owner cannot be created")
    }
    if let zone = database.zones[name] {
      if assumptions.existingZone == .exists { throw ServerError(.exists, "zone to insert already exists") }
      return Decision { zone.json }
    }
    guard StoredRecord.isName(name), !name.hasPrefix("_") else { throw .badRequest("Invalid zone name") }
    // The limit does not count the default zone. [E] (Question 22)
    if let limit = assumptions.zoneLimit, database.zones.count > limit {
      throw ServerError(.quotaExceeded, "Too many zones")
    }
    var commit = Commit(database: database.key, counter: database.counter + 1, sequence: database.sequence + 1)
    let origin = "\(seed)/\(database.key.path)/\(name)/\(commit.counter)/\(call.milliseconds)"
    let row = Commit.ZoneRow(name: name, identity: Derived.number(origin), sequence: 0, changed: commit.sequence)
    commit.changes = [.zoneCreated(row)]
    return Decision(commit: commit) { [self] () throws(ServerError) in try view(of: zoneID).zone.json }
  }

  /// Deletes a zone. Web Services document neither the error for missing zones nor that for the default zone [E]; the
  /// framework has an error for the former. [FW] (Question 11)
  func deletion(ofZone zoneID: JSON) throws(ServerError) -> Decision {
    let database = database
    if assumptions.missingZone == .succeeds, database.zones[try Self.zoneName(zoneID).name] == nil {
      return Decision { ["zoneID": zoneID, "deleted": .bool(true)] }
    }
    let zone = try view(of: zoneID).zone
    guard zone.isCustom else {
      let isBadRequest = assumptions.defaultZoneDeletion == .badRequest
      throw ServerError(isBadRequest ? .badRequest : .accessDenied, "The default zone cannot be deleted")
    }
    var commit = Commit(database: database.key, counter: database.counter + 1, sequence: database.sequence + 1)
    commit.changes = [.zoneDeleted(name: zone.name, sequence: commit.sequence)]
    return Decision(commit: commit) { ["zoneID": zone.zoneID, "deleted": .bool(true)] }
  }
}
