/// A value behind a lock, which copies share.
///
/// `@unchecked Sendable`: the value is used only while the lock is held.
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
  /// Whether the lock is held, for `precondition(_:)`.
  public enum Ownership: Hashable, Sendable {
    /// This thread holds the lock.
    case owner
    /// This thread does not hold the lock.
    case notOwner
  }

  /// The value and the lock, at one address for all copies.
  private let storage: ManagedBuffer<State, os_unfair_lock>

  /// Creates a lock with a value whose type may not be `Sendable`.
  public init(uncheckedState initialState: State) {
    storage = .create(minimumCapacity: 1) { buffer in
      buffer.withUnsafeMutablePointerToElements { $0.initialize(to: os_unfair_lock()) }
      return initialState
    }
  }

  /// Creates a lock with a value.
  public init(initialState: State) where State: Sendable { self.init(uncheckedState: initialState) }

  /// Runs a closure with the value while the lock is held.
  public func withLock<Result: Sendable>(_ body: @Sendable (inout State) throws -> Result) rethrows -> Result {
    try withLockUnchecked(body)
  }

  /// Runs a closure with the value while the lock is held. Its result may not be `Sendable`.
  public func withLockUnchecked<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try storage.withUnsafeMutablePointers { state, lock in
      os_unfair_lock_lock(lock)
      defer { os_unfair_lock_unlock(lock) }
      return try body(&state.pointee)
    }
  }

  /// Runs a closure with the value if the lock can be taken at once; otherwise returns nil.
  public func withLockIfAvailable<Result: Sendable>(
    _ body: @Sendable (inout State) throws -> Result
  ) rethrows -> Result? {
    try withLockIfAvailableUnchecked(body)
  }

  /// Runs a closure with the value if the lock can be taken at once; otherwise returns nil. Its result may not be
  /// `Sendable`.
  public func withLockIfAvailableUnchecked<Result>(_ body: (inout State) throws -> Result) rethrows -> Result? {
    try storage.withUnsafeMutablePointers { state, lock in
      guard os_unfair_lock_trylock(lock) else { return nil }
      defer { os_unfair_lock_unlock(lock) }
      return try body(&state.pointee)
    }
  }

  /// Ends the process if the lock should be held and is not. On Linux the lock does not know its thread.
  public func precondition(_ condition: Ownership) {
    storage.withUnsafeMutablePointerToElements { lock in
      switch condition {
      case .owner: os_unfair_lock_assert_owner(lock)
      case .notOwner: os_unfair_lock_assert_not_owner(lock)
      }
    }
  }
}

extension OSAllocatedUnfairLock where State == Void {
  /// Creates a lock without a value.
  public init() { self.init(uncheckedState: ()) }

  /// Locks, and waits until that is possible.
  public func lock() { storage.withUnsafeMutablePointerToElements(os_unfair_lock_lock) }

  /// Unlocks.
  public func unlock() { storage.withUnsafeMutablePointerToElements(os_unfair_lock_unlock) }

  /// Locks if that is possible at once, and returns whether it did.
  public func lockIfAvailable() -> Bool { storage.withUnsafeMutablePointerToElements(os_unfair_lock_trylock) }

  /// Runs a closure while the lock is held.
  public func withLock<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result {
    try withLockUnchecked { _ in try body() }
  }

  /// Runs a closure while the lock is held. Its result may not be `Sendable`.
  public func withLockUnchecked<Result>(_ body: () throws -> Result) rethrows -> Result {
    try withLockUnchecked { _ in try body() }
  }

  /// Runs a closure if the lock can be taken at once; otherwise returns nil.
  public func withLockIfAvailable<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result? {
    try withLockIfAvailableUnchecked { _ in try body() }
  }

  /// Runs a closure if the lock can be taken at once; otherwise returns nil. Its result may not be `Sendable`.
  public func withLockIfAvailableUnchecked<Result>(_ body: () throws -> Result) rethrows -> Result? {
    try withLockIfAvailableUnchecked { _ in try body() }
  }
}
