import CloudKit
import Facts
import GRDB

/// The tables `operations` and `refs`.
extension Ledger {
  func operation(_ id: Int64) throws -> QueuedOperation? {
    try row("SELECT \(QueuedOperation.columns) FROM operations WHERE id = ?", [id]).map(QueuedOperation.init(row:))
  }

  /// The existing ones of these operations, in the same order.
  func operations(_ ids: [Int64]) throws -> [QueuedOperation] {
    guard !ids.isEmpty else { return [] }
    let sql = "SELECT \(QueuedOperation.columns) FROM operations WHERE id IN (SELECT value FROM json_each(?))"
    let found = try rows(sql, [Self.json(ids)], as: QueuedOperation.init(row:))
    let places = Dictionary(uniqueKeysWithValues: found.indices.map { (found[$0].id, $0) })
    return ids.compactMap { id in places[id].map { found[$0] } }
  }

  /// Those of these operations that are in the queue and need no person.
  func underWay(_ ids: [Int64]) throws -> Set<Int64> {
    let sql = """
      SELECT id FROM operations WHERE id IN (SELECT value FROM json_each(?)) AND state NOT IN ('failed', 'conflict')
      """
    return Set(try rows(sql, [Self.json(ids)]) { $0[0] })
  }

  /// The generations of those of these operations that are in flight.
  func generationsInFlight(_ ids: [Int64]) throws -> [Int64: Int64] {
    let sql = """
      SELECT id, generation FROM operations WHERE id IN (SELECT value FROM json_each(?)) AND state = 'inFlight'
      """
    return try Dictionary(uniqueKeysWithValues: rows(sql, [Self.json(ids)]) { ($0[0], $0[1]) })
  }

  /// The identifier is read first, because mostly there is none and a single value is cheaper than a row.
  func operation(for key: RecordKey) throws -> QueuedOperation? {
    let id: Int64? = try one(
      "SELECT id FROM operations WHERE zone = ? AND owner = ? AND name = ?",
      [key.zone, key.owner, key.name]
    )
    return try id.flatMap { try operation($0) }
  }

  /// The operations on a zone itself, oldest first.
  func zoneOperations(of zone: ZoneKey) throws -> [QueuedOperation] {
    try rows(
      "SELECT \(QueuedOperation.columns) FROM operations WHERE zone = ? AND owner = ? AND name IS NULL ORDER BY id",
      [zone.zone, zone.owner]
    ).map(QueuedOperation.init(row:))
  }

  /// The operations on records of a zone, oldest first.
  ///
  /// - Parameter id: only those up to this one.
  func changes(of zone: ZoneKey, after first: Int64 = 0, through last: Int64 = .max, limit: Int) throws -> [Int64] {
    try all(
      """
      SELECT id FROM operations WHERE zone = ? AND owner = ? AND name IS NOT NULL AND id > ? AND id <= ?
        ORDER BY id LIMIT ?
      """,
      [zone.zone, zone.owner, first, last, limit]
    )
  }

  /// Whether an operation on a record of the zone is in flight.
  func isSending(to zone: ZoneKey) throws -> Bool {
    try one(
      """
      SELECT EXISTS
        (SELECT 1 FROM operations WHERE zone = ? AND owner = ? AND state = 'inFlight' AND name IS NOT NULL)
      """,
      [zone.zone, zone.owner]
    ) ?? false
  }

  /// Whether the zone will have records, or itself, to be saved.
  func hasSaves(in zone: ZoneKey) throws -> Bool {
    try one(
      """
      SELECT EXISTS
        (SELECT 1 FROM operations WHERE zone = ? AND owner = ? AND operation IN ('save', 'zoneSave'))
      """,
      [zone.zone, zone.owner]
    ) ?? false
  }

  func lastOperation() throws -> Int64 { try one("SELECT max(id) FROM operations") ?? 0 }

  /// The number of saves in a zone that fail when its deletion on the server is accepted.
  func countFailing(withDeletionOf zone: ZoneKey) throws -> Int {
    // Those after a delete of the zone are for a new one.
    guard try !isDeleteQueued(zone) else { return 0 }
    return try one(
      """
      SELECT count(*) FROM operations WHERE zone = ? AND owner = ? AND operation = 'save'
        AND \(Self.isIn(OperationState.open + [.conflict]))
      """,
      [zone.zone, zone.owner]
    ) ?? 0
  }

