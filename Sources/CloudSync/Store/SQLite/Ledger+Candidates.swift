import Foundation
import GRDB

/// Selecting candidates among the operations. Payloads are not read until an operation is sent.
extension Ledger {
  func candidates(_ query: CandidateQuery) throws -> [Workload.Candidate] {
    let condition: String
    // Force the partial index that covers just these rows.
    var index = ""
    var arguments: StatementArguments = [
      "now": query.now, "limit": query.limit, "held": try heldZones(now: query.now),
    ]
    switch query.kind {
    case .zoneOperations:
      index = "INDEXED BY operationsOfZones"
      condition = "\(Self.sendable) AND name IS NULL"
    case .readBacks:
      index = "INDEXED BY operationsToReadBack"
      condition = "\(Self.sendable) AND needsReadBack = 1 AND name IS NOT NULL"
    case .uploads:
      index = "INDEXED BY operationsToUpload"
      condition = "\(Self.sendable) AND needsReadBack = 0 AND needsUpload = 1"
    case .free(let zone):
      // In index order, until there are enough.
      if query.typeOrder.types.isEmpty { index = "INDEXED BY operationsByZone" }
      condition =
        """
        zone = :zone AND owner = :owner AND \(whole(query)) AND NOT EXISTS (SELECT 1 FROM blockers b WHERE b.operation = o.id)
          AND (atomicGroup IS NULL OR NOT EXISTS
            (SELECT 1 FROM operations m JOIN blockers b ON b.operation = m.id JOIN operations p ON p.id = b.blocker
              WHERE m.atomicGroup = o.atomicGroup AND p.atomicGroup IS NOT o.atomicGroup))
        """
      arguments += ["zone": zone.zone, "owner": zone.owner]
    case .suspects(let zone):
      index = "INDEXED BY operationsUnderSuspicion"
      condition = "zone = :zone AND owner = :owner AND suspicion IS NOT NULL AND \(ready(query))"
      arguments += ["zone": zone.zone, "owner": zone.owner]
    case .waitingFor(let zone, let ids):
      // Start from the few blocked operations, not from all of the zone.
      condition = """
        +zone = :zone AND +owner = :owner AND \(ready(query))
          AND id IN (SELECT operation FROM blockers WHERE blocker IN (SELECT value FROM json_each(:ids)))
        """
      arguments += ["ids": try Self.json(ids)]
      arguments += ["zone": zone.zone, "owner": zone.owner]
    case .members(let groups):
      index = "INDEXED BY operationsByGroup"
      condition = "atomicGroup IN (SELECT value FROM json_each(:groups)) AND \(ready(query))"
      arguments += ["groups": try Self.json(groups)]
    case .entangled:
      // Every operation in a cycle has a blocking reference, and these are few.
      condition = """
        o.id IN (SELECT operation FROM refs INDEXED BY refsThatBlock WHERE blocks = 1 UNION SELECT id FROM operations WHERE atomicGroup IS NOT NULL)
          AND \(whole(query)) AND (atomicGroup IS NOT NULL
          OR (EXISTS (SELECT 1 FROM blockers b WHERE b.operation = o.id)
            AND EXISTS (SELECT 1 FROM blockers b WHERE b.blocker = o.id)))
        """
    }
    var order = "id"
    if case .free = query.kind, !query.typeOrder.types.isEmpty {
      let types = query.typeOrder.types
      let places = types.indices.map { "WHEN :type\($0) THEN \($0)" }.joined(separator: " ")
      let last = types.count
      order = "abs((operation = 'delete') * \(last) - CASE type \(places) ELSE \(last) END), id"
      for (index, type) in types.enumerated() { arguments += ["type\(index)": type] }
    }
    return try rows(
      """
      SELECT id, operation, zone, owner, bytes, atomicGroup, suspicion,
        CASE operation WHEN 'save' THEN (SELECT count(*) FROM refs WHERE operation = o.id AND isReleased = 0) ELSE 0 END AS links,
        CASE WHEN json_valid(assets) THEN json_array_length(assets) ELSE 0 END AS assets
      FROM operations o \(index) WHERE \(condition) ORDER BY \(order) LIMIT :limit
      """,
      arguments
    ).map { row in
      guard let kind = OperationKind(rawValue: row["operation"]) else {
        throw UnreadableRow(.operation(row["id"]), StoreError(.damaged, "an operation of unknown name"))
      }
      return Workload.Candidate(
        id: row["id"],
        kind: kind,
        zone: ZoneKey(zone: row["zone"], owner: row["owner"]),
        bytes: row["bytes"],
        references: row["links"],
        assets: row["assets"],
        group: row["atomicGroup"],
        suspicion: row["suspicion"]
      )
    }
  }

