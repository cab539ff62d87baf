import Facts
import Foundation
import Glibc

/// The system's clock, which may be set to any time.
enum SystemClock {
  /// Linux's value; the header defines it only for GNU sources.
  private static let sinceStart: clockid_t = 7

  /// One hour in milliseconds.
  static let hour: Int64 = 3_600_000
  /// One day in milliseconds.
  static let day: Int64 = 86_400_000

  /// The time in milliseconds since 1970.
  static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  /// The milliseconds by which the clock is ahead of the time since the machine started; nil if the kernel does not
  /// say. It changes when the clock is set.
  static func offset() -> Int64? {
    var time = timespec()
    guard clock_gettime(sinceStart, &time) == 0 else { return nil }
    return now() - (Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }
}

extension SyncStore {
  /// Milliseconds since 1970, as stores count.
  package static var currentTime: Int64 { SystemClock.now() }
}

extension LeaseHolder {
  /// Milliseconds by which the clock was set ahead (or back: negative) since this process extended its lease last. What
  /// it stored is that much later by the present clock. 0 where another machine stored it.
  ///
  /// - Parameter offset: the present `SystemClock.offset()`; nil where the time is simulated.
  func clockShift(_ offset: Int64?) -> Int64 {
    guard let offset, let clockOffset, abs(offset - clockOffset) >= 1000, host == ProcessInfo.processInfo.hostName
    else {
      return 0
    }
    return offset - clockOffset
  }
}

/// Shortens waits after the system clock was moved back.
extension SyncStore {
  /// Stores the current time, to detect a clock that is moved back.
  static func noteTime(_ now: Int64, _ ledger: Ledger) throws { try ledger.setValue(.clock, now) }

  /// If the clock moved back since the last sync began, restarts every wait with its original duration. Otherwise
  /// writes nothing.
  func shortenWaits(_ lease: Lease) throws(StoreError) {
    let now = now()
    guard let last = try read({ try $0.value(.clock) }), now < last - 1000 else { return }
    try write(lease) { ledger, now in
      for var wait in try ledger.waits(after: now) {
        let end = now + Backoff.milliseconds(wait.seconds)
        guard wait.until > end else { continue }
        wait.until = end
        try ledger.put(wait)
      }
      try ledger.setValue(.clock, now)
      try EventLog.add(.clockMovedBack(seconds: (last - now) / 1000), now: now, ledger)
      try ledger.begin(.restartWaits(since: last), now: now)
    }
  }

  /// Restarts the wait of an operation with its original duration.
  ///
  /// - Parameter last: the latest time before the clock was moved back.
  static func shortenWait(
    of operation: QueuedOperation,
    since last: Int64,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    var operation = operation
    guard let end = operation.waitsUntil, end > now else { return }
    let setAt = try ledger.attempts(of: operation.id).first?.at ?? last
    let sooner: Int64
    if setAt > now {
      sooner = max(now, end - (setAt - now))
    } else if !operation.isServersWait {
      // No attempt shows when this back-off was set.
      sooner = min(end, now + Backoff.milliseconds(Backoff.longest))
    } else {
      return
    }
    operation.apply(.deferred(until: sooner, isServersWait: operation.isServersWait))
    try ledger.update(operation)
  }
}
