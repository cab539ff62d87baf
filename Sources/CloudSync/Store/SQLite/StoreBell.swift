@preconcurrency import Dispatch
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// How a process tells all others that it has committed something: it touches a file beside the store.
///
/// Watching the write-ahead log itself is not enough. It is written before the commit can be seen, and whoever is woken
/// by that and looks at once finds nothing and sleeps on.
enum Bell {
  /// The driver's lock file, which is there anyway.
  static func path(_ storePath: String) -> String { StoreLock.path(storePath) }

  /// Makes sure that there is something to watch.
  static func hang(_ storePath: String) {
    let descriptor = open(path(storePath), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
  }

  /// Touches the file, after the commit. Where there is none, nobody watches.
  static func ring(_ storePath: String) {
    _ = utimensat(AT_FDCWD, path(storePath), nil, 0)
  }
}

/// inotify on the store's bell wakes a Dispatch source. GRDB's own observation sees one process only.
final class BellWatch: StorageWatch {
  private let descriptor: Int32
  private let source: any DispatchSourceRead

  /// - Parameters:
  ///   - locks: also when a process that may have held the lock closes its file, or dies.
  ///   - isToMake: whether the file to watch is made where it is missing.
  /// - Returns: nil where the system has no more watches to give.
  init?(
    _ storePath: String,
    queue: DispatchQueue,
    locks: Bool,
    isToMake: Bool,
    changed: @escaping @Sendable () -> Void
  ) {
    descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    if isToMake { Bell.hang(storePath) }
    let mask = UInt32(IN_ATTRIB) | (locks ? UInt32(IN_CLOSE_WRITE) : 0)
    let watch = inotify_add_watch(descriptor, Bell.path(storePath), mask)
    guard watch >= 0 else {
      close(descriptor)
      return nil
    }
    let descriptor = descriptor
    source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler {
      let events = Self.events(descriptor)
      changed()
      guard events & UInt32(IN_CLOSE_WRITE) != 0 else { return }
      // The kernel tells of a closing a moment before it drops the file's locks.
      for delay in [5, 50, 500] { queue.asyncAfter(deadline: .now() + .milliseconds(delay), execute: changed) }
    }
    source.setCancelHandler { close(descriptor) }
    source.activate()
  }

  deinit { source.cancel() }

  /// The kinds of all events that are there to be read.
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
