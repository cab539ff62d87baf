import CloudKit
import GRDB

/// Writing what feeds bring. A page and the token behind it are one transaction, so that neither is ever ahead.
extension SyncStore {
  /// What a page changed, counted.
  struct PageEffect: Sendable {
    var changed = 0
    var deleted = 0
    /// Why an element of the page failed to come.
    var failure: WebServicesError?
  }

  // MARK: - Database changes

  func databaseToken() throws(StoreError) -> String? {
    try read { try Meta.value("databaseToken", $0) }
  }

  /// Takes one page of `changes/database`: zones to read, zones that are gone, the token.
  ///
  /// - Returns: How many records went with zones.
  func apply(_ page: WireDatabaseChanges, policy: ConflictPolicy, _ lease: Lease) throws(StoreError) -> Int {
    let now = now()
    let isShared = scope.database == .shared
    return try write { database in
      try lease.check(database, now: now)
      var lost = 0
      for case .zone(let zone) in page.zones {
        // In the private database every zone is one's own; the server names the owner there, we do not.
        let owner = isShared ? zone.zoneID.ownerRecordName ?? "" : ""
        let key = ZoneKey(zone: zone.zoneID.zoneName, owner: owner)
        if zone.deleted == true {
          lost += try forgetZone(key, now: now, database)
        } else if !key.isDefaultZone,
          try ZoneTable.zone(key, database)?.token != zone.syncToken || zone.syncToken == nil
        {
          try ZoneTable.needsFetch(key, database)
        }
      }
      try Meta.set("databaseToken", page.syncToken, database)
      return lost
    }
  }

