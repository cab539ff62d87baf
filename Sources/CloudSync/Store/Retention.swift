import CloudKit

/// How much is kept of what happened. What is queued never ends by age or number, dead letters included, nor do rows in
/// quarantine.
enum Retention {
  /// Milliseconds that endings, commands and what merges dropped are kept: 90 days.
  static let age: Int64 = 90 * 86_400_000
  /// Endings kept at most.
  static let endings = 100_000
  /// Operators' commands kept at most.
  static let commands = 10_000
  /// Attempts kept of one operation; those of one that ended go with its ending.
  static let attempts = 100
  /// Milliseconds between two looks for what is too old.
  private static let interval: Int64 = 3_600_000
  /// Rows of a table that one transaction removes at most, so that nobody waits for it.
  private static let portion = 1000

  /// Removes what is too old or too much, if nobody has looked for a while.
  static func apply(now: Int64, _ ledger: Ledger) throws {
    if let last = try ledger.value("retainedAt").flatMap({ Int64($0) }), (0..<interval).contains(now - last) { return }
    let limit = now - age
    let endings = try ledger.removeHistory(endedBefore: limit, keeping: endings, limit: portion)
    let commands = try ledger.removeCommands(before: limit, keeping: commands, limit: portion)
    try ledger.removeDropped(before: limit)
    // There may be more: the next pass goes on.
    if endings < portion, commands < portion { try ledger.setValue("retainedAt", String(now)) }
  }

  /// Adds a failed attempt of an operation: a request that it was in, or one that was to prepare it.
  ///
  /// - Parameter what: what the attempt was to do where it did not send the operation.
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
    // In the place of one that is too much.
    if number > attempts { try ledger.removeAttempts(of: operation.id, through: number - attempts) }
  }
}
