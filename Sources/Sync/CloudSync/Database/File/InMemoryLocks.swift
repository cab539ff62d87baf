import Dispatch
import Facts
import Synchronization

/// The engine's lock and the watchers of a store in memory, in place of lock file and inotify.
final class InMemoryLocks: Sendable {
  struct Listener: Sendable {
    var queue: DispatchQueue
    var changed: @Sendable () -> Void
  }

  private struct State {
    var isTaken = false
    var trouble: StorageTrouble?
    /// The fencing tokens that the locks show.
    var shown: [ObjectIdentifier: Int64] = [:]
    var listeners: [ObjectIdentifier: Listener] = [:]
  }

  private let state = Mutex(State())

  /// Returns a fencing token in this range that a lock shows; nil without one.
  func holder(among fencingTokens: ClosedRange<Int64>) -> Int64? {
    state.withLock { $0.shown.values.first(where: fencingTokens.contains) }
  }

  /// Shows the fencing token of a lock's holder; nil: none.
  func show(_ fencingToken: Int64?, of lock: ObjectIdentifier) { state.withLock { $0.shown[lock] = fencingToken } }

  /// The trouble that the engine reports.
  var trouble: StorageTrouble? { state.withLock(\.trouble) }

  func report(_ trouble: StorageTrouble?) {
    let isNew = state.withLock { state in
      defer { state.trouble = trouble }
      return state.trouble != trouble
    }
    if isNew { notify() }
  }

  /// Takes the lock if it is free. Returns whether it was.
  func take() -> Bool {
    state.withLock { state in
      defer { state.isTaken = true }
      return !state.isTaken
    }
  }

  func leave() {
    state.withLock { $0.isTaken = false }
    notify()
  }

  func listen(_ id: ObjectIdentifier, _ listener: Listener?) { state.withLock { $0.listeners[id] = listener } }

  /// Notifies all watchers, each on its queue.
  func notify() {
    for listener in state.withLock({ $0.listeners.isEmpty ? [] : Array($0.listeners.values) }) {
      listener.queue.async(execute: listener.changed)
    }
  }
}

/// The engine's lock for a store in memory.
final class SeatLock: EngineLock {
  private let seat: InMemoryLocks
  private let isHeld = Mutex(false)

  init(_ seat: InMemoryLocks) { self.seat = seat }

  deinit {
    report(nil)
    release()
  }

  func take() -> Bool {
    isHeld.withLock { isHeld in
      if !isHeld { isHeld = seat.take() }
      return isHeld
    }
  }

  func show(_ fencingToken: Int64) { seat.show(fencingToken, of: ObjectIdentifier(self)) }

  func release() {
    seat.show(nil, of: ObjectIdentifier(self))
    let wasHeld = isHeld.withLock { isHeld in
      defer { isHeld = false }
      return isHeld
    }
    if wasHeld { seat.leave() }
  }

  func report(_ trouble: StorageTrouble?) { seat.report(trouble) }
}

/// A watch on a store in memory, until it is released.
final class SeatWatch: StorageWatch {
  private let seat: InMemoryLocks

  init(_ seat: InMemoryLocks, queue: DispatchQueue, changed: @escaping @Sendable () -> Void) {
    self.seat = seat
    seat.listen(ObjectIdentifier(self), InMemoryLocks.Listener(queue: queue, changed: changed))
  }

  deinit { seat.listen(ObjectIdentifier(self), nil) }
}
