import Foundation
import GRDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The right to drive a store: held by one process at a time.
///
/// Two things make it safe. The kernel's lock on a file beside the store ends with the process, so a dead driver is
/// replaced at once. The fencing number in the store is raised by whoever takes over and checked in every transaction
/// of the driver, so one that was stopped past its lease and continues writes nothing.
package struct Lease: Sendable {
  /// How long a driver may be silent while it works before another may take over, in milliseconds.
  package static let duration: Int64 = 5_000

  let fence: Int64
  private let lock: DriverLock

  /// Takes the lease if nobody holds it, or if its holder has been silent past its end while at work, or while a request
  /// of ours waits (`holderIsSilent`).
  ///
  /// - Returns: nil where another process drives.
  static func acquire(_ store: SyncStore, holderIsSilent: Bool = false) throws(StoreError) -> Lease? {
    let lock = DriverLock(path: lockPath(store.path))
    let isFree = lock.tryLock()
    let now = store.now()
    let fence: Int64? = try store.write { database in
      let row = try Row.fetchOne(database, sql: "SELECT fence, expiresAt FROM lease")
      let isExpired = (row?["expiresAt"] as Int64?).map { $0 < now } ?? false
      guard isFree || isExpired || holderIsSilent else { return nil }
      let fence = (row?["fence"] as Int64? ?? 0) + 1
      try database.execute(
        sql: """
          INSERT INTO lease(one, fence, pid, host, expiresAt) VALUES (1, ?, ?, ?, ?)
          ON CONFLICT(one) DO UPDATE SET
            fence = excluded.fence, pid = excluded.pid, host = excluded.host, expiresAt = excluded.expiresAt
          """,
        arguments: [
          fence, Int64(ProcessInfo.processInfo.processIdentifier), ProcessInfo.processInfo.hostName, now + duration,
        ]
      )
      return fence
    }
    return fence.map { Lease(fence: $0, lock: lock) }
  }

  /// Throws unless this process is still the driver; extends its lease.
  func check(_ database: Database, now: Int64) throws {
    try database.cachedStatement(sql: "UPDATE lease SET expiresAt = ? WHERE fence = ?")
      .execute(arguments: [now + Self.duration, fence])
    guard database.changesCount == 1 else {
      throw StoreError(.fenced, "another process drives this store now; this one has stopped")
    }
  }

  /// Extends the lease during a long request; false where another process has taken over.
  func renew(_ store: SyncStore) throws(StoreError) {
    let now = store.now()
    try store.write { try check($0, now: now) }
  }

  /// Says that the driver sleeps with nothing to do: then only the kernel's lock tells whether it lives.
  func rest(_ store: SyncStore) throws(StoreError) {
    let fence = fence
    try store.write { database in
      try database.execute(sql: "UPDATE lease SET expiresAt = NULL WHERE fence = ?", arguments: [fence])
    }
  }

  /// Gives the lease back.
  func release(_ store: SyncStore) {
    try? rest(store)
    lock.unlock()
  }

  /// Whether some process holds the kernel's lock.
  static func isHeld(_ storePath: String) -> Bool {
    let path = lockPath(storePath)
    guard FileManager.default.fileExists(atPath: path) else { return false }
    let lock = DriverLock(path: path)
    defer { lock.unlock() }
    return !lock.tryLock()
  }

  private static func lockPath(_ storePath: String) -> String { storePath + ".driver" }
}

/// An exclusive `flock` on a file, dropped by the kernel when the process ends in whatever way.
private final class DriverLock: Sendable {
  private let descriptor: Int32

  init(path: String) {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  func tryLock() -> Bool { descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

  func unlock() {
    if descriptor >= 0 { flock(descriptor, LOCK_UN) }
  }
}
