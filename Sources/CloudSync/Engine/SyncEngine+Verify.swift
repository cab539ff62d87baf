package import CloudKit

/// The differences between mirror and server in one zone.
package struct ZoneDifference: Hashable, Sendable {
  package var zone: ZoneKey
  /// Names of records that exist only in the mirror.
  package var onlyLocal: [String] = []
  /// Names of records that exist only on the server.
  package var onlyServer: [String] = []
  /// Names of records that exist in both, in different versions.
  package var different: [String] = []
  /// The number of records on the server.
  package var recordCount = 0
  /// False if the zone could not be compared: it has no change feed, and no record type of it is known.
  package var isCompared = true

  package var isEmpty: Bool { names.isEmpty }

  /// The names of all records that differ.
  package var names: [String] { onlyLocal + onlyServer + different }

  package init(zone: ZoneKey, recordCount: Int = 0) { (self.zone, self.recordCount) = (zone, recordCount) }
}

/// Comparing the mirror with the server without changing either. Pending edits are not differences.
extension SyncEngine {
  /// Compares every zone of mirror and server.
  ///
  /// - Parameter wanted: Returns whether to compare a zone.
  /// - Throws: `WebServicesError`, also for a wait of the server, without asking it again; `StoreError` if the store
  ///   belongs to another user.
  package func verify(_ wanted: (ZoneKey) -> Bool = { _ in true }) async throws -> [ZoneDifference] {
    if let wait = try store.serversWait() { throw wait }
    try await rejectWrongAccount()
    var zones = Set(try store.view { try $0.zones() }.filter { $0.records > 0 || $0.key.isDefaultZone }.map(\.key))
    zones.formUnion(try await zonesOfServer())
    var differences: [ZoneDifference] = []
    for zone in zones.filter(wanted).sorted() {
      if let wait = try store.serversWait(in: .zone(zone)) { throw wait }
      differences.append(try await verify(zone))
    }
    return differences
  }

  private func verify(_ zone: ZoneKey) async throws -> ZoneDifference {
    let server = try await recordsOfServer(in: zone)
    let mirror = try mirrorRecords(zone)
    var difference = ZoneDifference(zone: zone, recordCount: server.count)
    difference.isCompared = try hasFeed(zone) || !store.knownTypes(in: zone).isEmpty
    var differing = Set(mirror.keys).symmetricDifference(server.keys)
    for (name, record) in mirror { if let other = server[name], !record.isSame(as: other) { differing.insert(name) } }
    // Queries lag behind writes, and another process may have synced meanwhile, so differences are checked again.
    try await compare(differing.sorted(), &difference)
    return difference
  }

  /// Compares the records of these names in a zone with the server's, and adds those that differ.
  package func compare(_ names: [String], _ difference: inout ZoneDifference) async throws {
    let zone = difference.zone
    for start in stride(from: 0, to: names.count, by: 200) {
      let part = Array(names[start..<min(start + 200, names.count)])
      let current = try await lookUp(part, in: zone)
      for name in part {
        let local = try store.records(named: name, zone: zone, mirrorOnly: true).first?.record
        switch (local, current[name]) {
        case (nil, nil): continue
        case (_?, nil): difference.onlyLocal.append(name)
        case (nil, _?): difference.onlyServer.append(name)
        case (let local?, let other?): if !local.isSame(as: other) { difference.different.append(name) }
        }
      }
    }
  }

  private func hasFeed(_ zone: ZoneKey) -> Bool { database != .public && !zone.isDefaultZone }

  private func mirrorRecords(_ zone: ZoneKey) throws -> [String: MirrorRecord] {
    var records: [String: MirrorRecord] = [:]
    for row in try store.records(after: nil, zone: zone, mirrorOnly: true, limit: .max) {
      records[row.record.key.name] = row.record
    }
    return records
  }

  // MARK: - Reading the server

  /// The zones of the database, as the server lists them.
  package func zonesOfServer() async throws -> [ZoneKey] {
    guard database != .public else { return [.defaultZone] }
    return try await client.listZones(in: database).compactMap { result in
      switch result {
      case .zone(let zone) where zone.deleted != true:
        // In the private database the server names the owner of each zone; the store does not.
        let owner = database == .shared ? zone.zoneID.ownerRecordName ?? "" : ""
        return ZoneKey(zone: zone.zoneID.zoneName, owner: owner)
      case .zone, .failure: return nil
      }
    }
  }

  /// All records of a zone by name: from its change feed, or type by type if it has none.
  ///
  /// - Parameter types: types to fetch in addition to those that the store knows, if there is no change feed.
  package func recordsOfServer(in zone: ZoneKey, types: [String] = []) async throws -> [String: MirrorRecord] {
    if hasFeed(zone) { return try await recordsOfFeed(zone) }
    var records: [String: MirrorRecord] = [:]
    for type in Set(try store.knownTypes(in: zone) + types).sorted() {
      try await read(WireQuery(recordType: type), zone, into: &records)
    }
    return records
  }