  /// The number of operations on records of a zone, from the counts that triggers keep.
  func changeCount(of zone: ZoneKey) throws -> Int {
    try one(
      """
      SELECT (SELECT coalesce(sum(count), 0) FROM queueCounts WHERE zone = ?1 AND owner = ?2)
        - (SELECT count(*) FROM operations WHERE zone = ?1 AND owner = ?2 AND name IS NULL)
      """,
      [zone.zone, zone.owner]
    ) ?? 0
  }

  /// Operations after one, oldest first.
  func operations(after id: Int64, limit: Int) throws -> [QueuedOperation] {
    try rows("SELECT \(QueuedOperation.columns) FROM operations WHERE id > ? ORDER BY id LIMIT ?", [id, limit])
      .map(QueuedOperation.init(row:))
  }

  /// Whether anything is queued for a zone.
  func hasOperations(in zone: ZoneKey) throws -> Bool {
    try one("SELECT EXISTS (SELECT 1 FROM operations WHERE zone = ? AND owner = ?)", [zone.zone, zone.owner]) ?? false
  }

  /// Operations in a state, oldest first.
  func operations(in state: OperationState) throws -> [QueuedOperation] {
    try rows("SELECT \(QueuedOperation.columns) FROM operations WHERE state = ? ORDER BY id", [state.rawValue])
      .map(QueuedOperation.init(row:))
  }

  /// Failed saves and deletions of records whose current generation has not been shown to the app, oldest first,
  /// without unreadable ones.
  func deadLettersToOffer(limit: Int) throws -> [QueuedOperation] {
    try rows(
      """
      SELECT \(QueuedOperation.columns) FROM operations INDEXED BY operationsToOffer
      WHERE state = 'failed' AND operation IN ('save', 'delete') AND askedAbout IS NOT CAST(generation AS TEXT)
        AND errorCode IS NOT ?
      ORDER BY id LIMIT ?
      """,
      [StoreError.unreadable, limit]
    ).map(QueuedOperation.init(row:))
  }

  /// Whether an operation is a conflict about which the app is still to be asked.
  func isForApp(_ id: Int64) throws -> Bool {
    try one("SELECT EXISTS (SELECT 1 FROM operations WHERE id = ? AND state = 'conflict' AND \(Self.isForApp))", [id])
      ?? false
  }

  /// The first conflict after this one about which the app is still to be asked.
  func conflictForApp(after id: Int64) throws -> QueuedOperation? {
    try row(
      """
      SELECT \(QueuedOperation.columns) FROM operations INDEXED BY operationsByState
      WHERE state = 'conflict' AND id > ? AND \(Self.isForApp) ORDER BY id LIMIT 1
      """,
      [id]
    ).map(QueuedOperation.init(row:))
  }

  /// The number of conflicts about which the app is still to be asked; 0 if the store's settings do not ask it.
  ///
  /// Only those are read about which it was asked before.
  func conflictsForApp() throws -> Int {
    guard try settings().asksAboutConflicts == true else { return 0 }
    let asked: Int? = try one(
      """
      SELECT count(*) FROM operations INDEXED BY conflictsAsked
      WHERE state = 'conflict' AND \(Schema.wasAsked) AND NOT \(Self.isForApp)
      """
    )
    return try operationCount(in: .conflict) - (asked ?? 0)
  }

  /// The condition for a conflict that does not recur without end, and about whose current version the app has not been
  /// asked.
  private static let isForApp = """
    (conflictRounds <= \(QueuedOperation.conflictRoundLimit) AND askedAbout IS NOT
      conflictVersion(id, operation, generation, isUnconfirmed, (SELECT changeTag FROM records r
        WHERE r.zone = operations.zone AND r.owner = operations.owner AND r.name = operations.name)))
    """

  /// Operations of a zone in the same bisection, oldest first.
  func operations(of zone: ZoneKey, in bisection: QueuedOperation.Bisection) throws -> [QueuedOperation] {
    try rows(
      "SELECT \(QueuedOperation.columns) FROM operations WHERE zone = ? AND owner = ? AND bisection = ? ORDER BY id",
      [zone.zone, zone.owner, bisection.stored]
    ).map(QueuedOperation.init(row:))
  }

