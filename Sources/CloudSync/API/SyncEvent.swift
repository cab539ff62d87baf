import Synchronization

/// Something that the engine of this process did.
public enum SyncEvent: Sendable {
  /// A pass has begun.
  case syncBegan
  /// A pass has ended.
  case syncEnded(PassSummary)
  /// The delegate took so many changes.
  case delivered(Int)
  /// The delegate would not take changes, for this reason; it is asked again.
  case deliveryFailed(String)
  /// Deletions on the server are held back until somebody decides about them, more of them than before, or another number;
  /// see ``SyncEngine/heldDeletions()``.
  case deletionsHeld(HeldDeletions)
  /// Nobody is signed in, or somebody else than this store's user: what is queued stays and waits for its user.
  case signedOut
  /// Syncing has ended for this reason, and nobody asked it to; `start()` begins again.
  case stopped(String)
}

/// Tells everybody who listens.
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