  /// The records of a zone that match a query, in no order.
  ///
  /// - Throws: `CKError.invalidArguments` if the server does not support the query; `WebServicesError`.
  package func recordsOfServer(in zone: ZoneKey, matching query: CKQuery) async throws -> [MirrorRecord] {
    var records: [String: MirrorRecord] = [:]
    try await read(query.wire(zoneID: zone.zoneID), zone, into: &records)
    return Array(records.values)
  }

  private func recordsOfFeed(_ zone: ZoneKey) async throws -> [String: MirrorRecord] {
    var records: [String: MirrorRecord] = [:]
    try await readPages { token in
      let result = try await client.zoneChanges(zone.wire, since: token, in: database)
      switch result {
      case .failure(_, let error) where error.means(.zoneMissing, during: .fetchingZone): records = [:]
      case .failure(_, let error): throw error
      case .changes(let page): try take(page.records, zone, into: &records)
      }
      return result
    }
    return records
  }

  private func read(_ query: WireQuery, _ zone: ZoneKey, into records: inout [String: MirrorRecord]) async throws {
    try await readPages { marker in
      let page: WireRecords
      do {
        page = try await client.query(query, zone: zone.wire, continuing: marker, in: database)
      } catch let error as WebServicesError where error.means(.absent, during: .polling) {
        // The type does not exist on the server (yet).
        return nil
      }
      try take(page.records, zone, into: &records)
      return page
    }
  }

  /// Fetches pages to the end, and changes nothing in the store.
  ///
  /// - Parameter next: fetches the page at a position; returns nil if there is nothing to fetch.
  private func readPages(_ next: (String?) async throws -> (any FeedPage)?) async throws {
    var position: String?
    var positions = FetchPositions()
    for _ in 0..<configuration.pageLimit {
      try Task.checkCancellation()
      guard let page = try await next(position), page.hasMore else { return }
      position = try positions.next(page.position)
    }
    throw WebServicesError.endless(pages: configuration.pageLimit)
  }

  private func take(_ results: [WireRecordResult], _ zone: ZoneKey, into records: inout [String: MirrorRecord]) throws {
    for result in results {
      switch result {
      case .record(let wire): records[wire.recordName] = MirrorRecord(wire, in: zone)
      // A full fetch also reports records that were deleted during the fetch.
      case .deleted(let name, _): records[name] = nil
      case .failure(_, let error) where error.means(.absent, during: .fetchingRecord): continue
      // It has a value that the local copy cannot have, so both differ.
      case .failure(let name?, _) where result.misfit != nil:
        records[name] = MirrorRecord(key: RecordKey(zone, name), type: "", changeTag: "", fields: [:])
      // An error does not mean that the record is missing.
      case .failure(let name, var error):
        if let name { error.reason = "\(name): \(error.reason)" }
        throw error
      }
    }
  }

  /// Records of a zone by name; names that the server does not know are omitted.
  package func lookUp(_ names: [String], in zone: ZoneKey) async throws -> [String: MirrorRecord] {
    var records: [String: MirrorRecord] = [:]
    var left = names[...]
    while !left.isEmpty {
      let part = Array(left.prefix(200))
      var results: [WireRecordResult]
      do {
        results = try await client.lookup(part, zone: zone.wire, in: database)
      } catch {
        if error.means(.zoneMissing, during: .verifying(isWhole: true)) { return [:] }
        throw error
      }
      // Request again the records that did not fit into the reply, as long as some did.
      let rest = results.compactMap(\.omitted)
      if rest.count < part.count { results.removeAll { $0.omitted != nil } }
      try take(results, zone, into: &records)
      left = rest + left.dropFirst(part.count)
    }
    return records
  }
}

extension SyncStore {
  /// The record types of a zone in the mirror or in polled queries.
  func knownTypes(in zone: ZoneKey) throws(StoreError) -> [String] {
    try read { ledger in
      let polled = try ledger.polledQueries().filter { $0.zone == zone }.map(\.type)
      return Set(try ledger.recordTypes(in: zone) + polled).sorted()
    }
  }
}

extension WireRecordResult {
  /// The record's name, if the reply had no room for it.
  fileprivate var omitted: String? {
    if case .failure(let name, let error) = self, error.means(.split, during: .fetchingRecord) { name } else { nil }
  }
}

extension MirrorRecord {
  /// Whether both are the same version with the same content.
  func isSame(as other: MirrorRecord) -> Bool {
    type == other.type && changeTag == other.changeTag && fields.isSame(as: other.fields)
  }
}
