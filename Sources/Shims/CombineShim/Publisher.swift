/// A source of values over time, which may end.
///
/// On Apple's systems publishers serve the demand of a subscriber. Here they publish every value immediately. The only
/// requirement is `sink`; use `AnyPublisher` to create custom publishers.
public protocol Publisher<Output, Failure> {
  /// The type of the values.
  associatedtype Output
  /// The type of the failure; `Never` if the publisher cannot fail.
  associatedtype Failure: Error

  /// Subscribes to the values from now on and to the completion.
  ///
  /// - Returns: The subscription, which is cancelled when this object is released.
  func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable
}

extension Publisher where Failure == Never {
  /// Subscribes to the values from now on.
  public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable {
    sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
  }

  /// Assigns every value to a property.
  public func assign<Root>(to keyPath: ReferenceWritableKeyPath<Root, Output>, on object: Root) -> AnyCancellable {
    sink { object[keyPath: keyPath] = $0 }
  }
}

/// A namespace for types of subscribers.
public enum Subscribers {
  /// The completion of a publisher.
  public enum Completion<Failure: Error> {
    /// The publisher finished normally.
    case finished
    /// The publisher failed.
    case failure(Failure)
  }
}

extension Subscribers.Completion: Sendable {}
extension Subscribers.Completion: Equatable where Failure: Equatable {}
extension Subscribers.Completion: Hashable where Failure: Hashable {}

/// A publisher with its type erased.
public struct AnyPublisher<Output, Failure: Error>: Publisher {
  /// The closure that is called for each subscription.
  public typealias Subscribe = (
    _ completion: @escaping (Subscribers.Completion<Failure>) -> Void, _ value: @escaping (Output) -> Void
  ) -> AnyCancellable

  private let subscribe: Subscribe

  /// Creates a publisher from a closure that is called for each subscription.
  public init(subscribe: @escaping Subscribe) { self.subscribe = subscribe }

  /// Creates a publisher that wraps another.
  public init(_ publisher: some Publisher<Output, Failure>) {
    self.init { publisher.sink(receiveCompletion: $0, receiveValue: $1) }
  }

  /// Subscribes to the values from now on and to the completion.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    subscribe(receiveCompletion, receiveValue)
  }
}

/// A publisher of one value.
public struct Just<Output>: Publisher {
  /// The publisher cannot fail.
  public typealias Failure = Never

  private let output: Output

  /// Creates a publisher of a value.
  public init(_ output: Output) { self.output = output }

  /// Publishes the value, then finishes.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Never>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    receiveValue(output)
    receiveCompletion(.finished)
    return AnyCancellable {}
  }
}