  /// Starts over with the database's feed after its token was refused. What happened since it was given is not told any
  /// more, the deletion of zones included: every zone has to be asked itself.
  func forgetDatabaseToken(_ lease: Lease) throws(StoreError) {
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      try Meta.set("databaseToken", nil, database)
      try database.execute(
        sql: "UPDATE zones SET needsFetch = 1 WHERE state = 'ready' AND zone <> ?",
        arguments: [WireZoneID.defaultZoneName]
      )
    }
  }

  /// The server deleted a zone: its records are gone, queued changes of it wait for an operator.
  ///
  /// - Returns: How many records the mirror had of it.
  private func forgetZone(_ key: ZoneKey, now: Int64, _ database: Database) throws -> Int {
    guard try ZoneTable.zone(key, database) != nil else { return 0 }
    let records = try Int.fetchOne(
      database,
      sql: "SELECT count(*) FROM records WHERE zone = ? AND owner = ?",
      arguments: [key.zone, key.owner]
    )
    try ZoneLoss.take(key, now: now, database)
    try EventLog.add("zone", "zone \(key.zone) was deleted on the server", now: now, database)
    return records ?? 0
  }

  // MARK: - Zone changes

  /// Zones whose feed has to be read. A default zone has no feed: it is read by modification time.
  func zonesToRead() throws(StoreError) -> [ZoneKey] {
    try read { database in
      try ZoneTable.all(database).filter { zone in
        zone.needsFetch && zone.state != .deleted && !zone.key.isDefaultZone
      }.map(\.key)
    }
  }

  /// Whether a feed, or the zone that it is of, has to wait.
  func isHeld(_ feed: WaitScope, of zone: ZoneKey? = nil) throws(StoreError) -> Bool {
    let now = now()
    let scopes = [feed.name] + (zone.map { [WaitScope.zone($0).name] } ?? [])
    return try read { database in
      try scopes.contains { scope in
        try Bool.fetchOne(
          database,
          sql: "SELECT EXISTS (SELECT 1 FROM throttles WHERE scope = ? AND until > ?)",
          arguments: [scope, now]
        ) == true
      }
    }
  }

  /// Something cannot be read now: it waits, the rest goes on. A refusal that no wait will cure stands as an error.
  func hold(_ scope: WaitScope, _ error: WebServicesError, random: Double, _ lease: Lease) throws(StoreError) {
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      try Throttles.set(scope, error, now: now, random: random, database)
      try EventLog.add("error", "\(scope.name): \(error.code.name): \(error.reason)", now: now, database)
      try database.execute(
        sql: "UPDATE activity SET errorCode = ?, errorMessage = ?, errorAt = ?, errorStands = ?, reachedEnd = 0",
        arguments: [error.code.name, error.reason, now, error.retryAfter == nil]
      )
    }
  }

  /// A feed was read to its end: it waits for nothing.
  func release(_ feed: WaitScope, _ lease: Lease) throws(StoreError) {
    guard
      try read({
        try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM throttles WHERE scope = ?)", arguments: [feed.name])
      })
        == true
    else { return }
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      try Throttles.clear(feed, database)
    }
  }

  /// The token to read a zone from; nil reads from the beginning, which is begun here if it is not under way.
  func startReading(_ zone: ZoneKey, _ lease: Lease) throws(StoreError) -> String? {
    let now = now()
    return try write { database in
      try lease.check(database, now: now)
      guard let known = try ZoneTable.zone(zone, database) else { return nil }
      if known.token == nil, !known.readingAll { try ZoneTable.restart(zone, database) }
      return known.token
    }
  }

  ///
  /// Where an element failed to come, the token stays: the page is read again, so that nothing is passed over.
  func apply(_ page: WireZoneChanges, to zone: ZoneKey, policy: ConflictPolicy, _ lease: Lease) throws(StoreError)
    -> PageEffect
  {
    let now = now()
    return try write { database in
      try lease.check(database, now: now)
      guard let known = try ZoneTable.zone(zone, database) else { return PageEffect() }
      let reconciliation = Reconciliation(policy: policy, now: now, database: database)
      var effect = try take(page.records, zone, epoch: known.epoch, reconciliation)
      guard effect.failure == nil else { return effect }
      let atEnd = !page.moreComing
      if atEnd, known.readingAll {
        // A reading from the beginning has seen all there is: what it did not see was deleted meanwhile.
        for name in try MirrorTable.namesNotSeen(zone, epoch: known.epoch, database) {
          try reconciliation.takeDeletion(of: RecordKey(zone, name))
          effect.deleted += 1
        }
      }
      try ZoneTable.setToken(zone, page.syncToken, atEnd: atEnd, now: now, database)
      try Throttles.clear(.zone(zone), database)
      return effect
    }
  }

  /// Reads a zone from the beginning, since the server no longer knows its token. Queued changes are untouched.
  func restartReading(_ zone: ZoneKey, _ lease: Lease) throws(StoreError) {
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      try ZoneTable.restart(zone, database)
      try EventLog.add(
        "zone",
        "the token of zone \(zone.zone) was refused: reading it from the beginning",
        now: now,
        database
      )
    }
  }

  /// The zone's feed says that there is no such zone.
  ///
  /// - Returns: How many records went with it.
  func zoneIsGone(_ zone: ZoneKey, _ lease: Lease) throws(StoreError) -> Int {
    let now = now()
    return try write { database in
      try lease.check(database, now: now)
      return try forgetZone(zone, now: now, database)
    }
  }

  // MARK: - Pulls by modification time

  /// Without a change feed only types that somebody has named can be read, and nobody has named any.
  package var knowsNoTypes: Bool {
    guard scope.database == .public else { return false }
    let count = try? read { database in
      try Int.fetchOne(
        database,
        sql: "SELECT (SELECT count(*) FROM pulls) + (SELECT count(*) FROM records) + (SELECT count(*) FROM operations)"
      )
    }
    return count == 0
  }

  /// Feeds by modification time: zones without a change feed, with the types that are known or asked for.
  func pulls(types: [String], _ lease: Lease) throws(StoreError) -> [Pull] {
    let now = now()
    return try write { database in
      try lease.check(database, now: now)
      for type in types {
        try PullTable.insert(.defaultZone, type, database)
      }
      for row in try Row.fetchAll(
        database,
        sql: """
          SELECT DISTINCT zone, owner, type FROM records WHERE zone = ?1
          UNION SELECT DISTINCT zone, owner, type FROM operations WHERE zone = ?1 AND type IS NOT NULL
          """,
        arguments: [WireZoneID.defaultZoneName]
      ) {
        try PullTable.insert(ZoneKey(zone: row["zone"], owner: row["owner"]), row["type"], database)
      }
      return try PullTable.all(database)
    }
  }

  func apply(
    _ records: [WireRecordResult],
    of pull: Pull,
    policy: ConflictPolicy,
    _ lease: Lease
  ) throws(StoreError) -> PageEffect {
    let now = now()
    return try write { database in
      try lease.check(database, now: now)
      let reconciliation = Reconciliation(policy: policy, now: now, database: database)
      let effect = try take(records, pull.zone, epoch: 0, reconciliation)
      guard effect.failure == nil else { return effect }
      let latest = records.compactMap { result -> Int64? in
        if case .record(let record) = result { record.modified?.timestamp } else { nil }
      }.max()
      try PullTable.advance(pull, seen: latest, now: now, database)
      return effect
    }
  }

  func namesInMirror(of pull: Pull) throws(StoreError) -> [String] {
    try read { try MirrorTable.names(pull.zone, type: pull.type, $0) }
  }

  /// Ends a sweep: these names are not on the server any more.
  func applySweep(_ gone: [String], of pull: Pull, policy: ConflictPolicy, _ lease: Lease) throws(StoreError) {
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      let reconciliation = Reconciliation(policy: policy, now: now, database: database)
      for name in gone { try reconciliation.takeDeletion(of: RecordKey(pull.zone, name)) }
      try PullTable.markSwept(pull, now: now, database)
    }
  }

  private func take(
    _ results: [WireRecordResult],
    _ zone: ZoneKey,
    epoch: Int64,
    _ reconciliation: Reconciliation
  ) throws -> PageEffect {
    var effect = PageEffect()
    for result in results {
      switch result {
      case .record(let wire):
        guard let record = MirrorRecord(wire, in: zone) else { continue }
        let known = try MirrorTable.changeTag(record.key, reconciliation.database)
        try reconciliation.take(record, epoch: epoch)
        if known != record.changeTag { effect.changed += 1 }
      case .deleted(let name):
        try reconciliation.takeDeletion(of: RecordKey(zone, name))
        effect.deleted += 1
      case .failure(let name, let error):
        effect.failure = error
        if let name { effect.failure?.reason = "\(name): \(error.reason)" }
      }
    }
    return effect
  }
}

