/// A class whose `@Published` properties tell before they change.
public protocol ObservableObject: AnyObject {
  /// The kind of publisher that tells.
  associatedtype ObjectWillChangePublisher: Publisher = ObservableObjectPublisher
  where ObjectWillChangePublisher.Failure == Never

  /// Tells that a property is about to change, not which.
  var objectWillChange: ObjectWillChangePublisher { get }
}

extension ObservableObject where ObjectWillChangePublisher == ObservableObjectPublisher {
  /// Tells that a `@Published` property is about to change, not which. A class without any has to declare its own.
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

/// Tells that an object is about to change.
public final class ObservableObjectPublisher: Publisher {
  /// There is nothing to say but that.
  public typealias Output = Void
  /// It cannot fail.
  public typealias Failure = Never

  private let receivers = Receivers<Void, Never>()

  /// Makes a publisher without receivers.
  public init() {}

  /// Tells everybody who has subscribed.
  public func send() { receivers.send(()) }

  /// Tells of the changes from now on.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Never>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    receivers.add(receiveCompletion, receiveValue)
  }
}
