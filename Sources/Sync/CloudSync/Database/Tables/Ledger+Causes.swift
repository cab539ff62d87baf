import CloudKit
import Facts
import Foundation
import GRDB

/// Failed and retrying operations by cause.
///
/// Failures that differ only in the names that they quote have one cause: the names of the record, its zone, a record
/// that is missing, or a file.
extension Ledger {
  /// Failed and retrying operations by cause, the most frequent first; failed ones before retrying ones.
  ///
  /// - Parameter states: only operations in these states; empty: in any.
  func causes(matching query: ListQuery, in states: Set<OperationState> = []) throws -> [QueueCause] {
    let selection = try selection(query)
    let (sql, arguments) = selection.condition
    let shown = [OperationState.failed, .waiting].filter { states.isEmpty || states.contains($0) }
    let isShown = "\(selection.column("state")) IN (\(shown.map { "'\($0.rawValue)'" }.joined(separator: ", ")))"
    let condition = "\(isShown) AND \(sql ?? "1")"
    let waiting = try waitingChanges()
    let causes = try causes(of: condition, arguments, waiting.blockers, now: query.now, isUsual: sql == nil)
    return causes.joined(upTo: 100).map { cause in
      var cause = cause
      cause.releases = waiting.released(by: cause.blocking)
      cause.mayReleaseMore = !waiting.isWhole
      return cause
    }
  }

  /// The most frequent cause of failed operations; nil if none failed.
  ///
  /// - Parameters:
  ///   - failed: the number of failed operations.
  ///   - limit: the most operations that are read, the newest, to bound the cost.
  func topFailure(of failed: Int, limit: Int = 250) throws -> FailureSummary? {
    guard failed > 0 else { return nil }
    let causes = try causes(of: "state = 'failed' ORDER BY id DESC LIMIT ?", [limit], now: 0, isUsual: true)
    guard let top = causes.joined(upTo: 1).first else { return nil }
    return FailureSummary(
      cause: top.cause,
      code: top.code,
      message: top.message,
      count: top.count,
      more: min(failed, limit) - top.count,
      isWhole: failed <= limit,
      isFieldRejected: try isFieldRejected(top)
    )
  }

  /// Whether the server rejects a save for one of its fields, which its message quotes.
  private func isFieldRejected(_ cause: QueueCause) throws -> Bool {
    // Only a deployment of the schema cures that it lacks a field.
    if case .failed(.schemaLacks) = cause.cause { return false }
    guard cause.code == ServerErrorCode.badRequest.name, let message = cause.message else { return false }
    let sql = """
      SELECT f.key FROM operations o, json_each(iif(json_valid(o.changes), o.changes, '{}'), '$.values') f
        WHERE o.id = ? AND o.operation = 'save'
      """
    let fields: [String] = try all(sql, [cause.first])
    return fields.contains { field in
      ["'\(field)'", "\"\(field)\"", "field \(field) "].contains { "\(message) ".contains($0) }
    }
  }

  /// - Parameters:
  ///   - condition: the rest of the statement that reads the operations.
  ///   - blockers: the operations that others wait for.
  private func causes(
    of condition: String,
    _ arguments: StatementArguments,
    _ blockers: Set<Int64> = [],
    now: Int64,
    isUsual: Bool
  ) throws -> [QueueCause] {
    let sql = """
      SELECT state, errorCode, reason, kind, isWorded, count(*) AS number, max(0, min(enqueuedAt)) AS oldest, min(id) AS first,
          min(iif(nextAttemptAt > ?, nextAttemptAt, NULL)) AS next, json_group_array(DISTINCT goneZone) AS gone,
          json_group_array(id) FILTER (WHERE id IN (SELECT value FROM json_each(?))) AS blocking
        FROM (SELECT *, iif(isWorded, \(Self.withoutName), \(Self.messageWithoutNames)) AS kind
          FROM (SELECT *, \(Self.isWorded) AS isWorded
            FROM (SELECT id, state, errorCode, errorMessage, reason, name, zone, enqueuedAt, nextAttemptAt,
                \(Self.plain) AS plain,
                iif((zone, owner) IN (SELECT zone, owner FROM zones WHERE \(Self.isGone)), zone, NULL) AS goneZone
              FROM operations WHERE \(condition))))
        GROUP BY state, errorCode, iif(state = 'failed', kind, NULL)
        ORDER BY state, number DESC, first LIMIT 1000
      """
    let values = [now, Self.json(Array(blockers))] + arguments
    return try Row.fetchAll(list(sql, isUsual: isUsual), arguments: values).map { row in
      var message: String? = row["kind"]
      if row["isWorded"], let stored = message, case .failed(let failure) = Cause(stored: stored) {
        message = failure.message
      }
      var cause = QueueCause(
        state: OperationState(rawValue: row["state"]) ?? .failed,
        code: row["errorCode"],
        message: message,
        cause: Cause(stored: row["reason"]),
        count: row["number"],
        first: row["first"],
        oldestAt: row["oldest"],
        nextAttemptAt: row["next"]
      )
      let (gone, blocking): (String, String) = (row["gone"], row["blocking"])
      if blocking != "[]" { cause.blocking = Set(try JSONDecoder().decode([Int64].self, from: Data(blocking.utf8))) }
      // Nearly always there is none.
      if gone != "[null]" {
        cause.recreated = try JSONDecoder().decode([String?].self, from: Data(gone.utf8)).compactMap(\.self)
      }
      return cause
    }
  }

