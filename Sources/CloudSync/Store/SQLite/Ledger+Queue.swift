import CloudKit
import Facts
import GRDB

/// The tables `operations` and `refs`.
extension Ledger {
  func operation(_ id: Int64) throws -> QueuedOperation? {
    try row("SELECT \(QueuedOperation.columns) FROM operations WHERE id = ?", [id]).map(QueuedOperation.init(row:))
  }

  /// Those of these operations that there are, in the same order.
  func operations(_ ids: [Int64]) throws -> [QueuedOperation] {
    guard !ids.isEmpty else { return [] }
    let sql = "SELECT \(QueuedOperation.columns) FROM operations WHERE id IN (SELECT value FROM json_each(?))"
    let found = try rows(sql, [try Self.json(ids)]).map(QueuedOperation.init(row:))
    let places = Dictionary(uniqueKeysWithValues: found.indices.map { (found[$0].id, $0) })
    return ids.compactMap { id in places[id].map { found[$0] } }
  }

  /// Whether an operation is on its way in the generation that was sent.
  func isInFlight(_ id: Int64, generation: Int64) throws -> Bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM operations WHERE id = ? AND state = 'inFlight' AND generation = ?)"
    return try one(sql, [id, generation]) ?? false
  }

  /// Mostly there is none, and a number is asked for with less ado than a row of many columns.
  func operation(for key: RecordKey) throws -> QueuedOperation? {
    let id: Int64? = try one(
      "SELECT id FROM operations WHERE zone = ? AND owner = ? AND name = ?",
      [key.zone, key.owner, key.name]
    )
    return try id.flatMap { try operation($0) }
  }

  /// Operations of a zone, those on the zone itself included, oldest first.
  func operations(of zone: ZoneKey) throws -> [QueuedOperation] {
    try rows(
      "SELECT \(QueuedOperation.columns) FROM operations WHERE zone = ? AND owner = ? ORDER BY id",
      [zone.zone, zone.owner]
    ).map(QueuedOperation.init(row:))
  }

  /// Operations on records of a zone that build on what the server held: deletes, and saves on a record with a tag.
  func dependentOperations(of zone: ZoneKey) throws -> [Int64] {
    try all(
      """
      SELECT id FROM operations WHERE zone = ? AND owner = ? AND name IS NOT NULL
        AND (operation = 'delete' OR baseTag IS NOT NULL) ORDER BY id
      """,
      [zone.zone, zone.owner]
    )
  }

  /// Operations in a state, oldest first.
  func operations(in state: OperationState) throws -> [QueuedOperation] {
    try rows("SELECT \(QueuedOperation.columns) FROM operations WHERE state = ? ORDER BY id", [state.rawValue])
      .map(QueuedOperation.init(row:))
  }

  /// Failed saves, but for unreadable ones, of which the app has not been offered the present generation: oldest first.
  func deadLettersToOffer(limit: Int) throws -> [QueuedOperation] {
    try rows(
      """
      SELECT \(QueuedOperation.columns) FROM operations INDEXED BY operationsToOffer
      WHERE state = 'failed' AND operation = 'save' AND askedAbout IS NOT CAST(generation AS TEXT) AND errorCode IS NOT ?
      ORDER BY id LIMIT ?
      """,
      [StoreError.unreadable, limit]
    ).map(QueuedOperation.init(row:))
  }

  /// Operations of a zone under one suspicion, oldest first.
  func operations(of zone: ZoneKey, underSuspicion number: Int64) throws -> [QueuedOperation] {
    try rows(
      "SELECT \(QueuedOperation.columns) FROM operations WHERE zone = ? AND owner = ? AND suspicion = ? ORDER BY id",
      [zone.zone, zone.owner, number]
    ).map(QueuedOperation.init(row:))
  }

  func keys(inGroup group: String) throws -> [RecordKey] {
    try rows("SELECT zone, owner, name FROM operations WHERE atomicGroup = ? ORDER BY id", [group])
      .map { RecordKey(zone: $0["zone"], owner: $0["owner"], name: $0["name"]) }
  }

  /// Adds an operation with what it links to, and gives it the next identifier: none is ever given twice.
  func insert(_ operation: QueuedOperation, _ links: RecordLinks) throws -> Int64 {
    try run(
      """
      INSERT INTO operations(operation, type, changes, base, baseTag, state, reason, generation, sentGeneration,
        sentOperation, sentChanges, isRecreation, needsReadBack, conflictRounds, attempts, nextAttemptAt, isServersWait,
        errorCode, errorMessage, editedAt, conflictAt, bytes, atomicGroup, assets, needsUpload,
        isUnanswered, lostRounds, askedAbout, suspicion, zone, owner, name, maxAttempts, enqueuedAt, program, pid)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      try values(operation) + [
        operation.key.zone, operation.key.owner, operation.key.name.isEmpty ? nil : operation.key.name,
        operation.maxAttempts, operation.enqueuedAt, operation.enqueuedBy?.name, operation.enqueuedBy?.pid,
      ]
    )
    let id = database.lastInsertedRowID
    try insert(links, of: id)
    return id
  }

  /// Writes an operation back, except what never changes: its key, its `enqueuedAt` and its `maxAttempts`.
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
    try run("DELETE FROM refs WHERE operation = ?", [operation.id])
    try insert(links, of: operation.id)
  }

  /// What may change of an operation, in the order of the two statements above.
  private func values(_ operation: QueuedOperation) throws -> StatementArguments {
    [
      operation.kind.rawValue, operation.type, try JSONColumn.text(operation.changes),
      try operation.base.isEmpty ? "{}" : JSONColumn.text(operation.base), operation.baseTag, operation.state.rawValue,
      operation.cause.stored,
      operation.generation, operation.sentGeneration, operation.sentKind?.rawValue,
      try operation.sentChanges.isEmpty ? nil : JSONColumn.text(operation.sentChanges), operation.isRecreation,
      operation.needsReadBack,
      operation.conflictRounds, operation.attempts, operation.nextAttemptAt, operation.isServersWait,
      operation.errorCode, operation.errorMessage, operation.editedAt, operation.conflictAt, operation.bytes,
      operation.group,
      try JSONColumn.text(of: operation.assets),
      operation.needsUpload,
      operation.isUnanswered, operation.lostRounds, operation.askedAbout, operation.suspicion,
    ]
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

  /// Row by row, the index of texts would be written anew for each.
  func removeOperations(_ ids: [Int64]) throws {
    guard !ids.isEmpty else { return }
    try run("DELETE FROM operations WHERE id IN (SELECT value FROM json_each(?))", [try Self.json(ids)])
  }

  /// Marks pending or waiting operations as being on their way as they are now.
  func markInFlight(_ ids: [Int64]) throws {
    guard !ids.isEmpty else { return }
    try run(
      """
      UPDATE operations SET state = 'inFlight', reason = ?, nextAttemptAt = NULL, isServersWait = 0,
        sentGeneration = generation, sentOperation = operation WHERE id IN (SELECT value FROM json_each(?))
      """,
      [Cause.sending.stored, try Self.json(ids)]
    )
  }

  /// Makes the members of one atomic group members of another.
  func join(_ old: String, to group: String) throws {
    try run("UPDATE operations SET atomicGroup = ? WHERE atomicGroup = ?", [group, old])
  }

  /// The queued deletions of zones.
  func zoneDeletions() throws -> [ZoneKey: Int64] {
    var deletions: [ZoneKey: Int64] = [:]
    for row in try rows("SELECT id, zone, owner FROM operations WHERE name IS NULL AND operation = 'zoneDelete'") {
      deletions[ZoneKey(zone: row["zone"], owner: row["owner"])] = row["id"]
    }
    return deletions
  }

  /// Makes everything in flight pending and unanswered; records are to be read back, and of saves what was sent is kept.
  /// Returns how many there were.
  func recoverInFlight() throws -> Int {
    try run(
      """
      UPDATE operations SET state = 'pending', sentGeneration = NULL, sentOperation = NULL,
        needsReadBack = operation <> 'zoneSave', isUnanswered = name IS NOT NULL,
        sentChanges = CASE WHEN sentOperation = 'save' AND operation = 'save' AND generation = sentGeneration
            AND json_valid(changes)
          THEN json_insert(CASE WHEN json_valid(sentChanges) THEN sentChanges ELSE '[]' END, '$[#]', json(changes))
          ELSE sentChanges END,
        reason = CASE operation WHEN 'zoneSave' THEN ? ELSE ? END
      WHERE state = 'inFlight'
      """,
      [Cause.sentBeforeRestart(isRepeated: true).stored, Cause.sentBeforeRestart(isRepeated: false).stored]
    )
    return database.changesCount
  }

  /// Makes pending what waits by its own back-off, or by a server's wait that is over; returns how many there were.
  ///
  /// - Parameter throttledToo: also ends the server's waits that are not over.
  func endBackOffs(now: Int64, throttledToo: Bool = false) throws -> Int {
    try run(
      """
      UPDATE operations SET state = 'pending', nextAttemptAt = NULL, isServersWait = 0, reason = ?
      WHERE state = 'waiting' AND (isServersWait = 0 OR nextAttemptAt <= ? OR ?)
      """,
      [Cause.readyAgain(.flushed).stored, now, throttledToo]
    )
    return database.changesCount
  }

  func operationCount(in state: OperationState) throws -> Int {
    try one("SELECT sum(count) FROM queueCounts WHERE state = ?", [state.rawValue]) ?? 0
  }
}

/// Writing single operations. What they mean is decided elsewhere.
extension Ledger {
  func insert(_ operation: QueuedOperation) throws -> Int64 {
    var operation = operation
    operation.assets = operation.assets.kept(by: operation.changes)
    return try insert(operation, operation.links)
  }

  /// Writes an operation back, and the references where the changes can have changed.
  func update(_ operation: QueuedOperation) throws {
    var operation = operation
    operation.assets = operation.assets.kept(by: operation.changes)
    operation.bytes = operation.changes.requestBytes
    operation.isServersWait = operation.isServersWait && operation.nextAttemptAt != nil
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

  /// The members of an atomic group, oldest first.
  func operations(inGroup group: String) throws -> [QueuedOperation] {
    try keys(inGroup: group).compactMap { try operation(for: $0) }
  }

  /// Whether a zone is to be deleted, with all that is in it now.
  func isDoomed(_ zone: ZoneKey) throws -> Bool { try zoneDeletions()[zone] != nil }

  /// A deletion has come true on the server: the record is no more here either.
  func endDeletion(_ operation: QueuedOperation, now: Int64) throws {
    try removeRecord(operation.key)
    try end(operation, .acknowledged, .onServer(isDeletion: true), now: now)
  }

  /// Takes an operation out of the queue and writes down how it ended, in the same transaction.
  func end(_ operation: QueuedOperation, _ ending: Ending, _ cause: Cause, now: Int64) throws {
    try end([operation], ending, cause, now: now)
  }

  /// Takes operations out of the queue, which ended alike.
  func end(_ operations: [QueuedOperation], _ ending: Ending, _ cause: Cause, now: Int64) throws {
    for operation in operations {
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
    }
    try removeOperations(operations.map(\.id))
  }
}

extension QueuedOperation {
  var links: RecordLinks {
    // A record may refer to itself; it need not wait for itself.
    switch kind {
    case .save:
      // What was sent and not answered may be there as well.
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
