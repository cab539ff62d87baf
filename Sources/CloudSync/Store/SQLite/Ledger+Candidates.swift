import Foundation
import GRDB

/// Selecting candidates among the operations. Payloads are not read until an operation is sent.
extension Ledger {
  func candidates(_ query: CandidateQuery) throws -> [Workload.Candidate] {
    let condition: String
    // Force the partial index that covers just these rows.
    var index = ""
    var arguments: StatementArguments = ["now": query.now, "limit": query.limit]
    switch query.kind {
    case .free(let zone): return try free(zone, query).free
    case .zoneOperations:
      index = "INDEXED BY operationsOfZones"
      condition = "\(Self.sendable) AND name IS NULL"
    case .readBacks:
      index = "INDEXED BY operationsToReadBack"
      condition = "\(Self.sendable) AND \(Self.isOpen) AND needsReadBack = 1 AND name IS NOT NULL"
    case .uploads:
      index = "INDEXED BY operationsToUpload"
      condition = "\(Self.sendable) AND \(Self.isOpen) AND needsReadBack = 0 AND needsUpload = 1"
    case .suspects(let zone):
      index = "INDEXED BY operationsUnderSuspicion"
      condition = "zone = :zone AND owner = :owner AND suspicion IS NOT NULL AND \(ready(query))"
      arguments += ["zone": zone.zone, "owner": zone.owner]
    case .waitingFor(let zone, let ids):
      index = "INDEXED BY operationsByBlocker"
      condition = """
        waitsFor IN (SELECT value FROM json_each(:ids)) AND zone = :zone AND owner = :owner AND \(ready(query))
        """
      arguments += ["ids": Self.json(ids), "zone": zone.zone, "owner": zone.owner]
    case .members(let groups):
      index = "INDEXED BY operationsByGroup"
      condition = "atomicGroup IN (SELECT value FROM json_each(:groups)) AND \(ready(query))"
      arguments += ["groups": try Self.json(groups)]
    case .dependencies(let ids):
      condition = "id IN (\(Self.dependencies)) AND \(whole(query))"
      arguments += ["ids": Self.json(ids)]
    }
    arguments += ["held": try heldZones(now: query.now)]
    // Without an order, the index returns the first rows without reading all that wait for one operation.
    let order = if case .waitingFor = query.kind { "" } else { "ORDER BY id" }
    return try rows(
      "\(Self.selection) FROM operations o \(index) WHERE \(condition) \(order) LIMIT :limit",
      arguments,
      as: Self.candidate
    )
  }

  /// The columns of a candidate, which is read by position. The payload is not read.
  private static let selection = """
    SELECT id, operation, zone, owner, bytes, atomicGroup, suspicion,
      CASE operation WHEN 'save' THEN (SELECT count(*) FROM refs WHERE operation = o.id AND isReleased = 0) ELSE 0 END AS links,
      CASE WHEN json_valid(assets) THEN json_array_length(assets) ELSE 0 END AS assets
    """

  private static func candidate(_ row: Row) throws -> Workload.Candidate {
    guard let kind = OperationKind(rawValue: row[1]) else {
      throw UnreadableRow(.operation(row[0]), StoreError(.damaged, "an operation of unknown name"))
    }
    return Workload.Candidate(
      id: row[0],
      kind: kind,
      zone: ZoneKey(zone: row[2], owner: row[3]),
      bytes: row[4],
      references: row[7],
      assets: row[8],
      group: row[5],
      suspicion: row[6]
    )
  }

  /// Operations with everything that blocks them, directly or indirectly, and the members of their groups.
  private static let dependencies = """
    WITH RECURSIVE reached(id) AS (
      SELECT value FROM json_each(:ids)
      UNION SELECT b.blocker FROM reached JOIN blockers b ON b.operation = reached.id
      UNION SELECT m.id FROM reached JOIN operations g ON g.id = reached.id
        JOIN operations m ON m.atomicGroup = g.atomicGroup)
    SELECT id FROM reached
    """

  // MARK: - Unblocked operations

