package import CloudKit

/// The differences between mirror and server in one zone.
package struct ZoneDifference: Sendable {
  /// How a record differs.
  package enum Kind: Int, Sendable {
    /// It exists only in the mirror.
    case onlyLocal
    /// It exists only on the server.
    case onlyServer
    /// It exists in both, in different versions.
    case different
  }

  package let zone: ZoneKey
  /// The number of records on the server.
  package fileprivate(set) var recordCount = 0
  /// False if the zone could not be compared: it has no change feed, and no record type of it is known.
  package fileprivate(set) var isCompared = true
  private var counts: [Kind: Int] = [:]
  /// The records that differ, each with its kind. The zones of a comparison share it.
  private let records: TemporaryRecords

  fileprivate init(_ zone: ZoneKey, in records: TemporaryRecords) { (self.zone, self.records) = (zone, records) }

  package var isEmpty: Bool { count == 0 }

  /// The number of records that differ.
  package var count: Int { counts.values.reduce(0, +) }

  /// The number of records that differ in one way.
  package func count(_ kind: Kind) -> Int { counts[kind, default: 0] }

  /// Whether the record of this name differs.
  package func contains(_ name: String) throws(StoreError) -> Bool {
    try records.number(of: RecordKey(zone, name)) != nil
  }

  /// Returns the next names of records that differ, in order; nil at the end.
  ///
  /// - Parameters:
  ///   - kind: nil for all.
  ///   - last: the last name so far, at first empty.
  package func names(_ kind: Kind? = nil, after last: inout String) throws(StoreError) -> [String]? {
    try records.next(of: zone, numbered: kind?.rawValue, after: &last)?.map(\.key.name)
  }

  fileprivate mutating func add(_ key: RecordKey, _ kind: Kind) throws(StoreError) {
    try records.put(TemporaryRecords.Row(key, number: kind.rawValue))
    counts[kind, default: 0] += 1
  }
}

