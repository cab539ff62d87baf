import Synchronization

/// The first of several results, for one task that waits for it.
final class FirstAnswer<Value: Sendable>: Sendable {
  typealias Answer = Result<Value, any Error>

  private enum State {
    case open
    case waiting(CheckedContinuation<Value, any Error>)
    case given(Answer)
    case taken
  }

  private let state = Mutex(State.open)

  /// The result, as soon as there is one. Call it once.
  var value: Value {
    get async throws {
      try await withCheckedThrowingContinuation { continuation in
        let answer: Answer? = state.withLock { state in
          guard case .given(let answer) = state else {
            state = .waiting(continuation)
            return nil
          }
          state = .taken
          return answer
        }
        if let answer { continuation.resume(with: answer) }
      }
    }
  }

  /// Gives a result. Returns whether it was the first.
  @discardableResult
  func give(_ answer: Answer) -> Bool {
    let (isFirst, waiting): (Bool, CheckedContinuation<Value, any Error>?) = state.withLock { state in
      switch state {
      case .open:
        state = .given(answer)
        return (true, nil)
      case .waiting(let continuation):
        state = .taken
        return (true, continuation)
      case .given, .taken: return (false, nil)
      }
    }
    waiting?.resume(with: answer)
    return isFirst
  }
}

/// Counts calls of the app that are overdue and have not ended.
final class OverdueCalls: Sendable {
  private let state = Mutex((number: 0, hasEnded: false))

  var number: Int { state.withLock(\.number) }
  /// Whether one has ended since `forgetEnds()`.
  var hasEnded: Bool { state.withLock(\.hasEnded) }

  func began() { state.withLock { $0.number += 1 } }
  func ended() { state.withLock { $0 = ($0.number - 1, true) } }
  /// The call was answered in time after all.
  func withdrew() { state.withLock { $0.number -= 1 } }
  func forgetEnds() { state.withLock { $0.hasEnded = false } }
}