  /// The oldest unblocked operations of a zone, by the order of types first if there is one.
  ///
  /// Each part of the queue (a type's saves or deletes) is read from an index of operations without a noted blocker, so
  /// dead letters, blocked operations and paused types cost nothing.
  func free(_ zone: ZoneKey, _ query: CandidateQuery) throws -> FreeOperations {
    var found = FreeOperations()
    guard try !closedZones(now: query.now).contains(zone) else { return found }
    let parts = Dictionary(grouping: try openParts(of: zone, savesAreHeld: query.savesAreHeld)) {
      query.typeOrder.types.isEmpty ? 0 : query.typeOrder.rank($0.kind, $0.type)
    }
    var groups: Set<String> = []
    for (_, parts) in parts.sorted(by: { $0.key < $1.key }) where found.free.count < query.limit {
      for (candidate, isBlocked, isOfBlockedGroup) in try oldest(of: parts, in: zone, query) {
        if isBlocked {
          found.blocked.append(candidate)
        } else if let group = candidate.group, isOfBlockedGroup {
          groups.insert(group)
        } else {
          found.free.append(candidate)
        }
      }
    }
    found.free = Array(found.free.prefix(query.limit))
    found.toNote = found.blocked.map(\.id) + (try groups.flatMap(blockedFromOutside))
    return found
  }

  /// The members of a group that are blocked from outside and have no note of that.
  private func blockedFromOutside(_ group: String) throws -> [Int64] {
    try all(
      """
      SELECT m.id FROM operations m WHERE m.atomicGroup = ?
        AND EXISTS (SELECT 1 FROM blockers b JOIN operations p ON p.id = b.blocker
          WHERE b.operation = m.id AND p.atomicGroup IS NOT m.atomicGroup)
        AND NOT EXISTS (SELECT 1 FROM operations p WHERE p.id = m.waitsFor AND p.atomicGroup IS NOT m.atomicGroup)
      """,
      [group]
    )
  }

  private typealias Oldest = (candidate: Workload.Candidate, isBlocked: Bool, isOfBlockedGroup: Bool)

  /// The oldest operations of some parts of a zone's queue.
  private func oldest(of parts: [(kind: OperationKind, type: String?)], in zone: ZoneKey, _ query: CandidateQuery)
    throws -> [Oldest]
  {
    // Many types share the rows that are read.
    let limit = min(query.limit, max(50, 8 * SyncStore.window / parts.count))
    let held = try heldZones(now: query.now)
    // Beyond the last row of a part that was cut off, that part may have older rows than the others.
    var end = Int64.max
    var found: [Oldest] = []
    for part in parts {
      for (index, state, order) in [
        ("operationsFree", "state = 'pending'", "id"),
        ("operationsDue", "state = 'waiting' AND nextAttemptAt <= :now", "nextAttemptAt"),
      ] {
        let rows = try rows(
          """
          \(Self.selection),
            EXISTS (SELECT 1 FROM blockers b WHERE b.operation = o.id) AS isBlocked,
            atomicGroup IS NOT NULL AND EXISTS
              (SELECT 1 FROM operations m JOIN blockers b ON b.operation = m.id JOIN operations p ON p.id = b.blocker
                WHERE m.atomicGroup = o.atomicGroup AND p.atomicGroup IS NOT o.atomicGroup) AS isOfBlockedGroup
          FROM operations o INDEXED BY \(index)
          WHERE zone = :zone AND owner = :owner AND operation = :kind AND type IS :type AND \(state)
            AND waitsFor IS NULL AND needsReadBack = 0 AND needsUpload = 0 AND name IS NOT NULL
            AND \(Self.isNotGone) AND \(isOfReadyGroup(query)) AND \(Self.isOfFreeGroup)
          ORDER BY \(order) LIMIT :limit
          """,
          [
            "zone": zone.zone, "owner": zone.owner, "kind": part.kind.rawValue, "type": part.type, "now": query.now,
            "limit": limit, "held": held,
          ]
        ) { (try Self.candidate($0), $0[9], $0[10]) as Oldest }
        if rows.count == limit, order == "id", let last = rows.last { end = min(end, last.candidate.id) }
        found += rows
      }
    }
    return found.filter { $0.candidate.id <= end }.sorted { $0.candidate.id < $1.candidate.id }
  }

