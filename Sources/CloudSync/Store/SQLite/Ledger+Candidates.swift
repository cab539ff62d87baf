import Foundation
import GRDB

/// Selecting candidates among the operations. Payloads are not read until an operation is sent.
extension Ledger {
  /// The candidates of a query, oldest first. SQL finds them by partial indexes and passes over what surely waits;
  /// `SendScope` decides.
  func candidates(_ query: CandidateQuery) throws -> [Candidate] {
    let condition: String
    // Force the partial index that covers just these rows.
    var index = ""
    var arguments: StatementArguments = ["limit": query.limit]
    switch query.kind {
    case .readBacks:
      index = "INDEXED BY operationsToReadBack"
      condition = "\(Self.sendable) AND \(Self.isOpen) AND needsReadBack = 1 AND name IS NOT NULL"
    case .uploads:
      index = "INDEXED BY operationsToUpload"
      condition = "\(Self.sendable) AND \(Self.isOpen) AND needsReadBack = 0 AND needsUpload = 1"
    case .suspects(let zone):
      index = "INDEXED BY operationsUnderSuspicion"
      condition = "zone = :zone AND owner = :owner AND suspicion IS NOT NULL AND \(Self.ready)"
      arguments += ["zone": zone.zone, "owner": zone.owner]
    case .waitingFor(let zone, let ids):
      index = "INDEXED BY operationsByBlocker"
      condition = """
        waitsFor IN (SELECT value FROM json_each(:ids)) AND zone = :zone AND owner = :owner AND \(Self.ready)
        """
      arguments += ["ids": Self.json(ids), "zone": zone.zone, "owner": zone.owner]
    case .members(let groups):
      index = "INDEXED BY operationsByGroup"
      condition = "atomicGroup IN (SELECT value FROM json_each(:groups)) AND \(Self.ready)"
      arguments += ["groups": try Self.json(groups)]
    case .dependencies(let ids):
      condition = "id IN (\(Self.dependencies)) AND \(Self.ready) AND \(Self.isOfReadyGroup)"
      arguments += ["ids": Self.json(ids)]
    }
    arguments += try narrowing(query.scope, to: condition)
    // Without an order, the index returns the first rows without reading all that wait for one operation.
    let order = if case .waitingFor = query.kind { "" } else { "ORDER BY id" }
    return try rows(
      "\(Self.selection) FROM operations o \(index) WHERE \(condition) \(order) LIMIT :limit",
      arguments,
      as: Self.candidate
    )
  }

  /// An operation without what other operations do to it; nil if it is not in the queue.
  func candidate(_ id: Int64) throws -> Candidate? {
    try rows("\(Self.selection) FROM operations o WHERE id = ?", [id], as: Self.candidate).first
  }

  /// The members of an atomic group.
  func members(of group: String) throws -> [Candidate] {
    let source = "FROM operations o INDEXED BY operationsByGroup WHERE atomicGroup = ?"
    return try rows("\(Self.selection) \(source) ORDER BY id", [group], as: Self.candidate)
  }

  /// Reads with one statement what every plan needs.
  func planFacts() throws -> PlanFacts {
    let row = try row(
      """
      SELECT operationLimit, turn, pausedAt, pausedBy, settings,
          EXISTS (SELECT 1 FROM operations INDEXED BY operationsUnderSuspicion WHERE suspicion IS NOT NULL),
          \(Self.hasFormerBlockers)
        FROM state
      """,
      []
    )
    guard let row else { return PlanFacts() }
    let pausedAt: Int64? = row[2]
    return PlanFacts(
      operationLimit: row[0] ?? Planner.requestLimit,
      turn: row[1] ?? 0,
      pauseOfEverything: pausedAt.map { Pause(rule: .everything, at: $0, actor: row[3]) },
      settings: row[4],
      hasSuspects: row[5],
      hasFormerBlockers: row[6]
    )
  }

  /// The operations on zones, oldest first.
  func zoneOperations() throws -> [Candidate] {
    let source = "FROM operations o INDEXED BY operationsOfZones WHERE name IS NULL"
    return try rows("\(Self.selection) \(source) ORDER BY id", as: Self.candidate)
  }

  /// Those of these operations whose record the server has deleted, as far as that is not applied yet.
  func gone(among ids: [Int64]) throws -> Set<Int64> {
    let sql = "SELECT id FROM operations WHERE id IN (SELECT value FROM json_each(?)) AND \(Self.isRecordGone)"
    return try Set(all(sql, [Self.json(ids)]))
  }

  /// The columns of a candidate, which is read by position. The payload is not read.
  private static let selection = """
    SELECT id, operation, zone, owner, bytes, atomicGroup, suspicion,
      CASE operation WHEN 'save' THEN (SELECT count(*) FROM refs WHERE operation = o.id AND isReleased = 0) ELSE 0 END AS links,
      CASE WHEN json_valid(assets) THEN json_array_length(assets) ELSE 0 END AS assets,
      type, state, nextAttemptAt, needsReadBack, needsUpload, \(isRecordGone) AS isGone
    """

