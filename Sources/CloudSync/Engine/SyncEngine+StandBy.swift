import Dispatch
import Foundation

/// Standby while another process syncs the store.
extension SyncEngine {
  /// The time for which an idle holder may leave work undone before it counts as stopped. Takeover is promised in 5 s.
  private static let patience = Duration.seconds(3)

  /// Waits for the lease until its holder releases it, dies or stops reacting; nil when cancelled.
  ///
  /// There is no polling: the storage reports writes and the release of the lock, and an idle holder publishes when it
  /// will continue.
  func standBy() async throws(StoreError) -> Lease? {
    let candidate = store.storage.engineLock()
    lock = candidate
    let wakeup = wakeup
    let watcher = StoreWatcher(store, queue: .global(), locks: true) { wakeup.wake() }
    defer { _ = watcher }
    var neglected: (rest: EngineRest, since: ContinuousClock.Instant)?
    while !Task.isCancelled {
      try requireInPlace()
      if let lease = try Lease.acquire(store, asksApp: asksApp, with: candidate) { return lease }
      let (rest, expiresAt) = try store.engineRest()
      var end = expiresAt
      if let rest {
        end = rest.wakesAt
        let now = store.now()
        if case .work = try store.read({ try outlook(pollIsDue: end.map { $0 <= now } ?? false, now: now, $0) }) {
          if neglected?.rest != rest { neglected = (rest, .now) }
        } else {
          neglected = nil
        }
      } else {
        neglected = nil
      }
      if let since = neglected?.since {
        let left = Self.patience - since.duration(to: .now)
        if left <= .zero,
          let lease = try Lease.acquire(store, holderIsSilent: true, asksApp: asksApp, with: candidate)
        {
          return lease
        }
        await wakeup.sleep(max(left, .milliseconds(10)))
      } else {
        let left = end.map { Duration.milliseconds(max(10, $0 + 10 - store.now())) }
        // Without a watch of the system the store has to be polled.
        await wakeup.sleep(watcher == nil ? min(left ?? .seconds(1), .seconds(1)) : left)
      }
    }
    return nil
  }

  /// Throws if the store or its lock file was deleted or replaced.
  func requireInPlace() throws(StoreError) {
    try store.storage.requireInPlace()
    try lock?.requireInPlace()
  }

  /// Wakes the loop if the store or its lock file was deleted or replaced. Nothing reports that a folder above them was
  /// moved.
  func watchPlace() -> Task<Void, Never> {
    Task {
      while (try? await Task.sleep(for: .seconds(2))) != nil {
        do { try requireInPlace() } catch { wakeup.wake() }
      }
    }
  }
}