  /// The condition for sendable operations. It excludes throttled and paused zones, because their operations would only
  /// fill the window, and operations queued behind a zone delete, because they are meant for the next zone.
  private static let sendable = """
    (state = 'pending' OR (state = 'waiting' AND nextAttemptAt <= :now))
      AND (zone, owner) NOT IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:held))
      AND (type IS NULL OR type NOT IN (SELECT p.type FROM pauses p WHERE p.type <> ''))
      AND (name IS NULL OR (zone, owner) NOT IN
        (SELECT zone, owner FROM operations WHERE name IS NULL AND operation = 'zoneDelete'
          UNION ALL SELECT zone, owner FROM zones WHERE state = 'deleted' AND heldSince IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM
          (SELECT zone AS goneZone, owner AS goneOwner, name AS goneName FROM records INDEXED BY recordsGone
            WHERE epoch < 0)
          WHERE goneZone = zone AND goneOwner = owner AND goneName = name))
    """

  static func json(_ values: some Encodable) throws -> String {
    String(decoding: try JSONEncoder().encode(values), as: UTF8.self)
  }

  /// The zones that are throttled or paused.
  private func heldZones(now: Int64) throws -> String {
    let waiting = try waits(after: now).compactMap { wait in
      if case .zone(let zone) = wait.scope { zone } else { nil }
    }
    return try Self.json((waiting + pausedZones()).map { [$0.zone, $0.owner] })
  }

  private func ready(_ query: CandidateQuery) -> String {
    "\(Self.sendable)\(query.savesAreHeld ? " AND operation <> 'save'" : "") AND needsReadBack = 0 AND needsUpload = 0 AND name IS NOT NULL"
  }

  /// A group is sent only if every member is ready.
  private func whole(_ query: CandidateQuery) -> String {
    let ready = ready(query)
    return """
      \(ready) AND (atomicGroup IS NULL OR atomicGroup NOT IN
        (SELECT atomicGroup FROM operations WHERE atomicGroup IS NOT NULL AND NOT (\(ready))))
      """
  }

  /// Zones with record operations that are ready to be sent, the one served longest ago first.
  func zonesToServe(now: Int64, savesAreHeld: Bool) throws -> [ZoneKey] {
    let query = CandidateQuery(kind: .entangled, now: now, savesAreHeld: savesAreHeld)
    return try rows(
      """
      SELECT zone, owner FROM zones z
        WHERE (z.zone, z.owner) NOT IN
            (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:held))
          AND EXISTS (SELECT 1 FROM operations o INDEXED BY operationsToSend
          WHERE o.zone = z.zone AND o.owner = z.owner AND o.state IN ('pending', 'waiting') AND \(ready(query)))
        ORDER BY served, owner, zone
      """,
      ["now": now, "held": try heldZones(now: now)]
    ).map { ZoneKey(zone: $0["zone"], owner: $0["owner"]) }
  }

  /// Zones that may not exist on the server and that sendable changes need.
  func zonesToMake(now: Int64) throws -> [ZoneKey] {
    try rows(
      """
      SELECT zone, owner FROM zones z WHERE state = 'unconfirmed'
        AND EXISTS (SELECT 1 FROM operations o
          WHERE o.zone = z.zone AND o.owner = z.owner AND o.name IS NOT NULL AND \(Self.sendable))
        ORDER BY owner, zone
      """,
      ["now": now, "held": try heldZones(now: now)]
    ).map { ZoneKey(zone: $0["zone"], owner: $0["owner"]) }
  }

  /// The operations that block one, oldest first: for a save the creation of records it refers to, for a delete the
  /// deletes of records that referred to it and the saves that remove such references.
  func blockers(of id: Int64) throws -> [Int64] {
    try all("SELECT DISTINCT blocker FROM blockers WHERE operation = ? ORDER BY blocker", [id])
  }

  /// The preferred, not required, order among these operations: referenced records are saved first and deleted last.
  func precedents(among ids: [Int64]) throws -> [Int64: Set<Int64>] {
    try rows(
      """
      SELECT iif(o.operation = 'save', o.id, b.id) AS later, iif(o.operation = 'save', b.id, o.id) AS earlier
        FROM refs r JOIN operations o ON o.id = r.operation
        JOIN operations b ON b.zone = r.zone AND b.owner = r.owner AND b.name = r.name AND b.operation = o.operation
        WHERE r.operation IN (SELECT value FROM json_each(?)) AND r.blocks = 0 AND b.id <> o.id
          AND (o.operation = 'delete' OR b.baseTag IS NULL)
      """,
      [try Self.json(ids)]
    ).reduce(into: [:]) { $0[$1["later"], default: []].insert($1["earlier"]) }
  }

  func groupSize(_ group: String) throws -> Int {
    try one("SELECT count(*) FROM operations WHERE atomicGroup = ?", [group]) ?? 0
  }

  /// The end of the longest wait that the server asked for a single operation.
  func longestServersWait(after time: Int64) throws -> Int64? {
    try one(
      """
      SELECT max(nextAttemptAt) FROM operations INDEXED BY operationsThrottled
        WHERE state = 'waiting' AND isServersWait = 1 AND nextAttemptAt > ?
      """,
      [time]
    )
  }

  /// The earliest end of a back-off after a time.
  func nextBackOffEnd(after time: Int64) throws -> Int64? {
    // Only waiting operations have a `nextAttemptAt`.
    try one("SELECT min(nextAttemptAt) FROM operations WHERE nextAttemptAt > ?", [time])
  }
}
