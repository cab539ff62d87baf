package import Dispatch
import Synchronization

/// Reports writes to a store by any process, without polling.
///
/// The storage implements it; see `QueueStorage.watch`.
package final class StoreWatcher: Sendable {
  private let watch: any StorageWatch

  /// The time between two looks at the store in spite of a watch: nothing reports that a folder above the store's was
  /// moved.
  static let fallback = Duration.seconds(30)

  /// Calls `changed` on `queue` after writes to the store. Several writes in a row may cause only one call.
  ///
  /// - Parameter locks: whether to call also when the engine's lock may have been released, even by a crash.
  /// - Returns: nil if the system has no more watches; the caller must then poll.
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

/// Wakes one sleeping task, or ends its next sleep at once.
final class Wakeup: Sendable {
  private enum State {
    case quiet
    case woken
    case waiting(CheckedContinuation<Void, Never>)
  }

  private let state = Mutex(State.quiet)

  /// Ends the current sleep, or the next one.
  func wake() {
    let sleeper: CheckedContinuation<Void, Never>? = state.withLock { state in
      guard case .waiting(let continuation) = state else {
        state = .woken
        return nil
      }
      state = .quiet
      return continuation
    }
    sleeper?.resume()
  }

  /// Sleeps until `wake()`, the end of the duration or cancellation.
  func sleep(_ duration: Duration?) async {
    let timer = duration.map { duration in
      Task {
        try? await Task.sleep(for: duration)
        if !Task.isCancelled { wake() }
      }
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let toResume: CheckedContinuation<Void, Never>? = state.withLock { state in
          switch state {
          case .woken:
            state = .quiet
            return continuation
          case .quiet:
            state = .waiting(continuation)
            return nil
          case .waiting(let earlier):
            // There is only one sleeper at a time; wake an earlier one rather than lose it.
            state = .waiting(continuation)
            return earlier
          }
        }
        toResume?.resume()
      }
    } onCancel: {
      wake()
    }
    timer?.cancel()
  }
}
