import Synchronization

/// A request whose answer is not there yet: a long poll that waits for a notification.
public struct EmulatorHold: Sendable {
  /// How long to wait before the poll is answered with nothing.
  public let keepAlive: Duration
  let token: String
  let exchange: Exchange
}

extension Emulator {
  /// Calls back once with the reply to a held request, on whichever thread causes it; it must not block.
  ///
  /// - Returns: What `release` needs.
  func wait(for hold: EmulatorHold, _ resume: @escaping @Sendable (EmulatorReply) -> Void) -> UInt64 {
    withCore { $0.wait(for: hold, resume) }
  }

  /// Ends a wait with the empty reply of a keep-alive, unless it has been called back.
  func release(_ hold: EmulatorHold, id: UInt64) {
    withCore { $0.release(hold.token, id: id) }
  }

  /// Waits for the reply to a held request. A cancelled task gets the empty reply of a keep-alive at once.
  public func reply(to hold: EmulatorHold) async -> EmulatorReply {
    // The callback may come before the wait has a number, and a cancellation before either.
    let state = Mutex<(id: UInt64?, isCancelled: Bool)>((nil, false))
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let id = wait(for: hold) { continuation.resume(returning: $0) }
        let isCancelled = state.withLock { state in
          state.id = id
          return state.isCancelled
        }
        if isCancelled { release(hold, id: id) }
      }
    } onCancel: {
      let id = state.withLock { state in
        state.isCancelled = true
        return state.id
      }
      if let id { release(hold, id: id) }
    }
  }
}
