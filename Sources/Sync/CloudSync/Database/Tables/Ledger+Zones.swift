import CloudKit
import GRDB

/// The tables `zones`, `polledQueries` and `throttles`.
extension Ledger {
  func zone(_ key: ZoneKey) throws -> KnownZone? {
    try row("SELECT * FROM zones WHERE zone = ? AND owner = ?", [key.zone, key.owner]).map(KnownZone.init(row:))
  }

  func zones() throws -> [KnownZone] {
    try rows("SELECT * FROM zones ORDER BY owner, zone").map(KnownZone.init(row:))
  }

  /// The zones that the server deleted, and that retrying a change or putting a record creates again.
  func goneZones() throws -> [ZoneKey] {
    try rows("SELECT zone, owner FROM zones WHERE \(Self.isGone) ORDER BY owner, zone")
      .map { ZoneKey(zone: $0["zone"], owner: $0["owner"]) }
  }

  /// `KnownZone.isGone` as a condition.
  static let isGone =
    "state = 'deleted' AND heldSince IS NULL AND owner = '' AND zone <> '\(WireZoneID.defaultZoneName)'"

  /// The version of the deletions on hold in a zone; nil if there are none.
  func heldVersion(of zone: KnownZone) throws -> String? {
    guard let since = zone.heldSince else { return nil }
    let key = zone.key
    return try one("SELECT heldNumber FROM zones WHERE zone = ? AND owner = ?", [key.zone, key.owner])
      .map { DecisionVersion.hold(key, since: since, number: $0) }
  }

  func removeZone(_ key: ZoneKey) throws {
    try run("DELETE FROM zones WHERE zone = ? AND owner = ?", [key.zone, key.owner])
    try removeUnreadable(key, type: nil)
    try removeUnreadableRecords(in: key)
  }

  // MARK: - Polled queries

  func removePolledQueries() throws { try run("DELETE FROM polledQueries") }

  /// Makes the polled queries of a zone fetch every record again and look for deletions.
  func restartPolling(of zone: ZoneKey) throws {
    let sql = "UPDATE polledQueries SET watermark = NULL, scannedAt = NULL WHERE zone = ? AND owner = ?"
    try run(sql, [zone.zone, zone.owner])
  }

  func polledQueries() throws -> [PolledQuery] {
    try rows("SELECT * FROM polledQueries ORDER BY owner, zone, type").map(PolledQuery.init(row:))
  }

  // MARK: - Waits

  func wait(_ scope: WaitScope) throws -> ScopeWait? { try ScopeWait.fetchOne(database, key: scope) }

  /// Waits that end after a time, by the name of their scope.
  func waits(after time: Int64) throws -> [ScopeWait] {
    let sql = "SELECT * FROM throttles WHERE until > ? ORDER BY scope"
    return try ScopeWait.fetchAll(database.cachedStatement(sql: sql), arguments: [time])
  }

  func removeWait(_ scope: WaitScope) throws { try ScopeWait.deleteOne(database, key: scope) }
}

/// Changing the state of zones.
extension Ledger {
  /// Adds a zone; a known one keeps its state. The default zone always exists.
  func insertZone(_ key: ZoneKey, state: ZoneState) throws {
    if try zone(key) == nil { try put(KnownZone(key, state: key.isDefaultZone ? .ready : state)) }
  }

  func setState(_ key: ZoneKey, _ state: ZoneState) throws {
    try change(key, from: KnownZone(key, state: state)) { $0.state = state }
  }

  /// Has the next sync create a zone that the server deleted, for a change that was made or retried after that.
  func recreate(_ key: ZoneKey) throws {
    if try zone(key)?.isGone == true { try setState(key, .unconfirmed) }
  }

  func markCreatedHere(_ key: ZoneKey) throws {
    try change(key, from: KnownZone(key, state: .ready)) { zone in
      zone.state = .ready
      zone.createdHere = true
      zone.needsFetch = true
    }
  }

  /// Marks the zone as changed on the server.
  func needsFetch(_ key: ZoneKey) throws {
    try change(key, from: KnownZone(key, state: .ready)) { zone in
      zone.state = .ready
      zone.needsFetch = true
    }
  }

