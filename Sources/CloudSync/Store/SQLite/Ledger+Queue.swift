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
  func changes(of zone: ZoneKey, through id: Int64 = .max, limit: Int = .max) throws -> [Int64] {
    try all(
      "SELECT id FROM operations WHERE zone = ? AND owner = ? AND name IS NOT NULL AND id <= ? ORDER BY id LIMIT ?",
      [zone.zone, zone.owner, id, limit]
    )
  }

  /// The generations of the operations on records of a zone.
  func generations(of zone: ZoneKey) throws -> [(id: Int64, generation: Int64)] {
    try rows(
      "SELECT id, generation FROM operations WHERE zone = ? AND owner = ? AND name IS NOT NULL ORDER BY id",
      [zone.zone, zone.owner]
    ).map { ($0[0], $0[1]) }
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

  /// Operations in a zone that depend on the server's records: deletes, and saves with a base tag.
  func dependentOperations(of zone: ZoneKey) throws -> [Int64] {
    try all(
      """
      SELECT id FROM operations WHERE zone = ? AND owner = ? AND name IS NOT NULL
        AND (operation = 'delete' OR baseTag IS NOT NULL) ORDER BY id
      """,
      [zone.zone, zone.owner]
    )
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

  /// Operations of a zone under the same suspicion, oldest first.
  func operations(of zone: ZoneKey, under suspicion: QueuedOperation.Suspicion) throws -> [QueuedOperation] {
    try rows(
      "SELECT \(QueuedOperation.columns) FROM operations WHERE zone = ? AND owner = ? AND suspicion = ? ORDER BY id",
      [zone.zone, zone.owner, suspicion.stored]
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

  /// Adds an operation with its references: one that was queued before under its identifier, others under a new one.
  func insert(_ operation: QueuedOperation, _ links: RecordLinks) throws -> Int64 {
    try run(Self.singleInsertion, try values(operation) + fixedValues(operation))
    let id = database.lastInsertedRowID
    try link(operation, links, as: id)
    return id
  }

  /// Updates an operation, except for what never changes: its key, its `enqueuedAt` and its `maxAttempts`.
  func replace(_ operation: QueuedOperation, _ links: RecordLinks) throws {
    try run(
      """
      UPDATE operations SET operation = ?, type = ?, changes = ?, base = ?, baseTag = ?, state = ?, reason = ?,
        generation = ?, sentGeneration = ?, sentOperation = ?, sentChanges = ?, isRecreation = ?, needsReadBack = ?,
        conflictRounds = ?, attempts = ?, nextAttemptAt = ?, isServersWait = ?, errorCode = ?, errorMessage = ?,
        editedAt = ?, conflictAt = ?, bytes = ?, atomicGroup = ?, assets = ?, needsUpload = ?,
        isUnanswered = ?, lostRounds = ?, askedAbout = ?, suspicion = ?
      WHERE id = ?
      """,
      try values(operation) + [operation.id]
    )
    if try links != self.links(of: operation.id) {
      try run("DELETE FROM refs WHERE operation = ?", [operation.id])
      try insert(links, of: operation.id)
    }
    try noteBlocker(of: operation.id)
  }

  /// The columns that may change, in the order of `replace` and of `insertion`.
  func values(_ operation: QueuedOperation) throws -> StatementArguments {
    [
      operation.kind.rawValue, operation.type, try JSONColumn.text(operation.changes),
      try operation.base.isEmpty ? "{}" : JSONColumn.text(operation.base), operation.zoneToken ?? operation.baseTag,
      operation.state.rawValue,
      operation.cause.stored,
      operation.generation, operation.sentGeneration, operation.sentKind?.rawValue,
      try operation.sentChanges.isEmpty ? nil : JSONColumn.text(operation.sentChanges), operation.isRecreation,
      operation.needsReadBack,
      operation.conflictRounds, operation.attempts, operation.waitsUntil, operation.isServersWait,
      operation.errorCode, operation.errorMessage, operation.editedAt, operation.conflictAt, operation.bytes,
      operation.group,
      try JSONColumn.text(of: operation.assets),
      operation.needsUpload,
      operation.isUnanswered, operation.lostRounds, operation.asked?.stored, operation.suspicion?.stored,
    ]
  }

  private func links(of id: Int64) throws -> RecordLinks {
    try rows("SELECT zone, owner, name, isReleased, blocks FROM refs WHERE operation = ?", [id])
      .reduce(into: RecordLinks()) { links, row in
        let key = RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"])
        if row["isReleased"] {
          links.released.insert(key)
        } else if row["blocks"] {
          links.blocking.insert(key)
        } else {
          links.plain.insert(key)
        }
      }
  }

  /// Stores what a new operation refers to, and what blocks it.
  func link(_ operation: QueuedOperation, _ links: RecordLinks, as id: Int64) throws {
    try insert(links, of: id)
    if operation.kind == .delete || !links.blocking.isEmpty { try noteBlocker(of: id) }
  }

  private func insert(_ links: RecordLinks, of id: Int64) throws {
    for (targets, isReleased, blocks) in [
      (links.blocking, false, true), (links.plain, false, false), (links.released, true, true),
    ] {
      for target in targets {
        try run(
          "INSERT INTO refs(operation, zone, owner, name, isReleased, blocks) VALUES (?, ?, ?, ?, ?, ?)",
          [id, target.zone, target.owner, target.name, isReleased, blocks]
        )
      }
    }
  }

  /// Row by row, the text index would be rewritten for each.
  func removeOperations(_ ids: [Int64]) throws {
    guard !ids.isEmpty else { return }
    try run("DELETE FROM operations WHERE id IN (SELECT value FROM json_each(?))", [Self.json(ids)])
  }

  /// Applies `SendingEvent.sent` to the rows of pending or waiting operations.
  func markInFlight(_ ids: [Int64]) throws {
    guard !ids.isEmpty else { return }
    try run(
      """
      UPDATE operations SET state = 'inFlight', reason = ?, nextAttemptAt = NULL, isServersWait = 0,
        sentGeneration = generation, sentOperation = operation WHERE id IN (SELECT value FROM json_each(?))
      """,
      [Cause.sending.stored, Self.json(ids)]
    )
  }

  /// Moves the members of one atomic group to another.
  func join(_ old: String, to group: String) throws {
    try run("UPDATE operations SET atomicGroup = ? WHERE atomicGroup = ?", [group, old])
  }

  /// The queued zone deletes.
  func zoneDeletions() throws -> [ZoneKey: Int64] {
    var deletions: [ZoneKey: Int64] = [:]
    for row in try rows("SELECT id, zone, owner FROM operations WHERE name IS NULL AND operation = 'zoneDelete'") {
      deletions[ZoneKey(zone: row["zone"], owner: row["owner"])] = row["id"]
    }
    return deletions
  }

  /// Makes every operation in flight pending and unconfirmed. Returns the number of operations.
  func recoverInFlight() throws -> Int {
    let operations = try operations(in: .inFlight)
    for var operation in operations {
      operation.apply(.recovered)
      try update(operation)
    }
    return operations.count
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
}

/// Writing single operations.
extension Ledger {
  func insert(_ operation: QueuedOperation) throws -> Int64 {
    var operation = operation
    operation.assets = operation.assets.kept(by: operation.changes)
    return try insert(operation, operation.links)
  }

  /// Changes the time at which an operation counts as accepted.
  func setEnqueued(_ id: Int64, at time: Int64) throws {
    try run("UPDATE operations SET enqueuedAt = ? WHERE id = ?", [time, id])
  }

  /// Updates an operation and its references, or removes it from the queue if it has ended.
  func update(_ operation: QueuedOperation) throws {
    if let end = operation.end { return try self.end(operation, end.ending, end.cause, now: now) }
    var operation = operation
    operation.assets = operation.assets.kept(by: operation.changes)
    operation.bytes = operation.changes.requestBytes
    try logTurn(of: operation)
    try replace(operation, operation.links)
  }

  /// Logs that an operation fails, gets into a conflict, or was merged, where the store does not have that yet.
  private func logTurn(of operation: QueuedOperation) throws {
    let event: Event
    switch operation.cause {
    case .failed(let failure): event = .failed(record: operation.title, failure)
    case .conflict(let conflict, _): event = .conflict(record: operation.title, conflict)
    case .readyAgain(.merged): event = .merged(record: operation.title)
    default: return
    }
    let known: String? = try one("SELECT reason FROM operations WHERE id = ?", [operation.id])
    guard known != operation.cause.stored else { return }
    try EventLog.add(event, of: operation, now: max(now, operation.conflictAt ?? 0), self)
  }

  func operations(inGroup group: String) throws -> [QueuedOperation] {
    try keys(inGroup: group).compactMap { try operation(for: $0) }
  }

  /// Whether a zone delete is pending.
  func hasZoneDelete(_ zone: ZoneKey) throws -> Bool { try zoneDeletions()[zone] != nil }

  /// Removes an operation from the queue and records its ending, in the same transaction.
  func end(_ operation: QueuedOperation, _ ending: Ending, _ cause: Cause, now: Int64) throws {
    try add(
      HistoryEntry(
        id: operation.id,
        kind: operation.kind,
        key: operation.key,
        type: operation.type,
        ending: ending,
        cause: cause,
        enqueuedAt: operation.enqueuedAt,
        endedAt: now,
        enqueuedBy: operation.enqueuedBy
      )
    )
    try removeOperations([operation.id])
  }

  /// Removes operations with the same ending from the queue, as they are stored.
  func end(_ ids: [Int64], _ ending: Ending, _ cause: Cause, now: Int64) throws {
    guard !ids.isEmpty else { return }
    try addEndings(of: ids, ending, cause, now: now)
    try removeOperations(ids)
  }
}

extension QueuedOperation {
  var links: RecordLinks {
    // A record's reference to itself does not block it.
    switch kind {
    case .save:
      // Most records refer to nothing, now or before.
      guard base.hasReferences || changes.values.hasReferences || sentChanges.contains(where: \.values.hasReferences)
      else { return RecordLinks() }
      // The values of an unconfirmed request may be on the server too.
      let formers = [base.filter { changes.names.contains($0.key) }] + sentChanges.map(\.values)
      let bound = changes.values.references(from: key, .binding)
      let released = formers.reduce(into: Set<RecordKey>()) { released, former in
        released.formUnion(former.references(from: key, .binding).subtracting(bound))
      }
      let blocking = changes.values.references(from: key, .blocking).subtracting(released)
      let plain = changes.values.references(from: key).subtracting(blocking).subtracting(released)
      return RecordLinks(blocking: blocking, plain: plain, released: released)
    case .delete:
      let blocking = base.references(from: key, .blocking)
      return RecordLinks(blocking: blocking, plain: base.references(from: key).subtracting(blocking))
    case .zoneSave, .zoneDelete: return RecordLinks()
    }
  }
}
