import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// An exclusive lock on a file beside the store, dropped by the kernel when the process ends in whatever way.
///
/// It belongs to the open file, not to the process (`F_OFD_SETLK`), so that two engines in one process exclude each other
/// too, and closing some other descriptor of the file loses nothing.
final class StoreLock: DriverLock {
  private let descriptor: Int32
  private let isHeld = Mutex(false)

  // Linux's numbers; the header shows them to GNU sources only.
  private static let getLock: Int32 = 36
  private static let setLock: Int32 = 37
  private static let awaitLock: Int32 = 38

  private let storePath: String
  /// The first byte is the driver's, the second that of whoever makes the store.
  private let byte: Int

  /// - Parameter isToAsk: it will never be taken; closing a file that was open for reading wakes nobody.
  init(beside storePath: String, byte: Int = 0, isToAsk: Bool = false) {
    self.storePath = storePath
    self.byte = byte
    let path = Self.path(storePath)
    descriptor = isToAsk ? open(path, O_RDONLY | O_CLOEXEC) : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  static func path(_ storePath: String) -> String { storePath + ".driver" }

  @discardableResult
  func take() -> Bool {
    isHeld.withLock { isHeld in
      if !isHeld { isHeld = control(Self.setLock, Int16(F_WRLCK)) != nil }
      return isHeld
    }
  }

  func release() {
    isHeld.withLock { isHeld in
      if isHeld { _ = control(Self.setLock, Int16(F_UNLCK)) }
      isHeld = false
    }
    if byte == 0 { Bell.ring(storePath) }
  }

  func requireInPlace() throws(StoreError) {
    let path = Self.path(storePath)
    guard descriptor >= 0, FileIdentity(of: descriptor) != FileIdentity(atPath: path) else { return }
    throw .replaced("the lock file \(path)")
  }

  /// Takes the lock as soon as whoever holds it lets go.
  private func wait() {
    isHeld.withLock { $0 = control(Self.awaitLock, Int16(F_WRLCK)) != nil }
  }

  /// Whether some process, this one included, holds the driver's lock. Asking does not take it, even for a moment.
  static func isHeld(beside storePath: String) -> Bool {
    guard isKnown(storePath) else { return false }
    let lock = StoreLock(beside: storePath, isToAsk: true)
    return lock.control(getLock, Int16(F_WRLCK)).map { $0 != Int16(F_UNLCK) } ?? false
  }

  /// Lets one process at a time make a store, so that none meets another's half-made one.
  static func whileMaking<Value>(_ storePath: String, _ body: () throws -> Value) rethrows -> Value {
    let lock = StoreLock(beside: storePath, byte: 1)
    lock.wait()
    defer { lock.release() }
    return try body()
  }

  /// Waits for a process that is just making or migrating the store, if one is. Changes nothing.
  ///
  /// - Returns: false where there is no lock file.
  static func waitWhileMaking(_ storePath: String) -> Bool {
    guard isKnown(storePath) else { return false }
    let lock = StoreLock(beside: storePath, byte: 1, isToAsk: true)
    // One that is shared needs no right to write, and ends with the descriptor.
    return lock.control(awaitLock, Int16(F_RDLCK)) != nil
  }

  /// Whether a store has been made or is being made here, as far as its lock file tells.
  static func isKnown(_ storePath: String) -> Bool { FileManager.default.fileExists(atPath: path(storePath)) }

  /// Writes down in the lock file that the store beside it is made.
  static func noteMade(_ storePath: String) {
    guard !isMade(storePath) else { return }
    let descriptor = open(path(storePath), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    _ = write(descriptor, "made\n", 5)
    close(descriptor)
  }

  /// Whether a store has been made here, whatever has become of it.
  static func isMade(_ storePath: String) -> Bool {
    var status = stat()
    return stat(path(storePath), &status) == 0 && status.st_size > 0
  }

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
