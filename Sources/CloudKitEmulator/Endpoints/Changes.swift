import JSONText

/// `changes/zone` and `changes/database` (reference 5.6, 5.7), and the two deprecated calls they replace
/// (reference 5.12). [D]
extension EmulatorCore {
  func zoneChanges(_ call: Call) throws(ServerError) -> JSONObject {
    var results: [JSON] = []
    var room = configuration.answerSizeLimit
    var zones: Set<String> = []
    for item in try items("zones", of: call.body) {
      guard let zoneID = item["zoneID"] else { throw .badRequest("Missing 'zoneID'") }
      do throws(ServerError) {
        let place = try place(zoneID, for: call)
        guard zones.insert(place.path).inserted else { throw ServerError.badRequest("The zone appears more than once") }
        var page: JSONObject = ["zoneID": place.zone.zoneID]
        for member in try changes(in: place, item, call, &room).members { page.append(member.key, member.value) }
        results.append(.object(page))
      } catch {
        if error.isAboutToken, configuration.assumptions.expiredSyncToken == .refusesRequest { throw error }
        results.append(.object(error.members(after: ["zoneID": zoneID])))
      }
    }
    return ["zones": .array(results)]
  }

  func recordChanges(_ call: Call) throws(ServerError) -> JSONObject {
    var room = configuration.answerSizeLimit
    return try changes(in: try place(call.body["zoneID"], for: call), call.body, call, &room)
  }

  /// Returns one page of a zone's history: each record once, in its latest state, in order of the last change. [E]
  /// (Question 16)
  ///
  /// - Parameter room: The remaining bytes for records in the response. An empty response accepts any record.
  private func changes(
    in place: Place,
    _ request: JSONObject,
    _ call: Call,
    _ room: inout Int
  ) throws(ServerError) -> JSONObject {
    let zone = place.zone
    // Observed wording. [L3]
    guard zone.isCustom else { throw .badRequest("cannot get changes in default zone") }
    if call.faults.expiresTokens, request["syncToken"] != nil { throw SyncToken.expired(configuration.assumptions) }
    let start = try SyncToken.sequence(
      in: request["syncToken"],
      kind: .zone,
      identity: zone.identity,
      newest: zone.sequence,
      assumptions: configuration.assumptions
    )
    let token = { (sequence: Int64) in
      JSON.string(SyncToken(kind: .zone, identity: zone.identity, sequence: sequence).text)
    }
    if call.faults.emptiesPages {
      return ["records": .array([]), "syncToken": token(start), "moreComing": .bool(true)]
    }
    let limit = try pageLimit(request, otherwise: call.body)
    // The keys of a zone override those of the request. [D]
    let keys = Self.names(request["desiredKeys"] ?? call.body["desiredKeys"])
    let types = Self.names(request["desiredRecordTypes"] ?? call.body["desiredRecordTypes"])
    let isReverse = (request["reverse"] ?? call.body["reverse"])?.bool ?? false
    var itemCall = call
    if let encoding = Call.encoding(request) {
      itemCall.body.append("numbersAsStrings", .bool(encoding.numbersAsStrings))
    }

    var records: [JSON] = []
    var reached = start
    var moreComing = false
    // In reverse order, there is only one page. [E]
    let feed = zone.records.changes(after: start, limit: isReverse ? .max : limit + 1)
    for change in isReverse ? feed.reversed() : feed {
      guard records.count < limit else {
        // There is no further page in reverse order, because tokens only move forward.
        moreComing = !isReverse
        break
      }
      let record = zone.records[change.name]
      guard record?.content.fits(&room, of: configuration) ?? true else {
        moreComing = !isReverse
        break
      }
      if !isReverse { reached = change.sequence }
      if let record {
        if let access = place.access, !access.sees(record.name) {
          guard access.mayKnow(record.shares(in: zone)) else { continue }
          records.append(Tombstone(record).json(zoneID: zone.zoneID))
        } else if types?.contains(record.type) ?? true {
          records.append(json(record, in: place, keys: keys, itemCall))
        }
        // Tombstones are included even if `desiredRecordTypes` is set: the real service does not filter reliably
        // either. [L1]
      } else if let tombstone = zone.records.tombstone(of: change.name), !tombstone.isSilent,
        place.access?.mayKnow(tombstone.shares) ?? true
      {
        records.append(tombstone.json(zoneID: zone.zoneID))
      }
    }
    if configuration.assumptions.changesOrder == .recordName { records.sort { $0.recordName < $1.recordName } }
    if !isReverse, !moreComing { moreComing = !zone.records.changes(after: reached, limit: 1).isEmpty }
    if call.faults.stallsMarkers { (reached, moreComing) = (start, true) }
    return [
      "records": .array(records), "syncToken": token(moreComing ? reached : zone.sequence),
      "moreComing": .bool(moreComing),
    ]
  }

