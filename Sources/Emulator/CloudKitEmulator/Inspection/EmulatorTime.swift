public import Foundation
import Synchronization

/// The emulator's clock. The core has no clock of its own: servers and transports pass in the time that this extension
/// computes.
extension Emulator {
  /// Moves the emulator's clock ahead, so that tokens and URLs expire. Signed requests then have old dates, because the
  /// clocks of their senders do not move. They are rejected if the difference is more than ten minutes.
  ///
  /// The clock cannot move back, nor ahead by more than a thousand years. The shift ends with the process.
  public func advance(by duration: Duration) {
    let most: Duration = .seconds(1000 * 365 * 24 * 60 * 60)
    ahead.withLock { $0 = min($0 + min(max(duration, .zero), most), most) }
  }

  /// The shift of the emulator's clock.
  public var timeAhead: Duration { ahead.withLock { $0 } }

  /// Returns the emulator's time at a time of the real clock.
  public func time(at clock: Date) -> Date {
    clock.addingTimeInterval(timeAhead / .seconds(1))
  }
}
