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
  static func apply(now: Int64, _ ledger: any Ledger) throws {
    if let last = try ledger.value("retainedAt").flatMap({ Int64($0) }), (0..<interval).contains(now - last) { return }
    let limit = now - age
    let endings = try ledger.removeHistory(endedBefore: limit, keeping: endings, limit: portion)
    let commands = try ledger.removeCommands(before: limit, keeping: commands, limit: portion)
    try ledger.removeDropped(closedAndBefore: limit)
    // There may be more: the next pass goes on.
    if endings < portion, commands < portion { try ledger.setValue("retainedAt", String(now)) }
  }

  /// Adds an attempt in the place of one that is too much.
  static func add(_ attempt: Attempt, of operation: Int64, _ ledger: any Ledger) throws {
    try ledger.add(attempt, of: operation)
    if attempt.number > attempts { try ledger.removeAttempts(of: operation, through: attempt.number - attempts) }
  }
}
