/// A request whose response is pending: a long poll that waits for a notification.
public struct EmulatorHold: Sendable {
  /// The time until the poll gets an empty response.
  public let keepAlive: Duration
  let token: String
  let id: UInt64
  let exchange: Exchange
}

extension Emulator {
  /// Calls `resume` once with the reply to a held request, on any thread. The callback must not block.
  func wait(for hold: EmulatorHold, _ resume: @escaping @Sendable (EmulatorReply) -> Void) {
    withCore { $0.wait(for: hold, resume) }
  }

  /// Ends a wait with the empty keep-alive response, unless the callback has already been called.
  func release(_ hold: EmulatorHold) {
    withCore { $0.release(hold.token, id: hold.id) }
  }

  /// Waits for the reply to a held request. If the task is cancelled, returns the empty keep-alive response at once.
  public func reply(to hold: EmulatorHold) async -> EmulatorReply {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        wait(for: hold) { continuation.resume(returning: $0) }
        // The cancellation may have come before the wait.
        if Task.isCancelled { release(hold) }
      }
    } onCancel: {
      release(hold)
    }
  }
}
