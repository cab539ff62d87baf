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
/// An operation becomes a dead letter that cannot be retried, because its content is lost: an operator discards it, or
/// the record is edited again. A record stays empty until a full fetch.
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
    let failure = FailureCause.damaged(code: StoreError.unreadable, reason: reason)
    let message = failure.message
    try database.execute(
      sql: """
        UPDATE operations SET changes = '{}', base = '{}', baseTag = NULL, sentChanges = NULL, assets = NULL,
          needsUpload = 0, state = 'failed', reason = ?, errorCode = ?, errorMessage = ?, nextAttemptAt = NULL,
          isServersWait = 0, sentGeneration = NULL, sentOperation = NULL, conflictAt = NULL, needsReadBack = 0,
          isUnanswered = 0,
          operation = CASE WHEN name IS NULL THEN 'zoneSave' WHEN operation = 'delete' THEN 'delete' ELSE 'save' END
        WHERE id = ?
        """,
      arguments: [Cause.failed(failure).stored, failure.code, message, id]
    )
    try database.execute(sql: "DELETE FROM refs WHERE operation = ?", arguments: [id])
    let ledger = Ledger(database)
    let attempt = Attempt(
      number: try ledger.lastAttemptNumber(of: id) + 1,
      at: now,
      seconds: 0,
      code: StoreError.unreadable,
      message: message,
      response: String(content.prefix(4096))
    )
    try ledger.add(attempt, of: id)
    try EventLog.add(.damagedOperation(id, reason: reason), operation: id, zone: nil, now: now, ledger)
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
      for var polled in try ledger.polledQueries() where polled.zone == key.zoneKey {
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

extension MirrorRecord {
  /// The start of the tag of a record that could not be read, before the server's tag. The server gives no such tag, so
  /// any version that it sends is new.
  static let unreadable = "unreadable:"
}
