package import Dispatch
import Synchronization

/// Tells when any process has written to a store, at no cost while nobody does.
///
/// How, is the storage's business; see `QueueStorage.watch`.
package final class StoreWatcher: Sendable {
  private let watch: any StorageWatch

  /// Calls `changed` on `queue` after each write to the store, several writes in a row at least once.
  ///
  /// - Parameter locks: also when somebody may have let the driver's lock go, by dying if need be.
  /// - Returns: nil where the system has no more watches to give; the caller then has to look by itself.
  package init?(
    _ store: SyncStore,
    queue: DispatchQueue,
    locks: Bool = false,
    changed: @escaping @Sendable () -> Void
  ) {
    guard let watch = store.storage.watch(on: queue, locks: locks, changed) else { return nil }
    self.watch = watch
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
