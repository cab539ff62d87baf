import CloudKit
import Facts
import GRDB

/// The columns of `operations` that are written, each with its value.
extension Ledger {
  typealias WrittenColumn = (
    name: String, value: @Sendable (QueuedOperation) throws -> (any DatabaseValueConvertible)?
  )

  private static let changingColumns: [WrittenColumn] = [
    ("operation", { $0.kind.rawValue }), ("type", { $0.type }), ("changes", { try JSONColumn.text($0.changes) }),
    ("base", { try $0.base.isEmpty ? "{}" : JSONColumn.text($0.base) }), ("baseTag", { $0.zoneToken ?? $0.baseTag }),
    ("state", { $0.state.rawValue }), ("reason", { $0.cause.stored }), ("generation", { $0.generation }),
    ("sentGeneration", { $0.sentGeneration }), ("sentOperation", { $0.sentKind?.rawValue }),
    ("sentChanges", { try $0.sentChanges.isEmpty ? nil : JSONColumn.text($0.sentChanges) }),
    ("isRecreation", { $0.isRecreation }), ("needsVerification", { $0.needsVerification }),
    ("conflictRounds", { $0.conflictRounds }), ("attempts", { $0.attempts }), ("nextAttemptAt", { $0.waitsUntil }),
    ("isServersWait", { $0.isServersWait }), ("errorCode", { $0.errorCode }), ("errorMessage", { $0.errorMessage }),
    ("editedAt", { $0.editedAt }), ("conflictAt", { $0.conflictAt }), ("bytes", { $0.bytes }),
    ("atomicGroup", { $0.group }), ("assets", { try JSONColumn.text(of: $0.assets) }),
    ("needsUpload", { $0.needsUpload }), ("isUnconfirmed", { $0.isUnconfirmed }), ("lostRounds", { $0.lostRounds }),
    ("askedAbout", { $0.asked?.stored }), ("bisection", { $0.bisection?.stored }),
  ]

  /// A new operation gets its identifier from the database.
  private static let fixedColumns: [WrittenColumn] = [
    ("zone", { $0.key.zone }), ("owner", { $0.key.owner }), ("name", { $0.key.name.isEmpty ? nil : $0.key.name }),
    ("maxAttempts", { $0.maxAttempts }), ("enqueuedAt", { $0.enqueuedAt }), ("program", { $0.enqueuedBy?.name }),
    ("pid", { $0.enqueuedBy?.pid }), ("id", { $0.id == 0 ? nil : $0.id }),
  ]

  static let writtenColumns = changingColumns + fixedColumns

  private static let replacement =
    "UPDATE operations SET \(changingColumns.map { "\($0.name) = ?" }.joined(separator: ", ")) WHERE id = ?"
  private static let singleInsertion = insertion(of: 1)

  /// The statement that inserts so many operations.
  static func insertion(of count: Int) -> String {
    let row = "(" + Array(repeating: "?", count: writtenColumns.count).joined(separator: ", ") + ")"
    let rows = Array(repeating: row, count: count).joined(separator: ", ")
    return "INSERT INTO operations(\(writtenColumns.map(\.name).joined(separator: ", "))) VALUES \(rows)"
  }

  func values(of columns: [WrittenColumn], in operation: QueuedOperation) throws -> StatementArguments {
    try StatementArguments(columns.map { try $0.value(operation) })
  }
}

/// Writing the tables `operations` and `refs`.
extension Ledger {
  /// Adds an operation with its references: one that was queued before under its identifier, others under a new one.
  func insert(_ operation: QueuedOperation, _ links: RecordLinks) throws -> Int64 {
    try run(Self.singleInsertion, try values(of: Self.writtenColumns, in: operation))
    let id = database.lastInsertedRowID
    try link(operation, links, as: id)
    return id
  }

  /// Updates an operation, except for what never changes: its key, its `enqueuedAt` and its `maxAttempts`.
  func replace(_ operation: QueuedOperation, _ links: RecordLinks) throws {
    try run(Self.replacement, try values(of: Self.changingColumns, in: operation) + [operation.id])
    if try links != self.links(of: operation.id) {
      try run("DELETE FROM refs WHERE operation = ?", [operation.id])
      try insert(links, of: operation.id)
    }
    try noteBlocker(of: operation.id)
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

  /// Makes every operation in flight pending and unconfirmed. Returns the number of operations.
  func recoverInFlight() throws -> Int {
    let operations = try operations(in: .inFlight)
    for var operation in operations {
      operation.apply(.recovered)
      try update(operation)
    }
    return operations.count
  }

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

  /// Logs that an operation fails, gets into a conflict, or was merged, where the store does not have that yet. A
  /// failure is counted here, whatever made it fail.
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
    if case .failed = event { try count(failed: 1, now: now) }
    try EventLog.add(event, of: operation, now: max(now, operation.conflictAt ?? 0), self)
  }

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
