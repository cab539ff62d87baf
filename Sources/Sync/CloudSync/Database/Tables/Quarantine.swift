import CloudKit
import Facts
import Foundation
import GRDB

/// A row that cannot be decoded, because the file was edited by hand or by a bug.
struct UnreadableRow: Error {
  enum Place: Hashable {
    case operation(Int64)
    case record(RecordKey)
    case dropped(Int64)
    case delivery(Int64)
  }

  var place: Place
  var reason: String

  init(_ place: Place, _ error: any Error) {
    self.place = place
    reason = (error as? StoreError)?.message ?? String(describing: error)
  }
}

/// Sets unreadable rows aside so that the rest of the store works. The original row is kept in the table `quarantine`,
/// as JSON.
///
/// An operation whose change can be read goes on; a lost base is taken from the server. Else it becomes a dead letter
/// that cannot be retried, with the fields that can be read: an operator discards it, or the record is edited again,
/// which sends these fields too. A record stays empty until a full fetch.
enum Quarantine {
  static func take(_ row: UnreadableRow, _ database: Database) throws {
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    switch row.place {
    case .operation(let id): try takeOperation(id, row.reason, now, database)
    case .record(let key): try takeRecord(key, row.reason, now, database)
    case .dropped(let id):
      if try keep("dropped", "id = ?", [id], row.reason, now, database) != nil {
        try database.execute(sql: "DELETE FROM dropped WHERE id = ?", arguments: [id])
      }
    case .delivery(let number):
      if try keep("deliveries", "number = ?", [number], row.reason, now, database) != nil {
        try database.execute(sql: "UPDATE deliveries SET fields = NULL WHERE number = ?", arguments: [number])
      }
    }
  }

  private static func takeOperation(_ id: Int64, _ reason: String, _ now: Int64, _ database: Database) throws {
    guard let content = try keep("operations", "id = ?", [id], reason, now, database) else { return }
    try mendNumbers(of: id, now, database)
    let ledger = Ledger(database)
    guard let row = try ledger.row("SELECT * FROM operations WHERE id = ?", [id]) else { return }
    let part = ReadablePart(row)
    let columns = "changes = ?, base = ?, baseTag = ?, assets = ?, needsVerification = ?, sentChanges = ?"
    let readable: StatementArguments = [
      try JSONColumn.text(part.changes), try part.base.isEmpty ? "{}" : JSONColumn.text(part.base), part.baseTag,
      try JSONColumn.text(of: part.assets), part.needsVerification,
    ]
    if part.lost == nil, mends(id, columns, readable + [part.sentChanges], database) {
      return try EventLog.add(.mendedOperation(id, reason: reason), operation: id, zone: nil, now: now, ledger)
    }
    let reason = part.lost.map { "\(reason.withoutFullStop); lost: \($0)" } ?? reason
    let failure = FailureCause.damaged(code: StoreError.unreadable, reason: reason)
    let message = failure.message
    try database.execute(
      sql: """
        UPDATE operations SET \(columns), needsUpload = 0, state = 'failed', reason = ?, errorCode = ?,
          errorMessage = ?, nextAttemptAt = NULL, isServersWait = 0, sentGeneration = NULL, sentOperation = NULL,
          conflictAt = NULL, isUnconfirmed = 0,
          operation = CASE WHEN name IS NULL THEN 'zoneSave' WHEN operation = 'delete' THEN 'delete' ELSE 'save' END
        WHERE id = ?
        """,
      arguments: readable + [nil, Cause.failed(failure).stored, failure.code, message, id]
    )
    try database.execute(sql: "DELETE FROM refs WHERE operation = ?", arguments: [id])
    let attempt = Attempt(
      number: try ledger.lastAttemptNumber(of: id) + 1,
      at: now,
      seconds: 0,
      code: StoreError.unreadable,
      message: message,
      response: String(content.prefix(4096))
    )
    try ledger.add(attempt, of: id)
    try ledger.count(failed: 1, now: now)
    try EventLog.add(.damagedOperation(id, reason: reason), operation: id, zone: nil, now: now, ledger)
  }