/// One feed by modification time.
struct Pull: Hashable, Sendable {
  var zone: ZoneKey
  var type: String
  /// The latest modification time that was read; nil before the first.
  var watermark: Int64?
  var sweptAt: Int64?

  /// Milliseconds read again before the watermark: queries lag behind writes (reference 7.1).
  static let overlap: Int64 = 60_000
}

/// Feeds by modification time, with how far they have been read.
enum PullTable {
  static func insert(_ zone: ZoneKey, _ type: String, _ database: Database) throws {
    try database.cachedStatement(sql: "INSERT INTO pulls(zone, owner, type) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
      .execute(arguments: [zone.zone, zone.owner, type])
  }

  static func all(_ database: Database) throws -> [Pull] {
    try Row.fetchAll(database, sql: "SELECT * FROM pulls ORDER BY owner, zone, type").map { row in
      Pull(
        zone: ZoneKey(zone: row["zone"], owner: row["owner"]),
        type: row["type"],
        watermark: row["watermark"],
        sweptAt: row["sweptAt"]
      )
    }
  }

  /// Keeps how far the feed has been read: pages come in the order of modification.
  static func advance(_ pull: Pull, seen: Int64?, now: Int64, _ database: Database) throws {
    try database.execute(
      sql: """
        UPDATE pulls SET watermark = nullif(max(coalesce(watermark, 0), coalesce(?1, 0)), 0), lastFetchAt = ?2
        WHERE zone = ?3 AND owner = ?4 AND type = ?5
        """,
      arguments: [seen, now, pull.zone.zone, pull.zone.owner, pull.type]
    )
    try database.execute(
      sql: "UPDATE zones SET lastFetchAt = ? WHERE zone = ? AND owner = ?",
      arguments: [now, pull.zone.zone, pull.zone.owner]
    )
  }

  static func markSwept(_ pull: Pull, now: Int64, _ database: Database) throws {
    try database.execute(
      sql: "UPDATE pulls SET sweptAt = ? WHERE zone = ? AND owner = ? AND type = ?",
      arguments: [now, pull.zone.zone, pull.zone.owner, pull.type]
    )
  }
}
