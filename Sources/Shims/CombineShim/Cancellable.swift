import Foundation

/// Something under way that can be called off.
public protocol Cancellable {
  /// Calls it off. Calling it again does nothing.
  func cancel()
}

extension Cancellable {
  /// Keeps it in a set, for as long as the set lives.
  public func store(in set: inout Set<AnyCancellable>) { set.insert(AnyCancellable(self)) }

  /// Keeps it in a collection, for as long as the collection lives.
  public func store<Bag: RangeReplaceableCollection>(in collection: inout Bag) where Bag.Element == AnyCancellable {
    collection.append(AnyCancellable(self))
  }
}

/// A subscription, which ends when this object goes away.
public final class AnyCancellable: Cancellable, Hashable {
  private let lock = NSLock()
  private var end: (() -> Void)?

  /// Makes one of the code that calls it off.
  public init(_ cancel: @escaping () -> Void) { end = cancel }

  /// Makes one of another.
  public init(_ canceller: some Cancellable) { end = { canceller.cancel() } }

  deinit { cancel() }

  /// Calls it off. Calling it again does nothing.
  public func cancel() {
    let end = lock.withLock { () -> (() -> Void)? in
      defer { self.end = nil }
      return self.end
    }
    end?()
  }

  /// Whether both are the same object.
  public static func == (one: AnyCancellable, other: AnyCancellable) -> Bool { one === other }

  /// Hashes the object's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
