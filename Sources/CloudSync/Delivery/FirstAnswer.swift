import Synchronization

/// Resumes a continuation with the first of several results.
final class FirstAnswer<Value: Sendable, Failure: Error>: Sendable {
  private let continuation: Mutex<CheckedContinuation<Value, Failure>?>

  init(_ continuation: CheckedContinuation<Value, Failure>) { self.continuation = Mutex(continuation) }

  /// Resumes the continuation. Returns whether this was the first result.
  @discardableResult
  func give(_ answer: Result<Value, Failure>) -> Bool {
    let asking = continuation.withLock { continuation in
      defer { continuation = nil }
      return continuation
    }
    asking?.resume(with: answer)
    return asking != nil
  }
}

/// Counts calls of the app that are overdue and have not ended.
final class OverdueCalls: Sendable {
  private let count = Mutex(0)

  var number: Int { count.withLock(\.self) }

  func began() { count.withLock { $0 += 1 } }
  func ended() { count.withLock { $0 -= 1 } }
}