  /// The parts of a zone's queue that may have something to send.
  private func openParts(of zone: ZoneKey, savesAreHeld: Bool) throws -> [(kind: OperationKind, type: String?)] {
    try rows(
      """
      SELECT DISTINCT operation, type FROM queueCounts WHERE state IN ('pending', 'waiting') AND zone = ? AND owner = ?
        AND \(Self.isOpenPart) AND (operation = 'delete' OR NOT ?) ORDER BY type, operation
      """,
      [zone.zone, zone.owner, savesAreHeld]
    ).compactMap { row in
      let type: String = row["type"]
      return OperationKind(rawValue: row["operation"]).map { ($0, type.isEmpty ? nil : type) }
    }
  }

  /// The condition for parts of the queue with changes of records whose type is not paused.
  private static let isOpenPart = """
    count > 0 AND operation IN ('save', 'delete') AND type NOT IN (SELECT p.type FROM pauses p WHERE p.type <> '')
    """

  // MARK: - Conditions

  /// The condition of the partial indexes, by which SQLite knows them again.
  private static let isOpen = "state IN ('pending', 'waiting')"

  /// The condition for sendable operations. It excludes throttled and paused zones, because their operations would only
  /// fill the window, and operations queued behind a zone delete, because they are meant for the next zone.
  private static let sendable = """
    (state = 'pending' OR (state = 'waiting' AND nextAttemptAt <= :now))
      AND (zone, owner) NOT IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:held))
      AND (type IS NULL OR type NOT IN (SELECT p.type FROM pauses p WHERE p.type <> ''))
      AND (name IS NULL OR (zone, owner) NOT IN
        (SELECT zone, owner FROM operations WHERE name IS NULL AND operation = 'zoneDelete'
          UNION ALL SELECT zone, owner FROM zones WHERE state = 'deleted' AND heldSince IS NOT NULL)
        AND \(isNotGone))
    """

  /// The condition for operations whose record the server has not deleted, as far as that is not applied yet.
  private static let isNotGone = """
    NOT EXISTS (SELECT 1 FROM
      (SELECT zone AS goneZone, owner AS goneOwner, name AS goneName FROM records INDEXED BY recordsGone WHERE epoch < 0)
      WHERE goneZone = zone AND goneOwner = owner AND goneName = name)
    """

  static func json(_ ids: [Int64]) -> String { "[" + ids.map(String.init).joined(separator: ",") + "]" }

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

  private func whole(_ query: CandidateQuery) -> String { "\(ready(query)) AND \(isOfReadyGroup(query))" }

  /// The condition that an operation has no group, or one whose members are all ready.
  private func isOfReadyGroup(_ query: CandidateQuery) -> String {
    """
    (o.atomicGroup IS NULL OR NOT EXISTS (SELECT 1 FROM
      (SELECT * FROM operations INDEXED BY operationsByGroup WHERE atomicGroup = o.atomicGroup) WHERE NOT (\(ready(query)))))
    """
  }

  /// The condition that an operation has no group, or that no member of its group has a noted blocker outside the group.
  private static let isOfFreeGroup = """
    (atomicGroup IS NULL OR NOT EXISTS (SELECT 1 FROM operations m JOIN operations p ON p.id = m.waitsFor
      WHERE m.atomicGroup = o.atomicGroup AND p.atomicGroup IS NOT o.atomicGroup))
    """

  /// Zones to which nothing may be sent: throttled, paused, with a zone delete pending, or with their deletion on hold.
  private func closedZones(now: Int64) throws -> Set<ZoneKey> {
    try Set(
      rows(
        """
        SELECT json_extract(value, '$[0]') AS zone, json_extract(value, '$[1]') AS owner FROM json_each(?)
          UNION ALL SELECT zone, owner FROM operations WHERE name IS NULL AND operation = 'zoneDelete'
          UNION ALL SELECT zone, owner FROM zones WHERE state = 'deleted' AND heldSince IS NOT NULL
        """,
        [try heldZones(now: now)]
      ).map { ZoneKey(zone: $0["zone"], owner: $0["owner"]) }
    )
  }