  private static func candidate(_ row: Row) throws -> Candidate {
    guard let kind = OperationKind(rawValue: row[1]), let state = OperationState(rawValue: row[10]) else {
      throw UnreadableRow(.operation(row[0]), StoreError(.damaged, "an operation or state of unknown name"))
    }
    var candidate = Candidate(
      id: row[0],
      kind: kind,
      zone: ZoneKey(zone: row[2], owner: row[3]),
      type: row[9],
      bytes: row[4],
      references: row[7],
      assets: row[8],
      group: row[5],
      suspicion: row[6]
    )
    (candidate.state, candidate.nextAttemptAt) = (state, row[11])
    (candidate.needsCheck, candidate.needsUpload, candidate.isGone) = (row[12], row[13], row[14])
    return candidate
  }

  // MARK: - Unblocked operations

  /// The oldest unblocked operations of a zone, by the order of types first if there is one.
  ///
  /// Each part of the queue (a type's saves or deletes) is read from an index of operations without a noted blocker, so
  /// dead letters, blocked operations and paused types cost nothing.
  ///
  /// - Parameter parts: the parts of the zone's queue to read.
  func free(_ parts: [SendPart], _ scope: SendScope, _ typeOrder: TypeOrder = TypeOrder(), limit: Int = .max) throws
    -> FreeOperations
  {
    var found = FreeOperations()
    let parts = Dictionary(grouping: parts) { typeOrder.types.isEmpty ? 0 : typeOrder.rank($0.kind, $0.type) }
    var groups: Set<String> = []
    for (_, parts) in parts.sorted(by: { $0.key < $1.key }) where found.free.count < limit {
      for (candidate, isBlocked, isOfBlockedGroup) in try oldest(of: parts, scope, limit: limit) {
        if isBlocked {
          found.blocked.append(candidate)
        } else if let group = candidate.group, isOfBlockedGroup {
          groups.insert(group)
        } else {
          found.free.append(candidate)
        }
      }
    }
    found.free = Array(found.free.prefix(limit))
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

  private typealias Oldest = (candidate: Candidate, isBlocked: Bool, isOfBlockedGroup: Bool)

  /// The oldest operations of some parts of a zone's queue.
  private func oldest(of parts: [SendPart], _ scope: SendScope, limit: Int) throws -> [Oldest] {
    // Many types share the rows that are read.
    let limit = min(limit, max(50, 8 * SyncStore.window / parts.count))
    // Beyond the last row of a part that was cut off, that part may have older rows than the others.
    var end = Int64.max
    var found: [Oldest] = []
    for part in parts {
      let isPending = part.state == .pending
      let condition = """
        zone = :zone AND owner = :owner AND operation = :kind AND type IS :type
          AND \(isPending ? "state = 'pending'" : "state = 'waiting' AND nextAttemptAt <= :now")
          AND waitsFor IS NULL AND needsReadBack = 0 AND needsUpload = 0 AND name IS NOT NULL
          AND NOT \(Self.isRecordGone) AND \(Self.isOfReadyGroup) AND \(Self.isOfFreeGroup)
        """
      let arguments: StatementArguments = [
        "zone": part.zone.zone, "owner": part.zone.owner, "kind": part.kind.rawValue, "type": part.type, "limit": limit,
      ]
      let rows = try rows(
        """
        \(Self.selection),
          EXISTS (SELECT 1 FROM blockers b WHERE b.operation = o.id) AS isBlocked,
          atomicGroup IS NOT NULL AND EXISTS
            (SELECT 1 FROM operations m JOIN blockers b ON b.operation = m.id JOIN operations p ON p.id = b.blocker
              WHERE m.atomicGroup = o.atomicGroup AND p.atomicGroup IS NOT o.atomicGroup) AS isOfBlockedGroup
        FROM operations o INDEXED BY \(isPending ? "operationsFree" : "operationsDue")
        WHERE \(condition) ORDER BY \(isPending ? "id" : "nextAttemptAt") LIMIT :limit
        """,
        arguments + (try narrowing(scope, to: condition))
      ) { (try Self.candidate($0), $0[15], $0[16]) as Oldest }
      if rows.count == limit, isPending, let last = rows.last { end = min(end, last.candidate.id) }
      found += rows
    }
    return found.filter { $0.candidate.id <= end }.sorted { $0.candidate.id < $1.candidate.id }
  }

  /// The parts of the queue with changes of records that are pending or waiting, those of the zone served longest ago
  /// first.
  func sendParts() throws -> [SendPart] {
    try rows(
      """
      SELECT c.zone, c.owner, c.operation, c.type, c.state, c.count
        FROM zones z JOIN queueCounts c ON c.state IN ('pending', 'waiting') AND c.zone = z.zone AND c.owner = z.owner
        WHERE c.count > 0 AND c.operation IN ('save', 'delete')
        ORDER BY z.served, z.owner, z.zone, c.type, c.operation, c.state
      """
    ).compactMap { row in
      guard let kind = OperationKind(rawValue: row[2]), let state = OperationState(rawValue: row[4]) else { return nil }
      let type: String = row[3]
      return SendPart(
        zone: ZoneKey(zone: row[0], owner: row[1]),
        kind: kind,
        type: type.isEmpty ? nil : type,
        state: state,
        count: row[5]
      )
    }
  }

  // MARK: - Conditions

  /// The condition of the partial indexes, by which SQLite knows them again.
  private static let isOpen = "state IN ('pending', 'waiting')"

  /// The condition for record operations that `SendScope` does not hold. It narrows what is read, because held
  /// operations would only fill the window.
  private static let sendable = """
    (state = 'pending' OR (state = 'waiting' AND nextAttemptAt <= :now)) AND name IS NOT NULL
      AND (zone, owner) NOT IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:closed))
      AND (type IS NULL OR type NOT IN (SELECT value FROM json_each(:types))) AND NOT \(isRecordGone)
    """

  /// The condition for operations whose record the server has deleted, as far as that is not applied yet.
  private static let isRecordGone = """
    EXISTS (SELECT 1 FROM
      (SELECT zone AS goneZone, owner AS goneOwner, name AS goneName FROM records INDEXED BY recordsGone WHERE epoch < 0)
      WHERE goneZone = zone AND goneOwner = owner AND goneName = name)
    """

  /// The arguments of `sendable` and `ready`, as far as a condition has them.
  private func narrowing(_ scope: SendScope, to condition: String) throws -> StatementArguments {
    let types = scope.pauses.compactMap { if case .type(let type) = $0.rule { type } else { nil } }
    let all: [(String, any DatabaseValueConvertible)] = [
      ("now", scope.now), ("closed", try Self.json(scope.closedZones.map { [$0.zone, $0.owner] })),
      ("types", try Self.json(types)), ("savesWait", scope.holdsSaves),
    ]
    return StatementArguments(Dictionary(uniqueKeysWithValues: all.filter { condition.contains(":\($0.0)") }))
  }

  static func json(_ ids: [Int64]) -> String { "[" + ids.map(String.init).joined(separator: ",") + "]" }

  static func json(_ values: some Encodable) throws -> String {
    String(decoding: try JSONEncoder().encode(values), as: UTF8.self)
  }

  private static let ready = """
    \(sendable) AND NOT (:savesWait AND operation = 'save') AND needsReadBack = 0 AND needsUpload = 0
    """

  /// The condition that an operation has no group, or one whose members are all ready.
  private static let isOfReadyGroup = """
    (o.atomicGroup IS NULL OR NOT EXISTS (SELECT 1 FROM
      (SELECT * FROM operations INDEXED BY operationsByGroup WHERE atomicGroup = o.atomicGroup) WHERE NOT (\(ready))))
    """

  /// The condition that an operation has no group, or that no member of its group has a noted blocker outside the group.
  private static let isOfFreeGroup = """
    (atomicGroup IS NULL OR NOT EXISTS (SELECT 1 FROM operations m JOIN operations p ON p.id = m.waitsFor
      WHERE m.atomicGroup = o.atomicGroup AND p.atomicGroup IS NOT o.atomicGroup))
    """

  /// Whether the back-off of an operation of a part is over.
  func hasDue(_ part: SendPart, now: Int64) throws -> Bool {
    try one(
      """
      SELECT EXISTS (SELECT 1 FROM operations INDEXED BY operationsToSend WHERE zone = ? AND owner = ?
        AND state = 'waiting' AND nextAttemptAt <= ? AND name IS NOT NULL AND operation = ? AND type IS ?)
      """,
      [part.zone.zone, part.zone.owner, now, part.kind.rawValue, part.type]
    ) ?? false
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

  /// The next thousand operations in back-off, the earliest end first, until `visit` returns false.
  func eachBackOff(after time: Int64, _ visit: (Candidate) throws -> Bool) throws {
    let sql = "\(Self.selection) FROM operations o WHERE nextAttemptAt > ? ORDER BY nextAttemptAt LIMIT 1000"
    let rows = try Row.fetchCursor(database.cachedStatement(sql: sql), arguments: [time])
    while let row = try rows.next() { guard try visit(Self.candidate(row)) else { return } }
  }
}

/// The facts of a store that every plan needs.
struct PlanFacts {
  var operationLimit = Planner.requestLimit
  /// The number of requests so far.
  var turn: Int64 = 0
  var pauseOfEverything: Pause?
  var settings: String?
  /// Whether an operation was in a request that was rejected as a whole.
  var hasSuspects = false
  /// Whether a note names an operation that may no longer block.
  var hasFormerBlockers = false
}

/// The changes of records in one zone that share their kind, type and state.
struct SendPart {
  var zone: ZoneKey
  var kind: OperationKind
  var type: String?
  var state: OperationState
  var count: Int

  /// One of them, about which nothing else is known.
  var candidate: Candidate { Candidate(kind: kind, zone: zone, type: type) }
}
