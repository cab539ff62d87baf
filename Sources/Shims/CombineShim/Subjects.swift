/// A publisher whose values come from outside.
public protocol Subject<Output, Failure>: AnyObject, Publisher {
  /// Hands a value to everybody who has subscribed.
  func send(_ value: Output)
  /// Tells everybody the end. Nothing is handed over after it.
  func send(completion: Subscribers.Completion<Failure>)
}

extension Subject where Output == Void {
  /// Hands a signal to everybody who has subscribed.
  public func send() { send(()) }
}

/// A subject that keeps nothing: who subscribes gets what is sent from then on.
public final class PassthroughSubject<Output, Failure: Error>: Subject {
  private let receivers = Receivers<Output, Failure>()

  /// Makes a subject without receivers.
  public init() {}

  /// Hands a value to everybody who has subscribed.
  public func send(_ value: Output) { receivers.send(value) }

  /// Tells everybody the end. Nothing is handed over after it.
  public func send(completion: Subscribers.Completion<Failure>) { receivers.send(completion: completion) }

  /// Hands over the values from now on, then the end if there is one.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    receivers.add(receiveCompletion, receiveValue)
  }
}

/// A subject that keeps its latest value: who subscribes gets it first.
public final class CurrentValueSubject<Output, Failure: Error>: Subject {
  private let receivers = Receivers<Output, Failure>()
  private let latest: Locked<Output>

  /// Makes a subject with a value.
  public init(_ value: Output) { latest = Locked(value) }

  /// The latest value. Setting it sends it.
  public var value: Output {
    get { latest.change { $0 } }
    set { send(newValue) }
  }

  /// Keeps a value and hands it to everybody who has subscribed.
  public func send(_ value: Output) {
    latest.change { $0 = value }
    receivers.send(value)
  }

  /// Tells everybody the end. Nothing is handed over after it.
  public func send(completion: Subscribers.Completion<Failure>) { receivers.send(completion: completion) }

  /// Hands over the latest value, the values from now on, then the end if there is one.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    receivers.add(receiveCompletion, receiveValue) { receiveValue(self.value) }
  }
}

/// Who has subscribed, in the order in which they came.
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

  /// Takes a receiver in; `welcome` runs before anything else reaches it, unless the end has come already.
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
