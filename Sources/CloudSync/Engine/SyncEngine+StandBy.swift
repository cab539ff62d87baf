import Dispatch
import Foundation

/// Waiting to drive a store that another process drives.
extension SyncEngine {
  /// How long a driver that sleeps may leave work undone before it counts as stopped. Takeover is promised in 5 s.
  private static let patience = Duration.seconds(3)

  /// The lease, as soon as whoever drives has let go, has died, or has stopped; nil when cancelled.
  ///
  /// Nothing is looked at in between: the storage tells of writes and of a lock that goes with its holder, and a driver says
  /// when it will wake by itself.
  func standBy() async throws(StoreError) -> Lease? {
    let candidate = store.storage.driverLock()
    lock = candidate
    let wakeup = wakeup
    let watcher = StoreWatcher(store, queue: .global(), locks: true) { wakeup.ring() }
    defer { _ = watcher }
    var neglected: (rest: DriversRest, since: ContinuousClock.Instant)?
    while !Task.isCancelled {
      try requireInPlace()
      if let lease = try Lease.acquire(store, with: candidate) { return lease }
      let (rest, expiresAt) = try store.driversRest()
      var end = expiresAt
      if let rest {
        end = rest.wakesAt
        if case .work = try outlook(pollIsDue: end.map { $0 <= store.now() } ?? false) {
          if neglected?.rest != rest { neglected = (rest, .now) }
        } else {
          neglected = nil
        }
      } else {
        neglected = nil
      }
      if let since = neglected?.since {
        let left = Self.patience - since.duration(to: .now)
        if left <= .zero, let lease = try Lease.acquire(store, holderIsSilent: true, with: candidate) { return lease }
        await wakeup.sleep(max(left, .milliseconds(10)))
      } else {
        let left = end.map { Duration.milliseconds(max(10, $0 + 10 - store.now())) }
        // Without the system's watch the store has to be looked at.
        await wakeup.sleep(watcher == nil ? min(left ?? .seconds(1), .seconds(1)) : left)
      }
    }
    return nil
  }

  /// Throws where the store or its lock file was deleted or replaced.
  func requireInPlace() throws(StoreError) {
    try store.storage.requireInPlace()
    try lock?.requireInPlace()
  }

  /// Wakes the loop where the store or its lock file was deleted or replaced, of which nothing else tells while it sleeps.
  func watchPlace() -> Task<Void, Never> {
    Task {
      while (try? await Task.sleep(for: .seconds(2))) != nil {
        do { try requireInPlace() } catch { wakeup.ring() }
      }
    }
  }
}
