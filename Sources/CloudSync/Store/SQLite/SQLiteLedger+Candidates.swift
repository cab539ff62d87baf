import GRDB

/// Choosing among the operations. Without their payload: candidates are many, what is sent is read when it is sent.
extension SQLiteLedger {
  func candidates(_ query: CandidateQuery) throws -> [Workload.Candidate] {
    let condition: String
    switch query.kind {
    case .zoneOperations:
      condition = "\(sendable(query.now)) AND name IS NULL"
    case .readBacks:
      condition = "\(sendable(query.now)) AND needsReadBack = 1 AND name IS NOT NULL"
    case .uploads:
      condition = "\(sendable(query.now)) AND needsReadBack = 0 AND needsUpload = 1"
    case .free:
      condition = "\(whole(query)) AND NOT EXISTS (SELECT 1 FROM blockers b WHERE b.operation = o.id)"
    case .waitingFor(let ids):
      let list = ids.map(String.init).joined(separator: ",")
      condition = "\(ready(query)) AND id IN (SELECT operation FROM blockers WHERE blocker IN (\(list)))"
    case .blocked:
      condition = "\(whole(query)) AND EXISTS (SELECT 1 FROM blockers b WHERE b.operation = o.id)"
    }
    return try Row.fetchAll(
      database,
      sql: """
        SELECT id, operation, zone, owner, bytes, atomicGroup FROM operations o
        WHERE \(condition) ORDER BY id LIMIT \(query.limit)
        """
    ).map { row in
      guard let kind = OperationKind(rawValue: row["operation"]) else {
        throw UnreadableRow(.operation(row["id"]), StoreError(.damaged, "an operation of unknown name"))
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

  /// What a zone's wait holds up would only fill the window that others are looked for in. What was accepted after a
  /// zone's deletion is meant for the zone that comes after it.
  private func sendable(_ now: Int64) -> String {
    """
    (state = 'pending' OR (state = 'waiting' AND nextAttemptAt <= \(now)))
      AND 'zone:' || zone || CASE owner WHEN '' THEN '' ELSE ':' || owner END
        NOT IN (SELECT scope FROM throttles WHERE until > \(now))
      AND (name IS NULL OR (zone, owner) NOT IN
        (SELECT zone, owner FROM operations WHERE name IS NULL AND operation = 'zoneDelete'))
    """
  }

  private func ready(_ query: CandidateQuery) -> String {
    "\(sendable(query.now))\(query.savesAreHeld ? " AND operation <> 'save'" : "") AND needsReadBack = 0 AND needsUpload = 0 AND name IS NOT NULL"
  }

  /// Every member of a group has to be ready, or none of it can go.
  private func whole(_ query: CandidateQuery) -> String {
    let ready = ready(query)
    return """
      \(ready) AND (atomicGroup IS NULL OR atomicGroup NOT IN
        (SELECT atomicGroup FROM operations WHERE atomicGroup IS NOT NULL AND NOT (\(ready))))
      """
  }

  func zonesToMake(now: Int64) throws -> [ZoneKey] {
    try Row.fetchAll(
      database,
      sql: """
        SELECT zone, owner FROM zones z WHERE state = 'unconfirmed'
          AND EXISTS (SELECT 1 FROM operations o
            WHERE o.zone = z.zone AND o.owner = z.owner AND o.name IS NOT NULL AND \(sendable(now)))
          ORDER BY owner, zone
        """
    ).map { ZoneKey(zone: $0["zone"], owner: $0["owner"]) }
  }

  func blockers(of id: Int64) throws -> [Int64] {
    try all("SELECT DISTINCT blocker FROM blockers WHERE operation = ? ORDER BY blocker", [id])
  }

  func groupSize(_ group: String) throws -> Int {
    try one("SELECT count(*) FROM operations WHERE atomicGroup = ?", [group]) ?? 0
  }

  func nextBackOffEnd(after time: Int64) throws -> Int64? {
    // Only what waits has such a time.
    try one("SELECT min(nextAttemptAt) FROM operations WHERE nextAttemptAt > ?", [time])
  }
}