  /// Writes these columns of an operation; false, with nothing written, if the row cannot be read then either.
  private static func mends(
    _ id: Int64,
    _ columns: String,
    _ arguments: StatementArguments,
    _ database: Database
  ) -> Bool {
    do {
      try database.inSavepoint {
        try database.execute(sql: "UPDATE operations SET \(columns) WHERE id = ?", arguments: arguments + [id])
        _ = try Ledger(database).operation(id)
        return .commit
      }
      return true
    } catch {
      return false
    }
  }

  /// Replaces a size and a time that no operation has. The triggers that count the queue cannot subtract such a size,
  /// so the bytes are counted again.
  private static func mendNumbers(of id: Int64, _ now: Int64, _ database: Database) throws {
    let update = "UPDATE operations SET enqueuedAt = ? WHERE id = ? AND enqueuedAt < 0"
    try database.execute(sql: update, arguments: [now, id])
    let isDamaged = try Bool.fetchOne(
      database,
      sql: "SELECT bytes NOT BETWEEN 0 AND ? FROM operations WHERE id = ?",
      arguments: [QueuedOperation.mostBytes, id]
    )
    let trigger = "SELECT sql FROM sqlite_schema WHERE name = 'countMoved'"
    guard isDamaged == true, let sql = try String.fetchOne(database, sql: trigger) else { return }
    try database.execute(sql: "DROP TRIGGER countMoved")
    try database.execute(
      sql: "UPDATE operations SET bytes = length(CAST(changes AS BLOB)) + 200 WHERE id = ?",
      arguments: [id]
    )
    try database.execute(sql: sql)
    try database.execute(
      sql: """
        UPDATE queueCounts SET bytes = coalesce(
          (SELECT sum(iif(bytes BETWEEN 0 AND \(QueuedOperation.mostBytes), bytes, 0)) FROM operations o WHERE o.state = queueCounts.state AND o.zone = queueCounts.zone
            AND o.owner = queueCounts.owner AND coalesce(o.type, '') = queueCounts.type
            AND o.operation = queueCounts.operation), 0)
        """
    )
  }

  private static func takeRecord(_ key: RecordKey, _ reason: String, _ now: Int64, _ database: Database) throws {
    let condition = "zone = ? AND owner = ? AND name = ?"
    let arguments: StatementArguments = [key.zone, key.owner, key.name]
    guard try keep("records", condition, arguments, reason, now, database) != nil else { return }
    let ledger = Ledger(database)
    let update = "UPDATE records SET fields = '{}', changeTag = ? || changeTag WHERE \(condition)"
    try database.execute(sql: update, arguments: [MirrorRecord.unreadable] + arguments)
    // Do not deliver the empty record. The record is delivered when it is fetched again or found deleted.
    try database.execute(sql: "DELETE FROM deliveries WHERE \(condition)", arguments: arguments)
    if key.zoneKey.isDefaultZone {
      for var polled in try ledger.polledQueries() where polled.zoneKey == key.zoneKey {
        polled.watermark = nil
        try ledger.put(polled)
      }
    } else {
      try ledger.restart(key.zoneKey)
    }
    try ledger.changeActivity { $0.reachedEnd = false }
    try EventLog.add(.damagedRecord(key.name, reason: reason), now: now, ledger)
  }

  /// Copies a row to the quarantine and returns its JSON; nil if it does not exist.
  private static func keep(
    _ table: String,
    _ condition: String,
    _ arguments: StatementArguments,
    _ reason: String,
    _ now: Int64,
    _ database: Database
  ) throws -> String? {
    guard
      let row = try Row.fetchOne(database, sql: "SELECT * FROM \(table) WHERE \(condition)", arguments: arguments)
    else { return nil }
    var members: [String: Any] = [:]
    for (column, value) in row where !value.isNull {
      members[column] = Int64.fromDatabaseValue(value) ?? String.fromDatabaseValue(value) ?? value.description
    }
    let data = try JSONSerialization.data(withJSONObject: members, options: [.sortedKeys, .withoutEscapingSlashes])
    let content = String(decoding: data, as: UTF8.self)
    try database.execute(
      sql: "INSERT INTO quarantine(at, source, reason, content) VALUES (?, ?, ?, ?)",
      arguments: [now, table, reason, content]
    )
    return content
  }
}

