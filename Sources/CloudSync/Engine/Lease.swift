import Foundation
import GRDB
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
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
    let isFree = lock.take()
    let now = store.now()
    if !isFree, !holderIsSilent {
      // Somebody who waits for a driver looks often: looking must not write, for each write wakes all who watch.
      let expiresAt = try store.read { try Int64.fetchOne($0, sql: "SELECT expiresAt FROM lease") }
      guard let expiresAt, expiresAt < now else { return nil }
    }
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
    try store.write { database in
      try database.execute(sql: "UPDATE lease SET expiresAt = NULL WHERE fence = ?", arguments: [fence])
    }
  }

  /// Gives the lease back.
  func release(_ store: SyncStore) {
    try? rest(store)
    lock.release()
  }

  /// Whether some process, this one included, holds the kernel's lock. Asking does not take it, even for a moment.
  static func isHeld(_ storePath: String) -> Bool {
    let path = lockPath(storePath)
    guard FileManager.default.fileExists(atPath: path) else { return false }
    return DriverLock(path: path).isHeldElsewhere
  }

  private static func lockPath(_ storePath: String) -> String { storePath + ".driver" }

  /// Lets one process at a time make a store, so that none meets another's half-made one.
  static func whileMaking<Value>(_ storePath: String, _ body: () throws -> Value) rethrows -> Value {
    let lock = DriverLock(path: lockPath(storePath), byte: 1)
    lock.wait()
    defer { lock.release() }
    return try body()
  }

  /// Whether a store has been made or is being made here, as far as its lock file tells.
  static func isKnown(_ storePath: String) -> Bool { FileManager.default.fileExists(atPath: lockPath(storePath)) }
}

/// An exclusive lock on a file, dropped by the kernel when the process ends in whatever way.
///
/// It belongs to the open file, not to the process (`F_OFD_SETLK`), so that two engines in one process exclude each other
/// too, and closing some other descriptor of the file loses nothing.
private final class DriverLock: Sendable {
  private let descriptor: Int32
  private let isHeld = Mutex(false)

  // Linux's numbers; the header shows them to GNU sources only.
  private static let getLock: Int32 = 36
  private static let setLock: Int32 = 37
  private static let awaitLock: Int32 = 38

  /// The first byte is the driver's, the second that of whoever makes the store.
  private let byte: Int

  init(path: String, byte: Int = 0) {
    self.byte = byte
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Takes the lock if it is free and not ours yet; whether it is ours.
  @discardableResult
  func take() -> Bool {
    isHeld.withLock { isHeld in
      if !isHeld { isHeld = control(Self.setLock, Int16(F_WRLCK)) != nil }
      return isHeld
    }
  }

  /// Takes the lock as soon as whoever holds it lets go.
  func wait() {
    isHeld.withLock { $0 = control(Self.awaitLock, Int16(F_WRLCK)) != nil }
  }

  func release() {
    isHeld.withLock { isHeld in
      if isHeld { _ = control(Self.setLock, Int16(F_UNLCK)) }
      isHeld = false
    }
  }

  /// Whether another open file holds the lock. Asking does not take it, even for a moment.
  var isHeldElsewhere: Bool { control(Self.getLock, Int16(F_WRLCK)).map { $0 != Int16(F_UNLCK) } ?? false }

  /// Does a lock command on this lock's byte; the kernel's word on the lock's type, or nil where it refused.
  private func control(_ command: Int32, _ type: Int16) -> Int16? {
    guard descriptor >= 0 else { return nil }
    var region = flock()
    region.l_type = type
    region.l_whence = Int16(SEEK_SET)
    region.l_start = byte
    region.l_len = 1
    return fcntl(descriptor, command, &region) == 0 ? region.l_type : nil
  }
}
