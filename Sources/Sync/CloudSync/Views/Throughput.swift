import GRDB

/// Counts of one minute.
package struct Throughput: Hashable, Sendable {
  /// The time at which the minute began, in milliseconds since 1970.
  package var at: Int64
  /// Changes that the server took.
  package var sent = 0
  /// Records that were fetched because they had changed, or deleted on the server.
  package var fetched = 0
  /// Changes that failed until a person acts, here or on the server.
  package var failed = 0
  /// Bytes of the changes that the server took, as they were sent.
  package var bytes = 0

  mutating func add(_ other: Throughput) {
    sent += other.sent
    fetched += other.fetched
    failed += other.failed
    bytes += other.bytes
  }

  /// How long minutes are kept.
  package static let minutes: Int64 = 24 * 60
}

extension Throughput: Decodable, FetchableRecord {}

extension Ledger {
  /// Adds to the present minute, in the transaction of the answer that is counted.
  func count(sent: Int = 0, fetched: Int = 0, failed: Int = 0, bytes: Int = 0, now: Int64) throws {
    guard sent + fetched + failed > 0 else { return }
    try logStart()
    let minute = now / 60_000
    try run(
      """
      INSERT INTO throughput(minute, sent, fetched, failed, bytes) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT(minute) DO UPDATE SET sent = sent + excluded.sent, fetched = fetched + excluded.fetched,
        failed = failed + excluded.failed, bytes = bytes + excluded.bytes
      """,
      [minute, sent, fetched, failed, bytes]
    )
    // Minutes of a clock that was set back since would never end.
    try run("DELETE FROM throughput WHERE minute <= ? OR minute > ?", [minute - Throughput.minutes, minute])
  }

  /// The sums of the last 24 hours. A change that failed more than once in them is one failed change, as far back as
  /// the log names it.
  func lastDay(now: Int64) throws -> Throughput {
    var day = try throughput(now: now).reduce(into: Throughput(at: now)) { $0.add($1) }
    guard day.failed > 0 else { return day }
    let since = (now / 60_000 - Throughput.minutes + 1) * 60_000
    let sql = "SELECT count(operation), count(DISTINCT operation) FROM events WHERE kind = 'failed' AND at >= ?"
    let (failures, changes): (Int, Int) = try row(sql, [since]).map { ($0[0], $0[1]) } ?? (0, 0)
    day.failed = max(changes, day.failed - (failures - changes))
    return day
  }

  /// The minutes of the last 24 hours in which something happened, oldest first.
  func throughput(now: Int64) throws -> [Throughput] {
    let minute = now / 60_000
    let sql = """
      SELECT minute * 60000 AS at, sent, fetched, failed, bytes FROM throughput
      WHERE minute > ? AND minute <= ? ORDER BY minute
      """
    return try Throughput.fetchAll(
      database.cachedStatement(sql: sql),
      arguments: [minute - Throughput.minutes, minute]
    )
  }
}
