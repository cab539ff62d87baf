import Synchronization

/// A request whose response is pending: a long poll that waits for a notification.
public struct EmulatorHold: Sendable {
  /// The time until the poll gets an empty response.
  public let keepAlive: Duration
  let token: String
  let exchange: Exchange
}

extension Emulator {
  /// Calls `resume` once with the reply to a held request, on any thread. The callback must not block.
  ///
  /// - Returns: The ID for `release`.
  func wait(for hold: EmulatorHold, _ resume: @escaping @Sendable (EmulatorReply) -> Void) -> UInt64 {
    withCore { $0.wait(for: hold, resume) }
  }

  /// Ends a wait with the empty keep-alive response, unless the callback has already been called.
  func release(_ hold: EmulatorHold, id: UInt64) {
    withCore { $0.release(hold.token, id: id) }
  }

  /// Waits for the reply to a held request. If the task is cancelled, returns the empty keep-alive response at once.
  public func reply(to hold: EmulatorHold) async -> EmulatorReply {
    // The callback may come before the wait has an ID, and a cancellation before both.
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
