import CloudKit
import GRDB

/// Reading what could be done now.
extension SyncStore {
  /// How many candidates are looked at for one request: enough to fill it from several zones.
  private static let window = 800

  func workload() throws(StoreError) -> (Workload, Planner) {
    let now = now()
    return try read { database in
      let limit = try Meta.value("operationLimit", database).flatMap { Int($0) } ?? 200
      return (try Self.workload(now: now, database), Planner(operationLimit: limit))
    }
  }

  /// Without the payload: candidates are many, what is sent of them is read when it is sent.
  private static let columns = "id, operation, zone, owner, bytes, atomicGroup"

  private static func workload(now: Int64, _ database: Database) throws -> Workload {
    var workload = Workload()
    workload.isPaused = try Meta.value("paused", database) != nil
    for row in try Row.fetchAll(database, sql: "SELECT scope, until FROM throttles WHERE until > ?", arguments: [now]) {
      workload.waits[WaitScope(name: row["scope"])] = row["until"]
    }
    // What a zone's wait holds up would only fill the window that others are looked for in. What was accepted after a
    // zone's deletion is meant for the zone that comes after it.
    let sendable = """
      (state = 'pending' OR (state = 'waiting' AND nextAttemptAt <= \(now)))
        AND 'zone:' || zone || CASE owner WHEN '' THEN '' ELSE ':' || owner END
          NOT IN (SELECT scope FROM throttles WHERE until > \(now))
        AND (name IS NULL OR (zone, owner) NOT IN
          (SELECT zone, owner FROM operations WHERE name IS NULL AND operation = 'zoneDelete'))
      """
    workload.zoneOperations = try candidates(
      "SELECT \(columns) FROM operations WHERE \(sendable) AND name IS NULL ORDER BY id LIMIT 1",
      database
    )
    workload.missingZones = try Row.fetchAll(
      database,
      sql: """
        SELECT zone, owner FROM zones z WHERE state = 'unconfirmed'
          AND EXISTS (SELECT 1 FROM operations o
            WHERE o.zone = z.zone AND o.owner = z.owner AND o.name IS NOT NULL AND \(sendable))
          ORDER BY owner, zone
        """
    ).map { ZoneKey(zone: $0["zone"], owner: $0["owner"]) }
    workload.readBacks = try candidates(
      "SELECT \(columns) FROM operations WHERE \(sendable) AND needsReadBack = 1 AND name IS NOT NULL ORDER BY id LIMIT 400",
      database
    )
    let isHeld = workload.waits[.quota] != nil ? " AND operation <> 'save'" : ""
    workload.candidates = try window(sendable + isHeld, database)
    workload.nextBackOffEnd = try Int64.fetchOne(
      database,
      sql: "SELECT min(nextAttemptAt) FROM operations WHERE state = 'waiting' AND nextAttemptAt > ?",
      arguments: [now]
    )
    for group in Set(workload.candidates.compactMap(\.group)) {
      workload.groupSizes[group] = try Int.fetchOne(
        database,
        sql: "SELECT count(*) FROM operations WHERE atomicGroup = ?",
        arguments: [group]
      )
    }
    return workload
  }

  /// The oldest operations that wait for nothing, then those that wait for these, level by level. Where everything waits
  /// for something, the oldest that do: there may be a ring among them.
  private static func window(_ sendable: String, _ database: Database) throws -> [Workload.Candidate] {
    let ready = "\(sendable) AND needsReadBack = 0 AND name IS NOT NULL"
    // Every member of a group has to be ready, or none of it can go.
    let isWhole = """
      (atomicGroup IS NULL OR atomicGroup NOT IN
        (SELECT atomicGroup FROM operations WHERE atomicGroup IS NOT NULL AND NOT (\(ready))))
      """
    var found = try candidates(
      """
      SELECT \(columns) FROM operations o WHERE \(ready) AND \(isWhole)
        AND NOT EXISTS (SELECT 1 FROM blockers b WHERE b.operation = o.id) ORDER BY id LIMIT \(window)
      """,
      database
    )
    var frontier = found.prefix(200).map(\.id)
    var known = Set(found.map(\.id))
    while !frontier.isEmpty, found.count < 200 {
      let ids = frontier.map(String.init).joined(separator: ",")
      var next = try candidates(
        """
        SELECT \(columns) FROM operations WHERE \(ready)
          AND id IN (SELECT operation FROM blockers WHERE blocker IN (\(ids))) ORDER BY id LIMIT 400
        """,
        database
      ).filter { known.insert($0.id).inserted }
      try addBlockers(&next, database)
      found += next
      frontier = next.map(\.id)
    }
    if found.count < 200 {
      // The rest is blocked: by a dead letter, or by each other in a ring, which has to go in one request.
      var blocked = try candidates(
        """
        SELECT \(columns) FROM operations o WHERE \(ready) AND \(isWhole)
          AND EXISTS (SELECT 1 FROM blockers b WHERE b.operation = o.id) ORDER BY id LIMIT \(window)
        """,
        database
      ).filter { known.insert($0.id).inserted }
      try addBlockers(&blocked, database)
      found += blocked
    }
    return found
  }

  private static func addBlockers(_ candidates: inout [Workload.Candidate], _ database: Database) throws {
    let statement = try database.cachedStatement(sql: "SELECT blocker FROM blockers WHERE operation = ?")
    for index in candidates.indices {
      candidates[index].blockers = Set(try Int64.fetchAll(statement, arguments: [candidates[index].id]))
    }
  }

  private static func candidates(_ sql: String, _ database: Database) throws -> [Workload.Candidate] {
    try Row.fetchAll(database, sql: sql).map { row in
      guard let kind = OperationKind(rawValue: row["operation"]) else {
        throw StoreError(.damaged, "the queue holds an operation of unknown name")
      }
      return Workload.Candidate(
        id: row["id"],
        kind: kind,
        zone: ZoneKey(zone: row["zone"], owner: row["owner"]),
        bytes: row["bytes"],
        group: row["atomicGroup"]
      )
    }
  }
}