  /// Zones with record operations that may be ready to be sent, the one served longest ago first.
  func zonesToServe(now: Int64, savesAreHeld: Bool) throws -> [ZoneKey] {
    let closed = try closedZones(now: now)
    return try rows(
      """
      SELECT z.zone, z.owner FROM zones z
        WHERE EXISTS (SELECT 1 FROM queueCounts c WHERE c.state IN ('pending', 'waiting')
          AND c.zone = z.zone AND c.owner = z.owner AND \(Self.isOpenPart) AND (c.operation = 'delete' OR NOT ?))
        ORDER BY served, owner, zone
      """,
      [savesAreHeld]
    ).map { ZoneKey(zone: $0["zone"], owner: $0["owner"]) }.filter { !closed.contains($0) }
  }

  /// Zones that may not exist on the server and that sendable changes need.
  func zonesToMake(now: Int64) throws -> [ZoneKey] {
    let closed = try closedZones(now: now)
    return try rows(
      """
      SELECT zone, owner FROM zones z WHERE state = 'unconfirmed'
        AND (EXISTS (SELECT 1 FROM queueCounts c WHERE c.state = 'pending'
            AND c.zone = z.zone AND c.owner = z.owner AND \(Self.isOpenPart))
          OR EXISTS (SELECT 1 FROM operations o INDEXED BY operationsToSend
            WHERE o.zone = z.zone AND o.owner = z.owner AND o.state = 'waiting' AND o.nextAttemptAt <= ?
              AND o.name IS NOT NULL AND (o.type IS NULL OR o.type NOT IN (SELECT p.type FROM pauses p WHERE p.type <> ''))))
        ORDER BY owner, zone
      """,
      [now]
    ).map { ZoneKey(zone: $0["zone"], owner: $0["owner"]) }.filter { !closed.contains($0) }
  }

  func groupSize(_ group: String) throws -> Int {
    try one("SELECT count(*) FROM operations WHERE atomicGroup = ?", [group]) ?? 0
  }

  /// The age of operations that can be sent; nil if there are none.
  func sendability(of ids: [Int64]) throws -> StoreStatus.Sendability? {
    guard !ids.isEmpty else { return nil }
    return try row(
      """
      SELECT min(enqueuedAt) AS oldest, min(max(editedAt, coalesce(nextAttemptAt, 0))) AS since
        FROM operations WHERE id IN (SELECT value FROM json_each(?))
      """,
      [Self.json(ids)]
    ).flatMap { row in
      guard let oldest: Int64 = row["oldest"], let since: Int64 = row["since"] else { return nil }
      return StoreStatus.Sendability(oldestAt: oldest, since: since)
    }
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

  /// The earliest end of a back-off that leads to a request: nothing but time holds the operation.
  ///
  /// - Parameter savesAreHeld: whether saves wait for the app.
  /// - Returns: nil if there is none among the next thousand, to bound the cost: any number may be paused or blocked.
  func nextRetry(now: Int64, savesAreHeld: Bool) throws -> Int64? {
    if try isPaused() { return nil }
    // As if every back-off were over.
    let query = CandidateQuery(kind: .zoneOperations, now: .max, savesAreHeld: savesAreHeld)
    let isChecked = "needsReadBack = 1 OR needsUpload = 1 OR name IS NULL"
    let isFree = "\(whole(query)) AND NOT EXISTS (SELECT 1 FROM blockers b WHERE b.operation = o.id)"
    let statement = try database.cachedStatement(
      sql: """
        SELECT nextAttemptAt, (\(Self.sendable) AND (\(isChecked))) OR (\(isFree)) FROM operations o
          WHERE nextAttemptAt > :from ORDER BY nextAttemptAt LIMIT 1000
        """
    )
    let arguments: StatementArguments = ["from": now, "now": query.now, "held": try heldZones(now: now)]
    let rows = try Row.fetchCursor(statement, arguments: arguments)
    while let row = try rows.next() { if row[1] { return row[0] } }
    return nil
  }
}