  func keys(inGroup group: String) throws -> [RecordKey] {
    try rows("SELECT zone, owner, name FROM operations WHERE atomicGroup = ? ORDER BY id", [group])
      .map { RecordKey(zone: $0["zone"], owner: $0["owner"], name: $0["name"]) }
  }

  /// Operations in a state after one, oldest first.
  func operationIDs(in state: OperationState, after id: Int64 = 0, limit: Int?) throws -> [Int64] {
    try all(
      "SELECT id FROM operations WHERE state = ? AND id > ? ORDER BY id LIMIT ?",
      [state.rawValue, id, limit ?? -1]
    )
  }

  /// The zones whose records are treated as deleted: with a queued zone delete, or deleted and not emptied yet.
  func deletedZones() throws -> Set<ZoneKey> {
    let sql = "SELECT zone, owner FROM operations WHERE name IS NULL AND operation = 'zoneDelete'"
    return Set(try rows(sql).map { ZoneKey(zone: $0[0], owner: $0[1]) } + chores().compactMap(\.chore.emptiedZone))
  }

  /// The waiting operations whose wait is our own back-off, or a server's wait that is over.
  ///
  /// - Parameter throttledToo: whether to include the server's current waits.
  func backOffs(now: Int64, throttledToo: Bool) throws -> [Int64] {
    try all("SELECT id FROM operations WHERE \(Self.isBackOff) ORDER BY id", [now, throttledToo])
  }

  /// Applies `SendingEvent.ready` to the rows of those of these operations that are still in such a wait. Returns them.
  func endBackOffs(_ ids: [Int64], now: Int64, throttledToo: Bool) throws -> [Int64] {
    try all(
      """
      UPDATE operations SET state = 'pending', nextAttemptAt = NULL, isServersWait = 0, reason = ?
      WHERE id IN (SELECT value FROM json_each(?)) AND \(Self.isBackOff) RETURNING id
      """,
      [Cause.readyAgain(.flushed).stored, Self.json(ids), now, throttledToo]
    )
  }

  private static let isBackOff = "state = 'waiting' AND (isServersWait = 0 OR nextAttemptAt <= ? OR ?)"

  /// The atomic groups of those of these operations that are in one.
  func groups(of ids: [Int64]) throws -> [Int64: String] {
    let sql = """
      SELECT id, atomicGroup FROM operations
      WHERE atomicGroup IS NOT NULL AND id IN (SELECT value FROM json_each(?))
      """
    return try rows(sql, [Self.json(ids)]).reduce(into: [:]) { $0[$1[0]] = $1[1] }
  }

  /// Those of these operations that match a query and are in one of these states, in the same order.
  func operationIDs(
    among ids: [Int64],
    matching query: ListQuery,
    in states: Set<OperationState> = Set(OperationState.allCases)
  ) throws -> [Int64] {
    let (sql, arguments) = Self.condition(query)
    let shown = states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")
    // The join goes from the few rows to the condition, not from an index on one of its columns.
    return try Int64.fetchAll(
      database,
      sql: """
        SELECT id FROM (SELECT key AS place, value AS selected FROM json_each(?)) CROSS JOIN operations ON id = selected
        WHERE state IN (\(shown)) AND \(sql ?? "1") ORDER BY place
        """,
      arguments: [Self.json(ids)] + arguments
    )
  }

  func operationCount() throws -> Int { try one("SELECT sum(count) FROM queueCounts") ?? 0 }

  func operationCount(in state: OperationState) throws -> Int {
    try one("SELECT sum(count) FROM queueCounts WHERE state = ?", [state.rawValue]) ?? 0
  }

  func operations(inGroup group: String) throws -> [QueuedOperation] {
    try keys(inGroup: group).compactMap { try operation(for: $0) }
  }

  func isDeleteQueued(_ zone: ZoneKey) throws -> Bool {
    try zoneOperations(of: zone).contains { $0.kind == .zoneDelete }
  }

  /// Whether the zone's records are treated as deleted: its delete is queued, or it was deleted and is not emptied yet.
  func hasZoneDelete(_ zone: ZoneKey) throws -> Bool { try deletedZones().contains(zone) }
}