  func databaseChanges(_ call: Call) throws(ServerError) -> JSONObject {
    call.route.scope == .shared ? try sharedChanges(call) : try databasePage(call, tokenKey: "syncToken")
  }

  /// Returns the response of `zones/changes`. It uses `metaSyncToken` and ignores `syncToken`. [L3]
  func legacyZoneChanges(_ call: Call) throws(ServerError) -> JSONObject {
    let database = database(for: call)
    // A 400 was observed if there is only the default zone; the wording is that of records/changes. [L3]
    guard database.zones.count > 1 || !database.deletedZones.isEmpty else {
      throw .badRequest("cannot get changes in default zone")
    }
    return try databasePage(call, tokenKey: "metaSyncToken")
  }

  private func databasePage(_ call: Call, tokenKey: String) throws(ServerError) -> JSONObject {
    let database = database(for: call)
    if call.faults.expiresTokens, call.body[tokenKey] != nil { throw SyncToken.expired(configuration.assumptions) }
    let start = try SyncToken.sequence(
      in: call.body[tokenKey],
      kind: .database,
      identity: database.identity,
      newest: database.sequence,
      assumptions: configuration.assumptions
    )
    let limit = try pageLimit(call.body)
    let live = database.zones.values.filter { $0.isCustom && $0.changed > start }
      .map { (sequence: $0.changed, json: JSON.object($0.summary)) }
    let gone = database.deletedZones.filter { $0.value > start }
      .map { (sequence: $0.value, json: JSON.object(["zoneID": database.zoneID($0.key), "deleted": .bool(true)])) }
    let all = (live + gone).sorted { $0.sequence < $1.sequence }
    let page = call.faults.emptiesPages ? [] : Array(all.prefix(limit))
    let moreComing = call.faults.emptiesPages || call.faults.stallsMarkers || all.count > limit
    let reached =
      call.faults.stallsMarkers ? start : moreComing ? page.last?.sequence ?? start : database.sequence
    let token = SyncToken(kind: .database, identity: database.identity, sequence: reached)
    return ["zones": .array(page.map(\.json)), tokenKey: .string(token.text), "moreComing": .bool(moreComing)]
  }
}

extension ZoneState {
  var summary: JSONObject { ["zoneID": zoneID, "syncToken": .string(token.text)] }
}

extension DatabaseState {
  fileprivate func zoneID(_ name: String) -> JSON {
    .object(["zoneName": .string(name), "ownerRecordName": .string(owner)])
  }
}

extension JSON {
  fileprivate var recordName: String { object?["recordName"]?.string ?? "" }
}

extension ServerError {
  /// Whether the error is about a sync token. Such errors have no code of their own. [L1]
  fileprivate var isAboutToken: Bool { reason.contains("continuation") }
}

extension StoredRecord {
  /// Returns the shares that the record belongs to or last belonged to.
  fileprivate func shares(in zone: ZoneState) -> [String] {
    [zone.share(of: name), left].compactMap(\.self)
  }
}

extension Tombstone {
  /// The tombstone that users see when a record is removed from their view.
  fileprivate init(_ record: StoredRecord) {
    self.init(name: record.name, type: record.type, sequence: record.sequence, tag: record.tag)
  }

  /// Returns the dictionary, without fields. The other keys were observed on first-party hosts. [L1]
  fileprivate func json(zoneID: JSON) -> JSON {
    .object([
      "recordName": .string(name), "recordType": .null, "recordChangeTag": .string(tag), "deleted": .bool(true),
      "zoneID": zoneID,
    ])
  }
}
