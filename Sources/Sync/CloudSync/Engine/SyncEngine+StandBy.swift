import Dispatch
import Foundation

/// Standby while another process syncs the store.
extension SyncEngine {
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
    var next = Outlook.standBy(until: nil)
    // The idle state in which the holder leaves work undone, and since when.
    var undone: (rest: EngineRest, since: ContinuousClock.Instant)?
    while !Task.isCancelled {
      try requireInPlace()
      let isSilent = next == .replaceHolder
      if let lease = try Lease.acquire(store, holderIsSilent: isSilent, asksApp: asksApp, with: candidate) {
        return lease
      }
      let now = store.now()
      let (rest, leaseEnd) = try store.engineRest()
      let hasWork = try rest.map { rest throws(StoreError) in
        try store.read { try outlook(pollIsDue: rest.wakesAt.map { $0 <= now } ?? false, now: now, $0) == .work }
      }
      if hasWork != true { undone = nil } else if let rest, undone?.rest != rest { undone = (rest, .now) }
      let undoneFor = undone.map { Int64($0.since.duration(to: .now) / .milliseconds(1)) }
      next = Outlook(standingByUntil: leaseEnd, wakesAt: rest?.wakesAt, undoneFor: undoneFor, now: now)
      guard case .standBy(let end) = next else { continue }
      let left = end.map { Duration.milliseconds(max(10, $0 + 10 - now)) }
      // Without a watch of the system the store has to be polled.
      await wakeup.sleep(watcher == nil ? min(left ?? .seconds(1), .seconds(1)) : left)
    }
    return nil
  }

  /// Throws if the store or its lock file was deleted or replaced.
  func requireInPlace() throws(StoreError) {
    try store.storage.requireInPlace()
    try lock?.requireInPlace()
  }

  /// Wakes the loop if the store or its lock file was deleted or replaced without a report of the watch.
  func watchPlace() -> Task<Void, Never> {
    Task {
      while (try? await Task.sleep(for: StoreWatcher.fallback)) != nil {
        do { try requireInPlace() } catch { wakeup.wake() }
      }
    }
  }
}
