import CloudKit
import GRDB

/// Waits of scopes, kept across restarts.
enum Throttles {
  static func set(
    _ scope: WaitScope,
    _ error: WebServicesError,
    now: Int64,
    random: Double,
    _ database: Database
  ) throws {
    // A row outlives its wait until a request gets through: a scope that refuses again at once waits longer.
    let previous = try Double.fetchOne(
      database,
      sql: "SELECT seconds FROM throttles WHERE scope = ?",
      arguments: [scope.name]
    )
    let seconds: Double
    switch scope {
    // A person has to act; a probe now and then finds out when that has been done.
    case .account, .quota: seconds = max(error.retryAfter ?? 0, 60)
    default: seconds = Backoff.scopeSeconds(asked: error.retryAfter, previous: previous, random: random)
    }
    let isOwn = !(error.retryAfter ?? 0 > 0)
    try database.execute(
      sql: """
        INSERT INTO throttles(scope, until, seconds, code, message, isOwn) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT(scope) DO UPDATE SET until = max(until, excluded.until), seconds = excluded.seconds,
          code = excluded.code, message = excluded.message, isOwn = excluded.isOwn
        """,
      arguments: [
        scope.name, now + Backoff.milliseconds(seconds), seconds, error.code.name, error.reason, isOwn,
      ]
    )
  }

  static func clear(_ scope: WaitScope, _ database: Database) throws {
    try database.cachedStatement(sql: "DELETE FROM throttles WHERE scope = ?").execute(arguments: [scope.name])
  }
}
