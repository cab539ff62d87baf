internal import CloudKit
internal import Synchronization

/// Collects the pushes for one observer until it fetches their records.
final class ChangeInbox: Sendable {
  private struct State {
    var isOpen = false
    var changes = PushedChanges()
    var failure: (any Error)?
  }

  private let subscriptionID: CKSubscription.ID
  private let state = Mutex(State())
  private let (signals, signal) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  init(_ subscriptionID: CKSubscription.ID) { self.subscriptionID = subscriptionID }

  func receive(_ event: PushBroadcast.Event) {
    state.withLock { state in
      switch event {
      case .opened: state.isOpen = true
      case .push(let push): state.changes.add(push, of: subscriptionID)
      case .reconnected: state.changes.hasUnnamed = true
      case .failed(let error): state.failure = error
      }
    }
    signal.yield()
  }

  /// Waits until no later push is missed.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  func opened() async throws {
    guard try await wait({ $0.isOpen ? true : nil }) != nil else { throw CancellationError() }
  }

  /// Waits for changes and takes as many as one request can fetch; nil when the task is cancelled.
  func next() async throws -> (records: [(id: CKRecord.ID, change: PushedChanges.Change)], hasUnnamed: Bool)? {
    try await wait { state in
      guard !state.changes.isEmpty else { return nil }
      defer { state.changes.hasUnnamed = false }
      return (state.changes.take(CKDatabase.largestBatch), state.changes.hasUnnamed)
    }
  }

  private func wait<Value: Sendable>(_ look: @Sendable (inout State) -> Value?) async throws -> Value? {
    while true {
      let value = try state.withLock { state in
        let value = look(&state)
        if value == nil, let failure = state.failure { throw failure }
        return value
      }
      if let value { return value }
      var iterator = signals.makeAsyncIterator()
      guard await iterator.next() != nil else { return nil }
    }
  }
}
