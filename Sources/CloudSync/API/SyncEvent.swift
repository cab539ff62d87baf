public import CloudKit
import Synchronization

/// An event of this process's engine.
public enum SyncEvent: Sendable {
  /// A sync has begun.
  case syncBegan
  /// A sync has ended.
  case syncEnded(SyncSummary)
  /// The delegate accepted this number of changes.
  case delivered(Int)
  /// The delegate rejected changes, for this reason and with this error; it is asked again.
  case deliveryFailed(reason: String, error: any Error)
  /// The server refused the change token of this zone, or of the list of zones if nil. All its changes are fetched again;
  /// only what differs from the local copy is delivered.
  case refetching(CKRecordZone.ID?)
  /// Deletions on the server are on hold until a person decides, or those on hold have changed; see
  /// ``SyncEngine/heldDeletions()``.
  case deletionsHeld(HeldDeletions)
  /// No user, or another user, is signed in: queued changes wait for the store's user.
  case signedOut
  /// An error stopped syncing, for this reason; `start()` restarts it.
  case stopped(reason: String, error: any Error)
}

/// Sends values to all listeners.
package final class Broadcast<Value: Sendable>: Sendable {
  private struct State {
    var next = 0
    var listeners: [Int: AsyncStream<Value>.Continuation] = [:]
  }

  private let state = Mutex(State())

  package init() {}

  deinit { for listener in state.withLock({ $0.listeners.values }) { listener.finish() } }

  /// The values from now on.
  ///
  /// - Parameters:
  ///   - first: a value to begin with.
  ///   - count: the number of values that are kept for a listener that is slow; older ones are dropped.
  package func listen(first: Value? = nil, keeping count: Int = 1000) -> AsyncStream<Value> {
    let (values, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(count))
    if let first { continuation.yield(first) }
    let number = state.withLock { state in
      state.next += 1
      state.listeners[state.next] = continuation
      return state.next
    }
    continuation.onTermination = { [weak self] _ in self?.forget(number) }
    return values
  }

  private func forget(_ number: Int) { _ = state.withLock { $0.listeners.removeValue(forKey: number) } }

  package func send(_ value: Value) {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(value) }
  }
}
