import CloudKit

/// What driver and operators leave behind for everybody who looks.
extension Ledger {
  func changeActivity(_ body: (inout DriverActivity) -> Void) throws {
    let before = try activity()
    var activity = before
    body(&activity)
    if activity != before { try put(activity) }
  }

  /// Shows an error; where nothing but a pass that ends well overcomes it, it `stands`.
  func noteError(_ error: WebServicesError, stands: Bool, now: Int64) throws {
    try changeActivity { row in
      row.note(error, now: now)
      row.errorStands = stands
      row.reachedEnd = false
    }
  }

  /// Whether an operator paused everything.
  func isPaused() throws -> Bool { try value("paused") != nil }

  /// Whether a scope waits now.
  func isWaiting(_ scope: WaitScope, now: Int64) throws -> Bool { try wait(scope).map { $0.until > now } ?? false }
}

/// The event log: what the engine and operators did, in sentences, newest kept.
enum EventLog {
  static let kept: Int64 = 1000

  static func add(_ kind: String, _ message: String, now: Int64, _ ledger: any Ledger) throws {
    let id = try ledger.addEvent(kind, message, at: now)
    try ledger.removeEvents(through: id - kept)
  }
}

extension DriverActivity {
  /// Keeps what went wrong last.
  mutating func note(_ error: WebServicesError, now: Int64) {
    errorCode = error.code.name
    errorMessage = error.reason
    errorAt = now
  }
}
