internal import Synchronization

/// Lets one caller in at a time, in the order in which they came.
final class AsyncLock: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  /// Makes a lock. One that is taken lets the first caller in after `leave()`.
  init(isTaken: Bool = false) { state = Mutex(State(isTaken: isTaken)) }

  func withLock<Result>(_ body: () async throws -> Result) async rethrows -> Result {
    await enter()
    defer { leave() }
    return try await body()
  }

  private func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.isTaken { state.waiting.append(continuation) }
        defer { state.isTaken = true }
        return !state.isTaken
      }
      if isFree { continuation.resume() }
    }
  }

  func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.waiting.isEmpty else {
        state.isTaken = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.resume()
  }
}
