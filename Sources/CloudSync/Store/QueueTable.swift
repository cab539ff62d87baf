import CloudKit
import GRDB

/// Reading and writing single operations. What they mean is decided elsewhere.
enum QueueTable {
  static func operation(_ id: Int64, _ database: Database) throws -> QueuedOperation? {
    try Row.fetchOne(
      database.cachedStatement(sql: "SELECT \(QueuedOperation.columns) FROM operations WHERE id = ?"),
      arguments: [id]
    ).map(QueuedOperation.init(row:))
  }

  static func operation(for key: RecordKey, _ database: Database) throws -> QueuedOperation? {
    try Row.fetchOne(
      database.cachedStatement(
        sql: "SELECT \(QueuedOperation.columns) FROM operations WHERE zone = ? AND owner = ? AND name = ?"
      ),
      arguments: [key.zone, key.owner, key.name]
    ).map(QueuedOperation.init(row:))
  }

  static func insert(_ operation: QueuedOperation, _ database: Database) throws -> Int64 {
    let statement = try database.cachedStatement(
      sql: """
        INSERT INTO operations(operation, zone, owner, name, type, changes, base, baseTag, state, reason, maxAttempts,
          enqueuedAt, editedAt, bytes, atomicGroup)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?)
        """
    )
    try statement.execute(arguments: [
      operation.kind.rawValue, operation.key.zone, operation.key.owner,
      operation.key.name.isEmpty ? nil : operation.key.name, operation.type,
      try JSONColumn.text(operation.changes), try JSONColumn.text(operation.base), operation.baseTag,
      operation.reason, operation.maxAttempts, operation.enqueuedAt, operation.editedAt, operation.bytes,
      operation.group,
    ])
    let id = database.lastInsertedRowID
    try writeReferences(of: operation, id: id, database)
    return id
  }

  /// Writes every column back, and the references where the changes can have changed.
  static func update(_ operation: QueuedOperation, _ database: Database) throws {
    let statement = try database.cachedStatement(
      sql: """
        UPDATE operations SET operation = ?, type = ?, changes = ?, base = ?, baseTag = ?, state = ?, reason = ?,
          generation = ?, sentGeneration = ?, sentOperation = ?, sentChanges = ?, isRecreation = ?, needsReadBack = ?,
          conflictRounds = ?, attempts = ?, nextAttemptAt = ?, isServersWait = ?, errorCode = ?, errorMessage = ?, editedAt = ?,
          conflictAt = ?, bytes = ?, atomicGroup = ?
        WHERE id = ?
        """
    )
    try statement.execute(arguments: [
      operation.kind.rawValue, operation.type, try JSONColumn.text(operation.changes),
      try JSONColumn.text(operation.base), operation.baseTag, operation.state.rawValue, operation.reason,
      operation.generation, operation.sentGeneration, operation.sentKind?.rawValue,
      try operation.sentChanges.map { try JSONColumn.text($0) }, operation.isRecreation, operation.needsReadBack,
      operation.conflictRounds, operation.attempts, operation.nextAttemptAt,
      operation.isServersWait && operation.nextAttemptAt != nil, operation.errorCode, operation.errorMessage,
      operation.editedAt, operation.conflictAt, operation.changes.byteCount + 200, operation.group,
      operation.id,
    ])
    try database.cachedStatement(sql: "DELETE FROM refs WHERE operation = ?").execute(arguments: [operation.id])
    try writeReferences(of: operation, id: operation.id, database)
  }

  /// Makes the members of one atomic group members of another.
  static func join(_ old: String, to group: String, _ database: Database) throws {
    try database.execute(sql: "UPDATE operations SET atomicGroup = ? WHERE atomicGroup = ?", arguments: [group, old])
  }

  /// On save, what the new values refer to; on delete, what the record referred to on the server.
  private static func writeReferences(of operation: QueuedOperation, id: Int64, _ database: Database) throws {
    let values: [FieldValue]
    switch operation.kind {
    case .save: values = Array(operation.changes.values.values)
    case .delete: values = Array(operation.base.values)
    case .zoneSave, .zoneDelete: return
    }
    let statement = try database.cachedStatement(
      sql: "INSERT INTO refs(operation, zone, owner, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
    )
    for reference in values.lazy.flatMap(\.references) {
      let zone = reference.zoneID
      let target = RecordKey(
        zone: zone?.zoneName ?? operation.key.zone,
        owner: zone.map { $0.ownerRecordName ?? "" } ?? operation.key.owner,
        name: reference.recordName
      )
      // A record may refer to itself; it need not wait for itself.
      if target == operation.key { continue }
      try statement.execute(arguments: [id, target.zone, target.owner, target.name])
    }
  }

  /// Takes an operation out of the queue and writes down how it ended, in the same transaction.
  static func end(_ operation: QueuedOperation, _ ending: Ending, _ detail: String, now: Int64, _ database: Database)
    throws
  {
    try database.cachedStatement(
      sql: """
        INSERT INTO history(operationId, operation, zone, owner, name, type, ending, detail, enqueuedAt, endedAt)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    ).execute(arguments: [
      operation.id, operation.kind.rawValue, operation.key.zone, operation.key.owner,
      operation.key.name.isEmpty ? nil : operation.key.name, operation.type, ending.rawValue, detail,
      operation.enqueuedAt, now,
    ])
    try database.cachedStatement(sql: "DELETE FROM operations WHERE id = ?").execute(arguments: [operation.id])
  }
}
