import Synchronization

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
  ///   - source: an object that lives as long as the listener.
  package func listen(
    first: Value? = nil,
    keeping count: Int = 1000,
    holding source: (any AnyObject & Sendable)? = nil
  ) -> AsyncStream<Value> {
    let (values, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(count))
    if let first { continuation.yield(first) }
    let number = state.withLock { state in
      state.next += 1
      state.listeners[state.next] = continuation
      return state.next
    }
    continuation.onTermination = { [weak self] _ in withExtendedLifetime(source) { self?.forget(number) } }
    return values
  }

  private func forget(_ number: Int) { _ = state.withLock { $0.listeners.removeValue(forKey: number) } }

  package func send(_ value: Value) {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(value) }
  }
}