/// The part of an operation's damaged row that can be read.
struct ReadablePart {
  private(set) var changes = FieldChanges()
  private(set) var base: [String: FieldValue] = [:]
  private(set) var baseTag: String?
  private(set) var sentChanges: String?
  private(set) var assets: [QueuedAsset] = []
  private(set) var needsVerification: Bool
  /// The part of the change that is lost, in words; nil if all of it can be read.
  private(set) var lost: String?

  init(_ row: Row) {
    let (operation, name, state): (String, String?, String) = (row["operation"], row["name"], row["state"])
    let isSave = operation != "delete" && name != nil
    var lostFields: Set<String> = []
    let isWhole: Bool
    if let whole = try? JSONColumn.value(row["changes"], as: FieldChanges.self) {
      (changes, isWhole) = (whole, true)
    } else {
      let part = FieldChanges.salvaged(from: row["changes"])
      (changes, lostFields, isWhole) = (part?.kept ?? FieldChanges(), Set(part?.lost ?? []), false)
    }
    if let assets = try? JSONColumn.assets(row["assets"]) {
      self.assets = assets.kept(by: changes)
    } else {
      // Nothing says where their files are.
      let fields = changes.values.filter { $0.value.assets?.isEmpty == false }.keys
      for field in fields { changes.forget(field) }
      lostFields.formUnion(fields)
    }
    if isSave, !isWhole || !lostFields.isEmpty {
      lost =
        lostFields.isEmpty ? "its fields" : lostFields.map(FieldChanges.displayName).sorted().joined(separator: ", ")
    }
    (baseTag, needsVerification) = (row["baseTag"], row["needsVerification"])
    let sent: String? = row["sentChanges"]
    sentChanges = sent.flatMap { (try? JSONColumn.value($0, as: [FieldChanges].self)) == nil ? nil : $0 }
    if let base = try? JSONColumn.value(row["base"], as: [String: FieldValue].self) {
      self.base = base
    } else if name != nil {
      // The server's fields are the base if it still has that version. Those of a conflict are not.
      let isOpen = state == "conflict" || needsVerification || row["isUnconfirmed"]
      if !isOpen, let tag = baseTag, !tag.hasPrefix(MirrorRecord.unreadable) { baseTag = MirrorRecord.unreadable + tag }
      needsVerification = true
    }
    if sent != nil, sentChanges == nil { needsVerification = true }
  }
}

extension MirrorRecord {
  /// The start of the tag of a record that could not be read, before the server's tag. The server gives no such tag, so
  /// any version that it sends is new.
  static let unreadable = "unreadable:"
}

/// Changes that were lost with their damaged rows when their records were edited again, until a person has seen them.
extension SyncStore {
  /// The number of such changes.
  package func lostChanges() throws(StoreError) -> Int { try read { try $0.lostChanges() } }

  /// The reason why an earlier change of this operation was lost, and which of its fields; nil if none was.
  package func lostChange(of operation: Int64) throws(StoreError) -> String? {
    try read { ledger in
      let seen: Int64 = try ledger.droppedTotals().seenThrough
      let sql = "SELECT reason FROM dropped WHERE operationId = ? AND isAutomatic = 1 AND id > ? ORDER BY id DESC"
      let causes: [String] = try ledger.all(sql, [operation, seen])
      return causes.lazy.compactMap { Cause(stored: $0).damage }.first
    }
  }
}

extension Cause {
  /// The reason why the row of a change is damaged; nil for another cause.
  var damage: String? { if case .failed(.damaged(_, let reason)) = self { reason } else { nil } }
}
