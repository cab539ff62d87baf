import Foundation
import Synchronization

/// A clock that only the simulation moves, in milliseconds since 1970.
final class SimulatedClock: Sendable {
  private let milliseconds: Mutex<Int64>
  private let world: SimulatedClock?

  /// The world's clock, or with `world` a device's: the world's and an error of its own.
  init(world: SimulatedClock? = nil) {
    self.world = world
    milliseconds = Mutex(world == nil ? 1_700_000_000_000 : 0)
  }

  var now: Int64 { milliseconds.withLock(\.self) + (world?.now ?? 0) }
  var date: Date { Date(timeIntervalSince1970: Double(now) / 1000) }

  /// Moves the world's time, or adds to the device's error.
  func advance(_ seconds: Double) { milliseconds.withLock { $0 += Int64(seconds * 1000) } }
}