  /// Starts a full fetch; records that it does not see were deleted on the server.
  func restart(_ key: ZoneKey) throws {
    try removeUnreadableRecords(in: key)
    try change(key) { zone in
      zone.token = nil
      zone.tokenAt = nil
      zone.epoch += 1
      zone.fetchingAll = true
      zone.needsFetch = true
      zone.fetched = 0
    }
  }

  /// Stores the token up to which changes were fetched; at the end of the change feed the zone is current.
  ///
  /// - Parameter fetched: the number of changes in the page.
  func setToken(_ key: ZoneKey, _ token: String?, fetched: Int, atEnd: Bool, now: Int64) throws {
    try change(key) { zone in
      zone.token = token ?? zone.token
      zone.tokenAt = now
      zone.lastFetchAt = now
      zone.fetched = atEnd ? 0 : zone.fetched + fetched
      guard atEnd else { return }
      zone.needsFetch = false
      zone.fetchingAll = false
    }
  }

  /// Records that a request was sent for the zone, so that all others come before its next one.
  func noteServed(_ key: ZoneKey) throws {
    let turn = try turn() + 1
    try setValue(.turn, turn)
    try change(key) { $0.served = turn }
  }

  /// The number of requests so far.
  func turn() throws -> Int64 { try value(.turn) ?? 0 }

  /// Removes a zone that was deleted here and is emptied, unless changes are meant for a new one of the same name.
  func concludeDelete(of key: ZoneKey) throws {
    if try isDeleteQueued(key) { return }
    try hasSaves(in: key) ? setState(key, .unconfirmed) : removeZone(key)
  }

  /// Forgets every zone and the progress of every fetch. Zones with changes are created for another user.
  func forgetServer() throws {
    for zone in try zones().map(\.key) {
      try noteGone(zone)
      try removeZone(zone)
      if try hasOperations(in: zone) { try insertZone(zone, state: .unconfirmed) }
    }
    try removePolledQueries()
    try setValue(.databaseToken, nil)
  }

  /// Removes a zone's token after the server deleted it.
  func forgetFeed(_ key: ZoneKey, heldSince: Int64?) throws {
    try removeUnreadable(key, type: nil)
    try removeUnreadableRecords(in: key)
    try change(key) { zone in
      zone.state = .deleted
      zone.token = nil
      zone.tokenAt = nil
      zone.needsFetch = false
      zone.fetchingAll = false
      zone.fetched = 0
      zone.heldSince = heldSince
      if heldSince == nil { zone.recentLosses = nil }
    }
  }

  /// Starts counting deletions again, after a person has decided about them.
  func forgetLosses(_ key: ZoneKey) throws { try change(key) { $0.recentLosses = nil } }

  /// The names of all records in a zone that are marked as deleted.
  func namesGone(_ key: ZoneKey) throws -> [String] { try namesGone(key, limit: .max) }

  /// The current epoch of the zone.
  func epoch(_ key: ZoneKey) throws -> Int64 { try zone(key)?.epoch ?? 0 }

  /// Changes a known zone, or `initial` if given.
  private func change(_ key: ZoneKey, from initial: KnownZone? = nil, _ body: (inout KnownZone) -> Void) throws {
    guard var zone = try zone(key) ?? initial else { return }
    body(&zone)
    try put(zone)
  }
}

/// The progress of polled queries.
extension Ledger {
  /// Stores the latest modification time seen; pages arrive in this order.
  func advance(_ polled: PolledQuery, seen: Int64?, now: Int64) throws {
    guard var known = try stored(polled) else { return }
    // Restarted meanwhile: the next poll fetches everything.
    if known.watermark == nil, polled.watermark != nil { return }
    let watermark = max(known.watermark ?? 0, seen ?? 0)
    known.watermark = watermark == 0 ? nil : watermark
    known.lastFetchAt = now
    try put(known)
    try change(polled.zoneKey) { $0.lastFetchAt = now }
  }

  func markScanned(_ polled: PolledQuery, now: Int64) throws {
    guard var known = try stored(polled) else { return }
    known.scannedAt = now
    try put(known)
  }

  private func stored(_ polled: PolledQuery) throws -> PolledQuery? {
    try polledQueries().first { $0.zoneKey == polled.zoneKey && $0.type == polled.type }
  }
}
