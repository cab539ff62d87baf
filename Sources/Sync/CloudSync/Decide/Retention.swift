import CloudKit

/// Limits the history that is kept. Queued operations, dead letters and quarantined rows are never removed by age or
/// number.
enum Retention {
  /// How long endings, commands, dropped changes, tombstones, and deliveries that no app takes are kept: 90 days in
  /// milliseconds.
  static let age = 90 * SystemClock.day
  /// The maximum number of endings kept.
  static let endings = 100_000
  /// The number of latest deletions whose tombstones are kept. They outlast their endings: when an app saves an object
  /// that it read before the deletion, the record is created again.
  static let tombstones = 1_000_000
  /// The maximum number of operators' commands kept.
  static let commands = 10_000
  /// The maximum number of attempts kept per operation. They are removed with the operation's ending.
  static let attempts = 100
  /// Removes some old and excess history: what is beyond a number always, what is beyond an age if the last time was
  /// long enough ago.
  ///
  /// - Returns: whether there may be more.
  static func apply(now: Int64, _ ledger: Ledger) throws -> Bool {
    let last = try ledger.value(.retainedAt)
    let isDue = last.map { !(0..<SystemClock.hour).contains(now - $0) } ?? true
    let limit = isDue ? now - age : .min
    let removed = try [
      ledger.removeHistory(endedBefore: limit, keeping: endings, limit: SyncStore.slice),
      ledger.removeCommands(before: limit, keeping: commands, limit: SyncStore.slice),
      ledger.removeTombstones(before: limit, keeping: tombstones, limit: SyncStore.slice),
      ledger.removeVerdicts(
        before: isDue ? now - VerdictHistory.age : .min,
        keeping: VerdictHistory.kept,
        limit: SyncStore.slice
      ),
      ledger.removeDropped(before: limit, limit: SyncStore.slice),
      ledger.removeDeliveries(notAskedSince: limit, limit: SyncStore.slice),
    ]
    if removed.contains(SyncStore.slice) { return true }
    if isDue { try ledger.setValue(.retainedAt, now) }
    return false
  }

  /// Records a failed attempt of an operation.
  ///
  /// - Parameter what: the purpose of the request, if it did not send the operation.
  static func addAttempt(
    of operation: Int64,
    _ error: WebServicesError,
    to what: String? = nil,
    seconds: Double,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    let number = try ledger.lastAttemptNumber(of: operation) + 1
    let attempt = Attempt(
      number: number,
      at: now - Int64(seconds * 1000),
      seconds: seconds,
      code: error.code.name,
      message: what.map { "\($0): \(error.reason)" } ?? error.reason,
      response: Attempt.kept(of: error)
    )
    try ledger.add(attempt, of: operation)
    if number > attempts { try ledger.removeAttempts(of: operation, through: number - attempts) }
  }
}
