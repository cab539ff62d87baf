internal import Synchronization

/// A value behind a lock. Any thread can get and set one member at a time.
///
/// `@unchecked Sendable`: the value is behind a lock. It may contain blocks that are not `Sendable`, because blocks of
/// one operation may share state, as with Apple's framework. The operation calls them one after the other.
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

  /// The current value.
  var value: Value { content.withLock { $0 }.value }

  subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Member {
    get { value[keyPath: path] }
    set {
      // The new value crosses into the lock under this class's `@unchecked Sendable`.
      nonisolated(unsafe) let (path, member) = (path, newValue)
      content.withLock { $0.value[keyPath: path] = member }
    }
  }

  /// Resets the value to its initial value.
  func reset() {
    let initial = initial
    content.withLock { $0 = initial }
  }
}
