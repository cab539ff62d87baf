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
/// inotify on the store's `-wal` file wakes a Dispatch source. GRDB's own observation sees one process only.
package final class StoreWatcher: Sendable {
  private let descriptor: Int32
  private let source: any DispatchSourceRead

  /// Calls `changed` on `queue` after each write to the store, several writes in a row at least once.
  ///
  /// - Returns: nil where the system has no more watches to give; the caller then has to look by itself.
  package init?(_ store: SyncStore, queue: DispatchQueue, changed: @escaping @Sendable () -> Void) {
    descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    let watch = inotify_add_watch(descriptor, store.path + "-wal", UInt32(IN_MODIFY))
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
