@preconcurrency import Dispatch
import Foundation
import Glibc

/// Notifies all processes of a commit by touching a file beside the store.
///
/// Watching the write-ahead log is not enough: it is written before the commit is visible, so a process woken by it may
/// read too early and miss the commit.
enum Bell {
  /// The engine's lock file, which exists anyway.
  static func path(_ storePath: String) -> String { StoreLock.path(storePath) }

  /// Creates the file if needed.
  static func prepare(_ storePath: String) {
    let descriptor = open(path(storePath), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
  }

  /// Touches the file after a commit. If it does not exist, nothing is watching.
  static func notify(_ storePath: String) {
    _ = utimensat(AT_FDCWD, path(storePath), nil, 0)
  }
}

/// Watches the store's files with inotify: the lock file, which each commit touches, and the store itself, which may be
/// deleted, moved or replaced, also with its folder. GRDB's own observation sees only one process.
final class BellWatch: StorageWatch {
  private let descriptor: Int32
  private let source: any DispatchSourceRead

  /// - Parameters:
  ///   - locks: whether to notify also when a process that may have held the lock closes its file or dies.
  ///   - isToMake: whether to create the file to watch if it is missing.
  /// - Returns: nil if the system has no more watches.
  init?(
    _ storePath: String,
    queue: DispatchQueue,
    locks: Bool,
    isToMake: Bool,
    changed: @escaping @Sendable () -> Void
  ) {
    descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    if isToMake { Bell.prepare(storePath) }
    let isMoved = UInt32(IN_ATTRIB) | UInt32(IN_MOVE_SELF)
    let mask = isMoved | (locks ? UInt32(IN_CLOSE_WRITE) : 0)
    guard inotify_add_watch(descriptor, Bell.path(storePath), mask) >= 0,
      inotify_add_watch(descriptor, storePath, isMoved) >= 0
    else {
      close(descriptor)
      return nil
    }
    // Without permission to read the folder, its move is noticed later.
    let folder = URL(fileURLWithPath: storePath).deletingLastPathComponent().path
    _ = inotify_add_watch(descriptor, folder, UInt32(IN_MOVE_SELF))
    let descriptor = descriptor
    source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler {
      let events = Self.events(descriptor)
      changed()
      guard events & UInt32(IN_CLOSE_WRITE) != 0 else { return }
      // The kernel reports a close shortly before it drops the file's locks.
      for delay in [5, 50, 500] { queue.asyncAfter(deadline: .now() + .milliseconds(delay), execute: changed) }
    }
    source.setCancelHandler { close(descriptor) }
    source.activate()
  }

  deinit { source.cancel() }

  /// The union of the kinds of all pending events.
  private static func events(_ descriptor: Int32) -> UInt32 {
    var kinds: UInt32 = 0
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return kinds }
      buffer.withUnsafeBytes { bytes in
        let header = MemoryLayout<inotify_event>.size
        var start = 0
        while start + header <= count {
          let event = bytes.loadUnaligned(fromByteOffset: start, as: inotify_event.self)
          kinds |= event.mask
          start += header + Int(event.len)
        }
      }
    }
  }
}
