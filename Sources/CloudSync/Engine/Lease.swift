import Foundation

/// The right to drive a store: held by one process at a time.
///
/// Two things make it safe. The kernel's lock on a file beside the store ends with the process, so a dead driver is
/// replaced at once. The fencing number in the store is raised by whoever takes over and checked in every transaction
/// of the driver, so one that was stopped past its lease and continues writes nothing.
package struct Lease: Sendable {
  /// How long a driver may be silent while it works before another may take over, in milliseconds.
  package static let duration: Int64 = 5_000

  let fence: Int64
  private let lock: any DriverLock

  /// Takes the lease if nobody holds it, or if its holder has been silent past its end while at work, or while a request
  /// of ours waits (`holderIsSilent`).
  ///
  /// - Returns: nil where another process drives.
  static func acquire(_ store: SyncStore, holderIsSilent: Bool = false) throws(StoreError) -> Lease? {
    let lock = store.storage.driverLock()
    let isFree = lock.take()
    let now = store.now()
    if !isFree, !holderIsSilent {
      // Somebody who waits for a driver looks often: looking must not write, for each write wakes all who watch.
      let expiresAt = try store.read { try $0.lease()?.expiresAt }
      guard let expiresAt, expiresAt < now else { return nil }
    }
    let fence: Int64? = try store.write { ledger in
      let holder = try ledger.lease()
      let isExpired = holder?.expiresAt.map { $0 < now } ?? false
      guard isFree || isExpired || holderIsSilent else { return nil }
      let fence = (holder?.fence ?? 0) + 1
      let process = ProcessInfo.processInfo
      try ledger.put(
        LeaseHolder(
          fence: fence,
          pid: Int64(process.processIdentifier),
          host: process.hostName,
          expiresAt: now + duration
        )
      )
      return fence
    }
    return fence.map { Lease(fence: $0, lock: lock) }
  }

  /// Throws unless this process is still the driver; extends its lease.
  func check(_ ledger: any Ledger, now: Int64) throws {
    guard try ledger.extendLease(fence: fence, until: now + Self.duration) else {
      throw StoreError(.fenced, "another process drives this store now; this one has stopped")
    }
    // Taken over from a silent holder: its lock is ours as soon as it lets go, so that nobody takes us for dead.
    lock.take()
  }

  /// Extends the lease during a long request; false where another process has taken over.
  func renew(_ store: SyncStore) throws(StoreError) {
    let now = store.now()
    try store.write { try check($0, now: now) }
  }

  /// Says that the driver sleeps with nothing to do: then only the kernel's lock tells whether it lives.
  func rest(_ store: SyncStore) throws(StoreError) {
    let fence = fence
    _ = try store.write { try $0.extendLease(fence: fence, until: nil) }
  }

  /// Gives the lease back.
  func release(_ store: SyncStore) {
    try? rest(store)
    lock.release()
  }
}
