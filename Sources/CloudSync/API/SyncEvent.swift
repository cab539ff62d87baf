import Synchronization

/// An event of this process's engine.
public enum SyncEvent: Sendable {
  /// A sync has begun.
  case syncBegan
  /// A sync has ended.
  case syncEnded(SyncSummary)
  /// The delegate accepted this number of changes.
  case delivered(Int)
  /// The delegate rejected changes, for this reason; it is asked again.
  case deliveryFailed(String)
  /// Deletions on the server are on hold until a person decides, or those on hold have changed; see
  /// ``SyncEngine/heldDeletions()``.
  case deletionsHeld(HeldDeletions)
  /// No user, or another user, is signed in: queued changes wait for the store's user.
  case signedOut
  /// An error stopped syncing; `start()` restarts it.
  case stopped(String)
}

/// Sends events to all listeners.
final class EventBroadcast: Sendable {
  private struct State {
    var next = 0
    var listeners: [Int: AsyncStream<SyncEvent>.Continuation] = [:]
  }

  private let state = Mutex(State())

  deinit { for listener in state.withLock({ $0.listeners.values }) { listener.finish() } }

  func listen() -> AsyncStream<SyncEvent> {
    let (events, continuation) = AsyncStream.makeStream(of: SyncEvent.self, bufferingPolicy: .bufferingNewest(1000))
    let number = state.withLock { state in
      state.next += 1
      state.listeners[state.next] = continuation
      return state.next
    }
    continuation.onTermination = { [weak self] _ in self?.forget(number) }
    return events
  }

  private func forget(_ number: Int) { _ = state.withLock { $0.listeners.removeValue(forKey: number) } }

  func send(_ event: SyncEvent) {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(event) }
  }
}
