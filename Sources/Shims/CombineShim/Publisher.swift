/// Values over time, and perhaps an end.
///
/// On Apple's systems a publisher answers a subscriber's demand; here it hands over everything, at once. What it requires
/// is `sink` itself, so publishers of one's own are made with `AnyPublisher`.
public protocol Publisher<Output, Failure> {
  /// The kind of value.
  associatedtype Output
  /// The kind of failure; `Never` for one that cannot fail.
  associatedtype Failure: Error

  /// Hands over the values from now on, then the end if there is one.
  ///
  /// - Returns: What keeps the subscription: it ends with this object.
  func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable
}

extension Publisher where Failure == Never {
  /// Hands over the values from now on.
  public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable {
    sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
  }

  /// Writes every value into a property.
  public func assign<Root>(to keyPath: ReferenceWritableKeyPath<Root, Output>, on object: Root) -> AnyCancellable {
    sink { object[keyPath: keyPath] = $0 }
  }
}

/// Where the names of subscribers' types live.
public enum Subscribers {
  /// How a publisher ended.
  public enum Completion<Failure: Error> {
    /// By itself.
    case finished
    /// With a failure.
    case failure(Failure)
  }
}

extension Subscribers.Completion: Sendable {}
extension Subscribers.Completion: Equatable where Failure: Equatable {}
extension Subscribers.Completion: Hashable where Failure: Hashable {}

/// A publisher of which nothing but its values is known.
public struct AnyPublisher<Output, Failure: Error>: Publisher {
  /// What happens when somebody subscribes.
  public typealias Subscribe = (
    _ completion: @escaping (Subscribers.Completion<Failure>) -> Void, _ value: @escaping (Output) -> Void
  ) -> AnyCancellable

  private let subscribe: Subscribe

  /// Makes a publisher of what happens when somebody subscribes.
  public init(subscribe: @escaping Subscribe) { self.subscribe = subscribe }

  /// Makes a publisher of another.
  public init(_ publisher: some Publisher<Output, Failure>) {
    self.init { publisher.sink(receiveCompletion: $0, receiveValue: $1) }
  }

  /// Hands over the values from now on, then the end if there is one.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    subscribe(receiveCompletion, receiveValue)
  }
}

/// A publisher of one value.
public struct Just<Output>: Publisher {
  /// It cannot fail.
  public typealias Failure = Never

  private let output: Output

  /// Makes a publisher of a value.
  public init(_ output: Output) { self.output = output }

  /// Hands over the value, then the end.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Never>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    receiveValue(output)
    receiveCompletion(.finished)
    return AnyCancellable {}
  }
}
