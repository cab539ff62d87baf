import GRDB

/// The tables `zones`, `pulls` and `throttles`.
extension SQLiteLedger {
  func zone(_ key: ZoneKey) throws -> KnownZone? {
    try row("SELECT * FROM zones WHERE zone = ? AND owner = ?", [key.zone, key.owner]).map(KnownZone.init(row:))
  }

  func zones() throws -> [KnownZone] {
    try rows("SELECT * FROM zones ORDER BY owner, zone").map(KnownZone.init(row:))
  }

  func put(_ zone: KnownZone) throws {
    try run(
      """
      INSERT INTO zones(zone, owner, state, createdHere, needsFetch, token, tokenAt, lastFetchAt, epoch, readingAll,
        served, heldSince)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT(zone, owner) DO UPDATE SET
        state = excluded.state, createdHere = excluded.createdHere, needsFetch = excluded.needsFetch,
        token = excluded.token, tokenAt = excluded.tokenAt, lastFetchAt = excluded.lastFetchAt, epoch = excluded.epoch,
        readingAll = excluded.readingAll, served = excluded.served, heldSince = excluded.heldSince
      """,
      [
        zone.key.zone, zone.key.owner, zone.state.rawValue, zone.createdHere, zone.needsFetch, zone.token, zone.tokenAt,
        zone.lastFetchAt, zone.epoch, zone.readingAll, zone.served, zone.heldSince,
      ]
    )
  }

  func removeZone(_ key: ZoneKey) throws {
    try run("DELETE FROM zones WHERE zone = ? AND owner = ?", [key.zone, key.owner])
  }

  // MARK: - Pulls

  func pulls() throws -> [Pull] {
    try rows("SELECT * FROM pulls ORDER BY owner, zone, type").map { row in
      var pull = Pull(zone: ZoneKey(zone: row["zone"], owner: row["owner"]), type: row["type"])
      pull.watermark = row["watermark"]
      pull.lastFetchAt = row["lastFetchAt"]
      pull.sweptAt = row["sweptAt"]
      return pull
    }
  }

  func put(_ pull: Pull) throws {
    try run(
      """
      INSERT INTO pulls(zone, owner, type, watermark, lastFetchAt, sweptAt) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT(zone, owner, type) DO UPDATE SET
        watermark = excluded.watermark, lastFetchAt = excluded.lastFetchAt, sweptAt = excluded.sweptAt
      """,
      [pull.zone.zone, pull.zone.owner, pull.type, pull.watermark, pull.lastFetchAt, pull.sweptAt]
    )
  }

  // MARK: - Waits

  func wait(_ scope: WaitScope) throws -> ScopeWait? {
    try row("SELECT * FROM throttles WHERE scope = ?", [scope.name]).map(ScopeWait.init(row:))
  }

  func waits(after time: Int64) throws -> [ScopeWait] {
    try rows("SELECT * FROM throttles WHERE until > ? ORDER BY scope", [time]).map(ScopeWait.init(row:))
  }

  func put(_ wait: ScopeWait) throws {
    try run(
      """
      INSERT INTO throttles(scope, until, seconds, code, message, isOwn) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT(scope) DO UPDATE SET until = excluded.until, seconds = excluded.seconds,
        code = excluded.code, message = excluded.message, isOwn = excluded.isOwn
      """,
      [wait.scope.name, wait.until, wait.seconds, wait.code, wait.message, wait.isOwn]
    )
  }

  func removeWait(_ scope: WaitScope) throws { try run("DELETE FROM throttles WHERE scope = ?", [scope.name]) }
}
