internal import Synchronization

/// Hands the pushes of one poll to any number of listeners. The poll begins with the first listener and ends with the
/// last.
package final class PushBroadcast: Sendable {
  /// An event that every listener receives.
  package enum Event: Sendable {
    /// The push token exists: from now on no push is missed.
    case opened
    case push(CKNotification)
    /// The courier could not be reached for a while, or the push token expired. Pushes may have been lost. It comes
    /// with the courier's next reply, which is a push or a keep-alive.
    case reconnected
    /// The poll ended with an error, and with it the listener.
    case failed(any Error)
  }

  /// Listens until it is released.
  package final class Listener: Sendable {
    private let end: @Sendable () -> Void

    fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
  }

  private struct State {
    var listeners: [Int: @Sendable (Event) -> Void] = [:]
    var lastID = 0
    var poll: (id: Int, task: Task<Void, Never>)?
    var isOpen = false
    var isCut = false

    /// Forgets the poll, so that the next listener begins another. Events of the old poll are ignored.
    mutating func endPoll() {
      poll = nil
      (isOpen, isCut) = (false, false)
    }
  }

  private let state = Mutex(State())

  /// Calls a closure with each event until the listener is released. The closure must not block.
  func listen(to pushes: CKNotificationSequence, _ receive: @escaping @Sendable (Event) -> Void) -> Listener {
    let (id, isOpen) = state.withLock { state in
      state.lastID += 1
      let id = state.lastID
      state.listeners[id] = receive
      if state.poll == nil { state.poll = (id, Task { await self.poll(pushes, id) }) }
      return (id, state.isOpen)
    }
    if isOpen { receive(.opened) }
    return Listener { self.remove(id) }
  }

  private func remove(_ id: Int) {
    let task = state.withLock { state -> Task<Void, Never>? in
      state.listeners[id] = nil
      guard state.listeners.isEmpty else { return nil }
      defer { state.endPoll() }
      return state.poll?.task
    }
    task?.cancel()
  }

  private func poll(_ pushes: CKNotificationSequence, _ id: Int) async {
    var iterator = pushes.telling { self.note(isConnected: $0, of: id) }.makeAsyncIterator()
    do {
      try await iterator.open()
      send(.opened, of: id)
      while let push = try await iterator.next() { send(.push(push), of: id) }
    } catch {
      send(.failed(error), of: id)
    }
  }

  private func note(isConnected: Bool, of poll: Int) {
    let isBack = state.withLock { state in
      guard state.poll?.id == poll, state.isOpen else { return false }
      defer { state.isCut = !isConnected }
      return state.isCut && isConnected
    }
    if isBack { send(.reconnected, of: poll) }
  }

  private func send(_ event: Event, of poll: Int) {
    let listeners = state.withLock { state -> [@Sendable (Event) -> Void] in
      guard state.poll?.id == poll else { return [] }
      defer {
        switch event {
        case .opened: state.isOpen = true
        case .push, .reconnected: break
        case .failed:
          state.listeners = [:]
          state.endPoll()
        }
      }
      return Array(state.listeners.values)
    }
    for receive in listeners { receive(event) }
  }
}
