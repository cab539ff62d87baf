import Facts
import Foundation
import Glibc
import Synchronization

/// An exclusive lock on a file beside the store, which the kernel releases when the process ends.
///
/// It belongs to the open file, not to the process (`F_OFD_SETLK`), so that two engines in one process exclude each
/// other too, and closing another descriptor of the file does not release it.
final class StoreLock: EngineLock {
  private let descriptor: Int32
  private let isHeld = Mutex(false)

  // Linux's values; the header defines them only for GNU sources.
  private static let getLock: Int32 = 36
  private static let setLock: Int32 = 37
  private static let awaitLock: Int32 = 38

  private let storePath: String
  /// The first byte is the engine's lock, the second that of creating the store. Each of the next ones is locked while
  /// a process that is to sync reports a trouble. Far behind them is one for each fencing token.
  private let byte: Int
  private let reported = Mutex<StorageTrouble?>(nil)
  private let shown = Mutex<Int64?>(nil)

  /// - Parameter isToAsk: whether the lock will only be queried, or a trouble be reported: that neither needs
  ///   permission to write nor creates the file, and closing a file opened for reading notifies no watcher.
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

  func show(_ fencingToken: Int64) {
    shown.withLock { shown in
      if let shown { _ = control(Self.setLock, Int16(F_UNLCK), Self.byte(of: shown)) }
      _ = control(Self.setLock, Int16(F_WRLCK), Self.byte(of: fencingToken))
      shown = fencingToken
    }
  }

  func release() {
    shown.withLock { shown in
      if let shown { _ = control(Self.setLock, Int16(F_UNLCK), Self.byte(of: shown)) }
      shown = nil
    }
    isHeld.withLock { isHeld in
      if isHeld { _ = control(Self.setLock, Int16(F_UNLCK)) }
      isHeld = false
    }
    if byte == 0 { Bell.notify(storePath) }
  }

  func report(_ trouble: StorageTrouble?) {
    let isNew = reported.withLock { reported in
      guard reported != trouble else { return false }
      if let reported { _ = control(Self.setLock, Int16(F_UNLCK), reported.byte) }
      // Several processes may report the same, and this lock needs no permission to write.
      if let trouble { _ = control(Self.setLock, Int16(F_RDLCK), trouble.byte) }
      reported = trouble
      return true
    }
    // Nothing is written to the store, so its watchers have to be notified.
    if isNew { Bell.notify(storePath) }
  }

  /// The trouble that a process reports which waits until it can write; nil if none.
  static func trouble(beside storePath: String) -> StorageTrouble? {
    guard isKnown(storePath) else { return nil }
    let lock = StoreLock(beside: storePath, isToAsk: true)
    return StorageTrouble.allCases.first { trouble in
      lock.control(getLock, Int16(F_WRLCK), trouble.byte).map { $0 != Int16(F_UNLCK) } ?? false
    }
  }

  func requireInPlace() throws(StoreError) {
    let path = Self.path(storePath)
    let present = FileIdentity(atPath: path)
    guard let identity = FileIdentity(of: descriptor), identity != present else { return }
    if identity.isOnLostVolume(path) { throw .volumeLost(storePath) }
    throw .replaced("the lock file \(path)", isGone: present == nil)
  }

  /// Waits for the lock and takes it.
  private func wait() {
    isHeld.withLock { $0 = control(Self.awaitLock, Int16(F_WRLCK)) != nil }
  }

  /// The byte of the lock file that is locked by the process with this fencing token. The kernel locks bytes that the
  /// file does not have, too.
  private static func byte(of fencingToken: Int64) -> Int { 1 << 40 + Int(clamping: fencingToken) }

  /// Returns a fencing token in this range whose process has not ended; nil without one. Asking takes no lock.
  static func holder(among fencingTokens: ClosedRange<Int64>, beside storePath: String) -> Int64? {
    guard isKnown(storePath) else { return nil }
    let lock = StoreLock(beside: storePath, isToAsk: true)
    var region = flock()
    region.l_type = Int16(F_WRLCK)
    region.l_whence = Int16(SEEK_SET)
    region.l_start = byte(of: fencingTokens.lowerBound)
    region.l_len = byte(of: fencingTokens.upperBound) - region.l_start + 1
    guard lock.descriptor >= 0, fcntl(lock.descriptor, getLock, &region) == 0, region.l_type != Int16(F_UNLCK) else {
      return nil
    }
    return Int64(region.l_start - byte(of: 0))
  }

  /// Lets only one process at a time create a store, so that no other opens an incomplete one.
  ///
  /// - Parameter body: gets whether the lock is held; it is not if its file cannot be created.
  static func whileMaking<Value>(_ storePath: String, _ body: (_ isHeld: Bool) throws -> Value) rethrows -> Value {
    let lock = StoreLock(beside: storePath, byte: 1)
    lock.wait()
    defer { lock.release() }
    return try body(lock.isHeld.withLock(\.self))
  }

  /// Waits for a process that is creating the store, if there is one. Changes nothing.
  ///
  /// - Returns: false if there is no lock file.
  static func waitWhileMaking(_ storePath: String) -> Bool {
    guard isKnown(storePath) else { return false }
    let lock = StoreLock(beside: storePath, byte: 1, isToAsk: true)
    // A shared lock needs no write permission, and ends with the descriptor.
    return lock.control(awaitLock, Int16(F_RDLCK)) != nil
  }

  /// Whether a store has been or is being created here, according to the lock file.
  static func isKnown(_ storePath: String) -> Bool { FileManager.default.fileExists(atPath: path(storePath)) }

  /// Records in the lock file that the store has been created.
  static func noteMade(_ storePath: String) {
    guard !isMade(storePath) else { return }
    let descriptor = open(path(storePath), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    _ = write(descriptor, "made\n", 5)
    close(descriptor)
  }

  /// Whether a store has been created here, even if it is gone.
  static func isMade(_ storePath: String) -> Bool {
    var status = stat()
    return stat(path(storePath), &status) == 0 && status.st_size > 0
  }

  /// Runs a lock command on a byte, by default this lock's. Returns the lock type that the kernel reports, or nil if it
  /// fails.
  private func control(_ command: Int32, _ type: Int16, _ byte: Int? = nil) -> Int16? {
    guard descriptor >= 0 else { return nil }
    var region = flock()
    region.l_type = type
    region.l_whence = Int16(SEEK_SET)
    region.l_start = byte ?? self.byte
    region.l_len = 1
    return fcntl(descriptor, command, &region) == 0 ? region.l_type : nil
  }
}

extension StorageTrouble {
  /// The byte of the lock file that is locked while the engine reports it.
  fileprivate var byte: Int {
    switch self {
    case .full: 2
    case .readOnly: 3
    case .failing: 4
    }
  }
}
