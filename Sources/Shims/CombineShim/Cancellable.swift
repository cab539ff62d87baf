import Foundation

/// An activity that can be cancelled.
public protocol Cancellable {
  /// Cancels the activity. Further calls do nothing.
  func cancel()
}

extension Cancellable {
  /// Stores the object in a set, which keeps it alive.
  public func store(in set: inout Set<AnyCancellable>) { set.insert(AnyCancellable(self)) }

  /// Stores the object in a collection, which keeps it alive.
  public func store<Bag: RangeReplaceableCollection>(in collection: inout Bag) where Bag.Element == AnyCancellable {
    collection.append(AnyCancellable(self))
  }
}

/// A subscription that is cancelled when this object is released.
public final class AnyCancellable: Cancellable, Hashable {
  private let lock = NSLock()
  private var end: (() -> Void)?

  /// Creates an object from a closure that cancels the activity.
  public init(_ cancel: @escaping () -> Void) { end = cancel }

  /// Creates an object that cancels another.
  public init(_ canceller: some Cancellable) { end = { canceller.cancel() } }

  deinit { cancel() }

  /// Cancels the activity. Further calls do nothing.
  public func cancel() {
    let end = lock.withLock { () -> (() -> Void)? in
      defer { self.end = nil }
      return self.end
    }
    end?()
  }

  /// Whether both are the same object.
  public static func == (one: AnyCancellable, other: AnyCancellable) -> Bool { one === other }

  /// Hashes the identity of the object.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
