import Synchronization

/// A fact that turns true once.
final class Flag: Sendable {
  private let value = Mutex(false)

  var isRaised: Bool { value.withLock { $0 } }
  func raise() { value.withLock { $0 = true } }
}
