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
  /// - Parameter candidate: the lock of somebody who stands by: made once, since letting a lock go wakes all who do.
  /// - Returns: nil where another process drives.
  static func acquire(_ store: SyncStore, holderIsSilent: Bool = false, with candidate: (any DriverLock)? = nil)
    throws(StoreError) -> Lease?
  {
    let lock = candidate ?? store.storage.driverLock()
    let isFree = lock.take()
    try lock.requireInPlace()
    let now = store.now()
    if !isFree {
      // Somebody who waits for a driver looks often: looking must not write, for each write wakes all who watch.
      let holder = try store.read { try $0.lease() }
      guard isSilent(holder, now, holderIsSilent) else { return nil }
    }
    let fence: Int64? = try store.write { ledger in
      let holder = try ledger.lease()
      guard isFree || isSilent(holder, now, holderIsSilent) else { return nil }
      let fence = (holder?.fence ?? 0) + 1
      let process = ProcessInfo.processInfo
      try ledger.put(
        LeaseHolder(
          fence: fence,
          pid: Int64(process.processIdentifier),
          host: process.hostName,
          expiresAt: now + duration,
          program: process.processName,
          since: now
        )
      )
      return fence
    }
    return fence.map { Lease(fence: $0, lock: lock) }
  }

  /// Whether a holder whose lock is held gives no sign of life. One that renews its lease is at work, however long that takes;
  /// one that rests says nothing either, and is silent only if whoever asks has waited for it in vain.
  private static func isSilent(_ holder: LeaseHolder?, _ now: Int64, _ hasNotAnswered: Bool) -> Bool {
    guard let expiresAt = holder?.expiresAt else { return hasNotAnswered }
    // Further ahead than a lease lasts: the clock was set back since, and a holder that lives renews it within one.
    return expiresAt < now || expiresAt > now + 2 * duration
  }

  /// Throws unless this process is still the driver; extends its lease.
  func check(_ ledger: Ledger, now: Int64) throws {
    try lock.requireInPlace()
    guard try ledger.extendLease(fence: fence, until: now + Self.duration) else {
      throw StoreError(.fenced, "another process drives this store now; this one has stopped")
    }
    takeLock()
  }

  /// Taken over from a silent holder: its lock is ours as soon as it lets go, so that nobody takes us for dead.
  func takeLock() { lock.take() }

  /// Lets the lock go after another has taken over, which is told.
  func letGo() { lock.release() }

  /// Extends the lease during a long request; false where another process has taken over.
  func renew(_ store: SyncStore) throws(StoreError) {
    let now = store.now()
    try store.write { try check($0, now: now) }
  }

  /// Says that the driver sleeps with nothing to do, until when if it will wake by itself. Until then the kernel's lock
  /// tells whether it lives, and whoever stands by sees whether it does what there is to do.
  func rest(_ store: SyncStore, until end: Int64? = nil) throws(StoreError) {
    let fence = fence
    try store.write { ledger in
      guard try ledger.extendLease(fence: fence, until: nil) else { return }
      let number = DriversRest(stored: try ledger.value("rest"))?.number ?? 0
      try ledger.setValue("rest", DriversRest(number: number + 1, wakesAt: end).stored)
    }
  }

  /// Gives the lease back.
  func release(_ store: SyncStore) {
    try? rest(store)
    lock.release()
  }
}

/// A driver that sleeps: which of its sleeps this is, and when it will wake by itself.
struct DriversRest: Hashable, Sendable {
  var number: Int64
  var wakesAt: Int64?
}

extension DriversRest {
  /// As one value of the store: `NUMBER WAKESAT`, the second only where there is one.
  var stored: String { "\(number)" + (wakesAt.map { " \($0)" } ?? "") }

  init?(stored: String?) {
    let parts = stored?.split(separator: " ").compactMap { Int64($0) } ?? []
    guard let number = parts.first else { return nil }
    self.init(number: number, wakesAt: parts.count > 1 ? parts[1] : nil)
  }
}

extension SyncStore {
  /// The sleep of whoever drives; nil while it is at work, with the end of its lease.
  func driversRest() throws(StoreError) -> (rest: DriversRest?, expiresAt: Int64?) {
    try read { ledger in
      let expiresAt = try ledger.lease()?.expiresAt
      return (expiresAt == nil ? DriversRest(stored: try ledger.value("rest")) : nil, expiresAt)
    }
  }
}
