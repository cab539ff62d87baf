internal import Synchronization

/// What a program sets on an operation: from any thread, one member at a time.
///
/// `@unchecked Sendable`: the value lies behind a lock. It may hold blocks, which are not `Sendable`, because blocks of one
/// operation may share state as Apple's may; the operation calls them one after the other.
@dynamicMemberLookup
final class Locked<Value>: @unchecked Sendable {
  private struct Content: @unchecked Sendable {
    var value: Value
  }

  private let initial: Content
  private let content: Mutex<Content>

  init(_ value: Value) {
    initial = Content(value: value)
    content = Mutex(initial)
  }

  /// All of it, as it is now.
  var value: Value { content.withLock { $0 }.value }

  subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Member {
    get { value[keyPath: path] }
    set {
      // What is set crosses into the lock with the promise of this class.
      nonisolated(unsafe) let (path, member) = (path, newValue)
      content.withLock { $0.value[keyPath: path] = member }
    }
  }

  /// Sets everything back to what it was at first.
  func reset() {
    let initial = initial
    content.withLock { $0 = initial }
  }
}
