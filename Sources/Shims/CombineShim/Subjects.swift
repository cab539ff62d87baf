/// A publisher whose values are sent from outside.
public protocol Subject<Output, Failure>: AnyObject, Publisher {
  /// Sends a value to all subscribers.
  func send(_ value: Output)
  /// Sends the completion to all subscribers. No value is sent after it.
  func send(completion: Subscribers.Completion<Failure>)
}

extension Subject where Output == Void {
  /// Sends a signal to all subscribers.
  public func send() { send(()) }
}

/// A subject that stores no value. Subscribers receive the values sent after they subscribe.
public final class PassthroughSubject<Output, Failure: Error>: Subject {
  private let receivers = Receivers<Output, Failure>()

  /// Creates a subject without subscribers.
  public init() {}

  /// Sends a value to all subscribers.
  public func send(_ value: Output) { receivers.send(value) }

  /// Sends the completion to all subscribers. No value is sent after it.
  public func send(completion: Subscribers.Completion<Failure>) { receivers.send(completion: completion) }

  /// Subscribes to the values from now on and to the completion.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    receivers.add(receiveCompletion, receiveValue)
  }
}

/// A subject that stores its latest value. Subscribers receive it first.
public final class CurrentValueSubject<Output, Failure: Error>: Subject {
  private let receivers = Receivers<Output, Failure>()
  private let latest: Locked<Output>

  /// Creates a subject with a value.
  public init(_ value: Output) { latest = Locked(value) }

  /// The latest value. Setting it sends it to all subscribers.
  public var value: Output {
    get { latest.change { $0 } }
    set { send(newValue) }
  }

  /// Stores a value and sends it to all subscribers.
  public func send(_ value: Output) {
    latest.change { $0 = value }
    receivers.send(value)
  }

  /// Sends the completion to all subscribers. No value is sent after it.
  public func send(completion: Subscribers.Completion<Failure>) { receivers.send(completion: completion) }

  /// Subscribes to the latest value, the values from now on, and the completion.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    receivers.add(receiveCompletion, receiveValue) { receiveValue(self.value) }
  }
}

/// The subscribers, in the order of their subscriptions.
final class Receivers<Output, Failure: Error> {
  private typealias Receiver = (
    id: Int, completion: (Subscribers.Completion<Failure>) -> Void, value: (Output) -> Void
  )

  private struct State {
    var receivers: [Receiver] = []
    var nextID = 0
    var end: Subscribers.Completion<Failure>?
  }

  private let state = Locked(State())

  /// Adds a subscriber. Unless the completion was already sent, `welcome` runs before the subscriber receives anything
  /// else.
  func add(
    _ completion: @escaping (Subscribers.Completion<Failure>) -> Void,
    _ value: @escaping (Output) -> Void,
    welcome: () -> Void = {}
  ) -> AnyCancellable {
    if let end = state.change({ $0.end }) {
      completion(end)
      return AnyCancellable {}
    }
    welcome()
    let id = state.change { state in
      defer { state.nextID += 1 }
      state.receivers.append((state.nextID, completion, value))
      return state.nextID
    }
    return AnyCancellable { [weak self] in self?.state.change { $0.receivers.removeAll { $0.id == id } } }
  }

  func send(_ value: Output) {
    for receiver in state.change({ $0.receivers }) { receiver.value(value) }
  }

  func send(completion: Subscribers.Completion<Failure>) {
    let receivers = state.change { state -> [Receiver] in
      guard state.end == nil else { return [] }
      defer { state.receivers = [] }
      state.end = completion
      return state.receivers
    }
    for receiver in receivers { receiver.completion(completion) }
  }
}
