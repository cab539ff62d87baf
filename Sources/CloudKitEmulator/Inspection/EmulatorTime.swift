public import Foundation
import Synchronization

/// Time travel. The core has no clock: whoever hands in the time, a server or a transport, hands in what is said here.
extension Emulator {
  /// Lets time pass for the emulator: whatever expires, expires. Signed requests are then late, since their senders'
  /// clocks stay behind; more than ten minutes and they are refused.
  ///
  /// Time does not run backwards, nor further ahead than a thousand years; the process's end ends the travel.
  public func advance(by duration: Duration) {
    let most: Duration = .seconds(1000 * 365 * 24 * 60 * 60)
    ahead.withLock { $0 = min($0 + min(max(duration, .zero), most), most) }
  }

  /// How far the emulator's time is ahead of the clock.
  public var timeAhead: Duration { ahead.withLock { $0 } }

  /// The emulator's time at a time of the clock.
  public func time(at clock: Date) -> Date {
    clock.addingTimeInterval(timeAhead / .seconds(1))
  }
}
