import CloudKit

/// Limits the history that is kept. Queued operations, dead letters and quarantined rows are never removed by age or
/// number.
enum Retention {
  /// How long endings, commands and dropped changes are kept: 90 days in milliseconds.
  static let age: Int64 = 90 * 86_400_000
  /// The maximum number of endings kept.
  static let endings = 100_000
  /// The maximum number of operators' commands kept.
  static let commands = 10_000
  /// The maximum number of attempts kept per operation. They are removed with the operation's ending.
  static let attempts = 100
  /// Milliseconds between two runs.
  private static let interval: Int64 = 3_600_000
  /// The maximum number of rows that one transaction removes, so that other writers do not wait.
  private static let portion = 1000

  /// Removes old and excess history, if the last run was long enough ago.
  static func apply(now: Int64, _ ledger: Ledger) throws {
    if let last = try ledger.value("retainedAt").flatMap({ Int64($0) }), (0..<interval).contains(now - last) { return }
    let limit = now - age
    let endings = try ledger.removeHistory(endedBefore: limit, keeping: endings, limit: portion)
    let commands = try ledger.removeCommands(before: limit, keeping: commands, limit: portion)
    try ledger.removeDropped(before: limit)
    // If there may be more, the next sync continues.
    if endings < portion, commands < portion { try ledger.setValue("retainedAt", String(now)) }
  }

  /// Records a failed attempt of an operation.
  ///
  /// - Parameter what: the purpose of the request, if it did not send the operation.
  static func addAttempt(
    of operation: QueuedOperation,
    _ error: WebServicesError,
    to what: String? = nil,
    startedAt: Int64,
    seconds: Double,
    _ ledger: Ledger
  ) throws {
    let number = try ledger.lastAttemptNumber(of: operation.id) + 1
    let attempt = Attempt(
      number: number,
      at: startedAt,
      seconds: seconds,
      code: error.code.name,
      message: what.map { "\($0): \(error.reason)" } ?? error.reason,
      response: error.response
    )
    try ledger.add(attempt, of: operation.id)
    if number > attempts { try ledger.removeAttempts(of: operation.id, through: number - attempts) }
  }
}
