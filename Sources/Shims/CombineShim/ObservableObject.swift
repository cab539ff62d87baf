/// A class that publishes before its `@Published` properties change.
public protocol ObservableObject: AnyObject {
  /// The type of the publisher.
  associatedtype ObjectWillChangePublisher: Publisher = ObservableObjectPublisher
  where ObjectWillChangePublisher.Failure == Never

  /// Publishes before any property changes, without naming it.
  var objectWillChange: ObjectWillChangePublisher { get }
}

extension ObservableObject where ObjectWillChangePublisher == ObservableObjectPublisher {
  /// Publishes before any `@Published` property changes, without naming it. A class without such properties must
  /// declare its own publisher.
  public var objectWillChange: ObservableObjectPublisher {
    var properties: [any PublishedProperty] = []
    var mirror: Mirror? = Mirror(reflecting: self)
    while let level = mirror {
      properties += level.children.compactMap { $0.value as? any PublishedProperty }
      mirror = level.superclassMirror
    }
    let publisher = properties.lazy.compactMap(\.willChange).first ?? ObservableObjectPublisher()
    for property in properties { property.willChange = publisher }
    return publisher
  }
}

/// A publisher that publishes before an object changes.
public final class ObservableObjectPublisher: Publisher {
  /// The publisher sends no value.
  public typealias Output = Void
  /// The publisher cannot fail.
  public typealias Failure = Never

  private let receivers = Receivers<Void, Never>()

  /// Creates a publisher without subscribers.
  public init() {}

  /// Sends to all subscribers.
  public func send() { receivers.send(()) }

  /// Subscribes to changes from now on.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Never>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    receivers.add(receiveCompletion, receiveValue)
  }
}
