public import Dispatch
public import Foundation

extension Publisher {
  /// The same values, without the publisher's type.
  public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> { AnyPublisher(self) }

  /// What a closure makes of each value.
  public func map<Result>(_ transform: @escaping (Output) -> Result) -> AnyPublisher<Result, Failure> {
    AnyPublisher { completion, value in sink(receiveCompletion: completion) { value(transform($0)) } }
  }

  /// What a closure makes of each value, without nil.
  public func compactMap<Result>(_ transform: @escaping (Output) -> Result?) -> AnyPublisher<Result, Failure> {
    AnyPublisher { completion, value in sink(receiveCompletion: completion) { transform($0).map(value) } }
  }

  /// The values that a closure lets through.
  public func filter(_ isIncluded: @escaping (Output) -> Bool) -> AnyPublisher<Output, Failure> {
    compactMap { isIncluded($0) ? $0 : nil }
  }

  /// The values after the first few.
  public func dropFirst(_ count: Int = 1) -> AnyPublisher<Output, Failure> {
    stateful(count) { left, value in
      defer { left -= left > 0 ? 1 : 0 }
      return left > 0 ? nil : value
    }
  }

  /// The values that differ from the one before, by a closure's judgement.
  public func removeDuplicates(
    by isDuplicate: @escaping (Output, Output) -> Bool
  ) -> AnyPublisher<Output, Failure> {
    stateful(Output?.none) { last, value in
      defer { last = value }
      if let last, isDuplicate(last, value) { return nil }
      return value
    }
  }

  /// The values of both, as they come; the end when both have ended.
  public func merge(with other: some Publisher<Output, Failure>) -> AnyPublisher<Output, Failure> {
    AnyPublisher { completion, value in
      let open = Locked(2)
      let ended: (Subscribers.Completion<Failure>) -> Void = { end in
        let left = open.change { left in
          if case .failure = end { left = 0 } else { left -= 1 }
          return left
        }
        if left == 0 { completion(end) }
      }
      let one = sink(receiveCompletion: ended, receiveValue: value)
      let two = other.sink(receiveCompletion: ended, receiveValue: value)
      return AnyCancellable {
        one.cancel()
        two.cancel()
      }
    }
  }

  /// The latest values of both, once each has one.
  public func combineLatest<Other: Publisher>(
    _ other: Other
  ) -> AnyPublisher<(Output, Other.Output), Failure> where Other.Failure == Failure {
    AnyPublisher { completion, value in
      let latest = Locked<(Output?, Other.Output?)>((nil, nil))
      let told: ((inout (Output?, Other.Output?)) -> Void) -> Void = { set in
        let pair = latest.change { pair -> (Output, Other.Output)? in
          set(&pair)
          guard let one = pair.0, let two = pair.1 else { return nil }
          return (one, two)
        }
        pair.map(value)
      }
      let one = sink(receiveCompletion: completion) { new in told { $0.0 = new } }
      let two = other.sink(receiveCompletion: completion) { new in told { $0.1 = new } }
      return AnyCancellable {
        one.cancel()
        two.cancel()
      }
    }
  }

  /// The same values, handed over on a queue.
  public func receive(on queue: DispatchQueue) -> AnyPublisher<Output, Failure> {
    // The queue runs one after another what this hands over, and nobody else holds it.
    func hop(_ work: @escaping () -> Void) {
      nonisolated(unsafe) let work = work
      queue.async { work() }
    }
    return AnyPublisher { completion, value in
      sink(receiveCompletion: { end in hop { completion(end) } }, receiveValue: { new in hop { value(new) } })
    }
  }

  /// The same values, handed over on the main queue.
  public func receive(on _: RunLoop) -> AnyPublisher<Output, Failure> { receive(on: DispatchQueue.main) }

  private func stateful<State>(
    _ initial: State,
    _ next: @escaping (inout State, Output) -> Output?
  ) -> AnyPublisher<Output, Failure> {
    AnyPublisher { completion, value in
      let state = Locked(initial)
      return sink(receiveCompletion: completion) { new in state.change { next(&$0, new) }.map(value) }
    }
  }
}

extension Publisher where Output: Equatable {
  /// The values that differ from the one before.
  public func removeDuplicates() -> AnyPublisher<Output, Failure> { removeDuplicates(by: ==) }
}

extension NotificationCenter {
  /// The notifications of a name, as a publisher.
  public func publisher(for name: Notification.Name, object: AnyObject? = nil) -> AnyPublisher<Notification, Never> {
    AnyPublisher { _, value in
      nonisolated(unsafe) let value = value
      nonisolated(unsafe) let token = self.addObserver(forName: name, object: object, queue: nil) { value($0) }
      return AnyCancellable { self.removeObserver(token) }
    }
  }
}

/// A value behind a lock. It takes any value, as publishers do, which `Synchronization.Mutex` does not.
final class Locked<Value> {
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func change<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