/// Comparing the mirror with the server without changing either. Pending edits are not differences.
///
/// A page of the server's records is compared and forgotten, so that memory does not grow with the number of records.
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
    let found = try TemporaryRecords()
    var differences: [ZoneDifference] = []
    for zone in zones.filter(wanted).sorted() {
      if let wait = try store.serversWait(in: .zone(zone)) { throw wait }
      differences.append(try await verify(zone, found))
    }
    return differences
  }

  /// Compares again the records that differed.
  package func verify(again differences: [ZoneDifference]) async throws -> [ZoneDifference] {
    let found = try TemporaryRecords()
    var left: [ZoneDifference] = []
    for difference in differences {
      var (rest, last) = (ZoneDifference(difference.zone, in: found), "")
      (rest.recordCount, rest.isCompared) = (difference.recordCount, difference.isCompared)
      while let names = try difference.names(after: &last) { try await compare(names, &rest) }
      left.append(rest)
    }
    return left
  }

  private func verify(_ zone: ZoneKey, _ found: TemporaryRecords) async throws -> ZoneDifference {
    let (same, differing) = (0, 1)
    let records = try TemporaryRecords()
    try await fetch(zone, into: records) { page in
      try zip(page, mirrored(page.map(\.key))).map { record, local in
        TemporaryRecords.Row(record.key, number: local?.isSame(as: record) == true ? same : differing)
      }
    }
    var (difference, last) = (ZoneDifference(zone, in: found), "")
    difference.recordCount = try records.count(of: zone)
    difference.isCompared = try hasFeed(zone) || !store.knownTypes(in: zone).isEmpty
    while let names = try mirroredNames(in: zone, after: &last) {
      // Those that the server has, too, are there already.
      for name in names { try records.add(TemporaryRecords.Row(RecordKey(zone, name), number: differing)) }
    }
    last = ""
    // Queries lag behind writes, and another process may have synced meanwhile, so differences are checked again.
    while let rows = try records.next(of: zone, numbered: differing, after: &last) {
      try await compare(rows.map(\.key.name), &difference)
    }
    return difference
  }

  /// Compares the records of these names in a zone with the server's, and adds those that differ.
  private func compare(_ names: [String], _ difference: inout ZoneDifference) async throws {
    let zone = difference.zone
    let current = try await refetch(names, in: zone)
    let keys = names.map { RecordKey(zone, $0) }
    for (key, local) in zip(keys, try mirrored(keys)) {
      switch (local, current[key]) {
      case (nil, nil): continue
      case (_?, nil): try difference.add(key, .onlyLocal)
      case (nil, _?): try difference.add(key, .onlyServer)
      case (let local?, let other?): if !local.isSame(as: other) { try difference.add(key, .different) }
      }
    }
  }

  private func mirrored(_ keys: [RecordKey]) throws(StoreError) -> [MirrorRecord?] {
    try store.read { ledger in try keys.map(ledger.record) }
  }

  private func mirroredNames(in zone: ZoneKey, after last: inout String) throws(StoreError) -> [String]? {
    let names = try store.read { [last] in try $0.names(of: zone, after: last, limit: TemporaryRecords.slice) }
    guard let end = names.last else { return nil }
    last = end
    return names
  }

  private func hasFeed(_ zone: ZoneKey) -> Bool { database != .public && !zone.isDefaultZone }

  // MARK: - Fetching

  /// The zones of the database, as the server lists them.
  package func zonesOfServer() async throws -> [ZoneKey] {
    guard database != .public else { return [.defaultZone] }
    return try await client.listZones(in: database).compactMap { result in
      switch result {
      case .item(let zone):
        // In the private database the server names the owner of each zone; the store does not.
        let owner = database == .shared ? zone.zoneID.ownerRecordName ?? "" : ""
        return ZoneKey(zone: zone.zoneID.zoneName, owner: owner)
      case .deleted, .failure: return nil
      }
    }
  }

  /// All records of a zone: from its change feed, or type by type if it has none.
  ///
  /// - Parameter types: types to fetch in addition to those that the store knows, if there is no change feed.
  package func recordsOfServer(in zone: ZoneKey, types: [String] = []) async throws -> TemporaryRecords {
    let records = try TemporaryRecords()
    try await fetch(zone, types: types, into: records) { page in
      page.map { TemporaryRecords.Row($0.key, record: $0) }
    }
    return records
  }

  /// The records of a zone that match a query, in no order.
  ///
  /// - Throws: `CKError.invalidArguments` if the server does not support the query; `WebServicesError`.
  package func recordsOfServer(in zone: ZoneKey, matching query: CKQuery) async throws -> [MirrorRecord] {
    var records: [RecordKey: MirrorRecord] = [:]
    try await fetch(query.wire(zoneID: zone.zoneID), zone) { page in
      for (key, record) in page { records[key] = record }
    }
    return Array(records.values)
  }

  /// A record that the server reports, or the key of one that it no longer has.
  private typealias Reported = (key: RecordKey, record: MirrorRecord?)

  /// Fetches a zone page by page, and keeps a row for each of its records.
  ///
  /// - Parameter makeRows: returns the rows for the records of a page, in their order.
  private func fetch(
    _ zone: ZoneKey,
    types: [String] = [],
    into rows: TemporaryRecords,
    _ makeRows: ([MirrorRecord]) throws -> [TemporaryRecords.Row]
  ) async throws {
    func keep(_ page: [Reported]) throws {
      var made = try makeRows(page.compactMap(\.record)).makeIterator()
      // A record that changes during the fetch is reported again.
      for (key, record) in page {
        if record != nil, let row = made.next() { try rows.put(row) } else { try rows.remove(key) }
      }
    }
    guard hasFeed(zone) else {
      for type in Set(try store.knownTypes(in: zone) + types).sorted() {
        try await fetch(WireQuery(recordType: type), zone, keep)
      }
      return
    }
    try await fetchPages { token in
      let result = try await client.zoneChanges(zone.wire, since: token, in: database)
      switch result {
      case .failure(_, let error) where error.means(.zoneMissing, during: .fetchingZone): try rows.removeAll()
      case .failure(_, let error): throw error
      case .item(let page): try keep(reported(page.records, in: zone))
      case .deleted: try rows.removeAll()
      }
      return result
    }
  }

  private func fetch(_ query: WireQuery, _ zone: ZoneKey, _ take: ([Reported]) throws -> Void) async throws {
    try await fetchPages { marker in
      let page: WireResults<WireRecord>
      do {
        page = try await client.query(query, zone: zone.wire, continuing: marker, in: database)
      } catch let error as WebServicesError where error.means(.absent, during: .polling) {
        // The type does not exist on the server (yet).
        return nil
      }
      try take(reported(page.elements, in: zone))
      return page
    }
  }

  /// Fetches pages to the end, and changes nothing in the store.
  ///
  /// - Parameter next: fetches the page at a position; returns nil if there is nothing to fetch.
  private func fetchPages(_ next: (String?) async throws -> (any FeedPage)?) async throws {
    var position: String?
    var positions = FetchPositions()
    let limit = FeedLength.Limit(pages: configuration.pageLimit)
    var length = FeedLength()
    while !length.isEndless(limit) {
      try Task.checkCancellation()
      let start = store.now()
      guard let page = try await next(position), page.hasMore else { return }
      position = try positions.next(page.position)
      length.add(isEmpty: page.isEmpty, milliseconds: store.now() - start)
    }
    throw WebServicesError.endless(pages: length.pages)
  }

  private func reported(_ results: [WireResult<WireRecord>], in zone: ZoneKey) throws -> [Reported] {
    try results.compactMap { result -> Reported? in
      switch result {
      case .item(let wire): return (RecordKey(zone, wire.recordName), MirrorRecord(wire, in: zone))
      // A full fetch also reports records that were deleted during the fetch.
      case .deleted(let name, _): return (RecordKey(zone, name), nil)
      case .failure(_, let error) where error.means(.absent, during: .fetchingRecord): return nil
      // It has a value that the local copy cannot have, so both differ.
      case .failure(let name?, _) where result.misfit != nil:
        let key = RecordKey(zone, name)
        return (key, MirrorRecord(key: key, type: "", changeTag: "", fields: [:]))
      // An error does not mean that the record is missing.
      case .failure(let name, var error):
        if let name { error.reason = "\(name): \(error.reason)" }
        throw error
      }
    }
  }

  /// Records of a zone; names that the server does not know are omitted.
  package func refetch(_ names: [String], in zone: ZoneKey) async throws -> [RecordKey: MirrorRecord] {
    var records: [RecordKey: MirrorRecord] = [:]
    var left = names[...]
    while !left.isEmpty {
      let part = Array(left.prefix(TemporaryRecords.slice))
      var results: [WireResult<WireRecord>]
      do {
        results = try await client.lookup(part, zone: zone.wire, in: database)
      } catch {
        if error.means(.zoneMissing, during: .verifying(isWhole: true)) { return [:] }
        throw error
      }
      // Request again the records that did not fit into the reply, as long as some did.
      let rest = results.compactMap(\.omitted)
      if rest.count < part.count { results.removeAll { $0.omitted != nil } }
      for (key, record) in try reported(results, in: zone) { records[key] = record }
      left = rest + left.dropFirst(part.count)
    }
    return records
  }
}

extension SyncStore {
  /// The record types of a zone in the mirror or in polled queries.
  func knownTypes(in zone: ZoneKey) throws(StoreError) -> [String] {
    try read { ledger in
      let polled = try ledger.polledQueries().filter { $0.zoneKey == zone }.map(\.type)
      return Set(try ledger.recordTypes(in: zone) + polled).sorted()
    }
  }
}

extension WireResult<WireRecord> {
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
