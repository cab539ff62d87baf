@preconcurrency package import Dispatch
import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Tells when any process has written to a store, at no cost while nobody does.
///
/// inotify on the store's bell wakes a Dispatch source. GRDB's own observation sees one process only.
package final class StoreWatcher: Sendable {
  private let descriptor: Int32
  private let source: any DispatchSourceRead

  /// Calls `changed` on `queue` after each write to the store, several writes in a row at least once.
  ///
  /// - Returns: nil where the system has no more watches to give; the caller then has to look by itself.
  package init?(_ store: SyncStore, queue: DispatchQueue, changed: @escaping @Sendable () -> Void) {
    descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    Bell.hang(store.path)
    let watch = inotify_add_watch(descriptor, Bell.path(store.path), UInt32(IN_ATTRIB))
    guard watch >= 0 else {
      close(descriptor)
      return nil
    }
    let descriptor = descriptor
    source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while read(descriptor, &buffer, buffer.count) > 0 {}
      changed()
    }
    source.setCancelHandler { close(descriptor) }
    source.activate()
  }

  deinit { source.cancel() }
}

/// How a process tells all others that it has committed something: it touches a file beside the store.
///
/// Watching the write-ahead log itself is not enough. It is written before the commit can be seen, and whoever is woken
/// by that and looks at once finds nothing and sleeps on.
enum Bell {
  /// The driver's lock file, which is there anyway.
  static func path(_ storePath: String) -> String { storePath + ".driver" }

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

/// Wakes one sleeper, or makes its next sleep end at once.
final class Wakeup: Sendable {
  private enum State {
    case quiet
    case rung
    case waiting(CheckedContinuation<Void, Never>)
  }

  private let state = Mutex(State.quiet)

  /// Ends the sleep under way, or the next one.
  func ring() {
    let sleeper: CheckedContinuation<Void, Never>? = state.withLock { state in
      guard case .waiting(let continuation) = state else {
        state = .rung
        return nil
      }
      state = .quiet
      return continuation
    }
    sleeper?.resume()
  }

  /// Sleeps until rung, or until the time is over; cancellation ends it too.
  func sleep(_ duration: Duration?) async {
    let timer = duration.map { duration in
      Task {
        try? await Task.sleep(for: duration)
        if !Task.isCancelled { ring() }
      }
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let toResume: CheckedContinuation<Void, Never>? = state.withLock { state in
          switch state {
          case .rung:
            state = .quiet
            return continuation
          case .quiet:
            state = .waiting(continuation)
            return nil
          case .waiting(let earlier):
            // There is one sleeper at a time; an earlier one is woken rather than forgotten.
            state = .waiting(continuation)
            return earlier
          }
        }
        toResume?.resume()
      }
    } onCancel: {
      ring()
    }
    timer?.cancel()
  }
}