  /// The stored cause without a note; nil if it is damaged.
  private static let plain = """
    iif(json_valid(reason),
      iif(json_type(reason, '$.noted._0.failed') IS NULL, reason, json_extract(reason, '$.noted._0')), NULL)
    """

  /// The failures in our own words that quote a name, with the place of that name in the stored cause.
  private static let quoting = [
    ("$.failed._0.referenceMissing", "name"), ("$.failed._0.file", "path"), ("$.failed._0.zoneChanged", "zone"),
    ("$.failed._0.zoneDeleted", "zone"), ("$.failed._0.zoneUnavailable", "zone"),
  ]

  /// Whether the stored cause is one of these, or names a type and field of a schema.
  private static let isWorded: String = {
    let types = (quoting.map(\.0) + ["$.failed._0.schemaLacks"]).map { "json_type(plain, '\($0)')" }
    return "coalesce(\(types.joined(separator: ", "))) IS NOT NULL"
  }()

  /// The stored cause without that name.
  private static let withoutName =
    "json_replace(plain, \(quoting.map { "'\($0.0).\($0.1)', '…'" }.joined(separator: ", ")))"

  /// The message without the names of the record and its zone. A short name may stand in any word, so it has to be in
  /// quotes.
  private static let messageWithoutNames = ["name", "zone"].reduce("errorMessage") { message, name in
    let inQuotes = ["''''", "'\"'"].reduce(message) { message, quote in
      "replace(\(message), \(quote) || \(name) || \(quote), \(quote) || '…' || \(quote))"
    }
    return """
      CASE WHEN \(name) IS NULL THEN \(message) WHEN length(\(name)) < 3 THEN \(inQuotes)
        ELSE replace(\(message), \(name), '…') END
      """
  }
}

extension [QueueCause] {
  /// Joins each of the first causes with those that its expression selects as well, because their messages quote other
  /// names.
  ///
  /// - Parameter limit: the number of causes to join others with, to bound the cost.
  fileprivate func joined(upTo limit: Int) -> [QueueCause] {
    var (causes, place) = (self, 0)
    while place < Swift.min(limit, causes.count) {
      let cause = causes[place]
      let alike = causes.filter(cause.selects)
      for other in alike {
        causes[place].count += other.count
        causes[place].blocking.formUnion(other.blocking)
        causes[place].first = Swift.min(causes[place].first, other.first)
        causes[place].oldestAt = Swift.min(causes[place].oldestAt, other.oldestAt)
        causes[place].recreated += other.recreated.filter { !causes[place].recreated.contains($0) }
      }
      let joined = Set(alike.map(\.id))
      place += 1 - causes[..<place].count { joined.contains($0.id) }
      if !joined.isEmpty { causes.removeAll { joined.contains($0.id) } }
    }
    return causes.sorted { ($0.state.rawValue, -$0.count, $0.first) < ($1.state.rawValue, -$1.count, $1.first) }
  }
}

extension QueueCause {
  /// Whether the expression of this cause selects the operations of another one.
  fileprivate func selects(_ other: QueueCause) -> Bool {
    guard state == .failed, other.state == state, other.code == code, other.id != id, let message,
      let theirs = other.message, message.contains("…")
    else { return false }
    // The text before the first name distinguishes most others.
    return theirs.hasPrefix(message.prefix { $0 != "…" }) && theirs.isLike(message.replacing("…", with: "%"))
  }
}
