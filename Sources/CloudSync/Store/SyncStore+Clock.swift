import Facts

/// Clocks that are set back: what was to wait until a time waits no longer than it was to take.
extension SyncStore {
  /// Under this name the store has the latest time of a pass.
  private static let key = "time"

  /// Notes what time it is, so that a clock that is set back shows.
  func noteTime(_ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in try ledger.setValue(Self.key, String(now)) }
  }

  /// Where the clock was set back since a pass began, what was noted before that waits as long again from now, no longer.
  /// Writes nothing where it was not.
  func shortenWaits(_ lease: Lease) throws(StoreError) {
    let now = now()
    guard let last = try read({ try $0.value(Self.key).flatMap { Int64($0) } }), now < last - 1000 else { return }
    try write(lease) { ledger, now in
      for var wait in try ledger.waits(after: now) {
        let end = now + Backoff.milliseconds(wait.seconds)
        guard wait.until > end else { continue }
        wait.until = end
        try ledger.put(wait)
      }
      for var operation in try ledger.operations(in: .waiting) {
        guard let end = operation.nextAttemptAt, end > now else { continue }
        let setAt = try ledger.attempts(of: operation.id).first?.at ?? last
        if setAt > now {
          operation.nextAttemptAt = max(now, end - (setAt - now))
        } else if !operation.isServersWait {
          // Set without an attempt, nobody knows when.
          operation.nextAttemptAt = min(end, now + Backoff.milliseconds(Backoff.longest))
        } else {
          continue
        }
        try ledger.update(operation)
      }
      try ledger.setValue(Self.key, String(now))
      let seconds = (last - now) / 1000
      try EventLog.add(.clockMovedBack(seconds: seconds), now: now, ledger)
    }
  }
}
