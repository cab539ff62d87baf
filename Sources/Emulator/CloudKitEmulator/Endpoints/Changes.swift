import JSONText

/// `changes/zone` and `changes/database` (reference 5.6, 5.7), and the two deprecated calls they replace
/// (reference 5.12). [D]
extension Endpoint {
  func zoneChanges() throws(ServerError) -> JSONObject {
    var room = configuration.answerSizeLimit
    var zones: Set<String> = []
    let results = try items("zones").map { (item) throws(ServerError) in
      guard let zoneID = item["zoneID"] else { throw .badRequest("Missing 'zoneID'") }
      do throws(ServerError) {
        let view = try view(of: zoneID)
        guard zones.insert(view.path).inserted else { throw ServerError.badRequest("The zone appears more than once") }
        return JSON.object(.joining(["zoneID": view.zone.zoneID], try changes(in: view, item, &room)))
      } catch {
        if error.isAboutToken, assumptions.expiredSyncToken == .refusesRequest { throw error }
        return .object(error.members(after: ["zoneID": zoneID]))
      }
    }
    return ["zones": .array(results)]
  }

  func recordChanges() throws(ServerError) -> JSONObject {
    var room = configuration.answerSizeLimit
    return try changes(in: try view(of: call.body["zoneID"]), call.body, &room)
  }

  /// Returns one page of a zone's history: each record once, in its latest state, in order of the last change. [E]
  /// (Question 16)
  ///
  /// - Parameter room: The remaining bytes for records in the response. An empty response accepts any record.
  private func changes(
    in view: ZoneView,
    _ request: JSONObject,
    _ room: inout Int
  ) throws(ServerError) -> JSONObject {
    let zone = view.zone
    // Observed wording. [L3]
    guard zone.isCustom else { throw .badRequest("cannot get changes in default zone") }
    let start = try startOfPage(request["syncToken"], zone.token)
    let token = { (sequence: Int64) in
      JSON.string(SyncToken(kind: .zone, identity: zone.identity, sequence: sequence).text)
    }
    if call.faults.emptiesPages {
      return ["records": .array([]), "syncToken": token(start), "moreComing": .bool(true)]
    }
    let limit = try pageLimit(request)
    // The keys of a zone override those of the request. [D]
    let keys = Self.names(request["desiredKeys"] ?? call.body["desiredKeys"])
    let types = Self.names(request["desiredRecordTypes"] ?? call.body["desiredRecordTypes"])
    let isReverse = (request["reverse"] ?? call.body["reverse"])?.bool ?? false
    let encoder = encoder(Call.encoding(request))

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
        if let access = view.access, !access.sees(record.name) {
          guard access.mayKnow(record.shares(in: zone)) else { continue }
          records.append(Tombstone(record).json(zoneID: zone.zoneID))
        } else if types?.contains(record.type) ?? true {
          records.append(.object(encoder.json(record, in: view, keys: keys)))
        }
        // Tombstones are included even if `desiredRecordTypes` is set: the real service does not filter reliably
        // either. [L1]
      } else if let tombstone = zone.records.tombstone(of: change.name), !tombstone.isSilent,
        view.access?.mayKnow(tombstone.shares) ?? true
      {
        records.append(tombstone.json(zoneID: zone.zoneID))
      }
    }
    if assumptions.changesOrder == .recordName { records.sort { $0.recordName < $1.recordName } }
    if !isReverse, !moreComing { moreComing = !zone.records.changes(after: reached, limit: 1).isEmpty }
    if call.faults.stallsMarkers { (reached, moreComing) = (start, true) }
    return [
      "records": .array(records), "syncToken": token(moreComing ? reached : zone.sequence),
      "moreComing": .bool(moreComing),
    ]
  }

  /// Returns the sequence number in a client's token.
  ///
  /// - Parameter newest: The token of the newest change.
  private func startOfPage(_ json: JSON?, _ newest: SyncToken) throws(ServerError) -> Int64 {
    if call.faults.expiresTokens, json != nil { throw SyncToken.expired(assumptions) }
    return try newest.sequence(of: json, assumptions: assumptions)
  }

  func databaseChanges() throws(ServerError) -> JSONObject {
    call.route.scope == .shared ? try sharedChanges() : try databasePage(tokenKey: "syncToken")
  }

  /// Returns the response of `zones/changes`. It uses `metaSyncToken` and ignores `syncToken`. [L3]
  func legacyZoneChanges() throws(ServerError) -> JSONObject {
    // A 400 was observed if there is only the default zone; the wording is that of records/changes. [L3]
    guard database.zones.count > 1 || !database.deletedZones.isEmpty else {
      throw .badRequest("cannot get changes in default zone")
    }
    return try databasePage(tokenKey: "metaSyncToken")
  }

  private func databasePage(tokenKey: String) throws(ServerError) -> JSONObject {
    let database = database
    let start = try startOfPage(call.body[tokenKey], database.token)
    let limit = try pageLimit()
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
    [zone.share(of: name), formerShare].compactMap(\.self)
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
