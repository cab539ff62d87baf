public import Dispatch
public import Foundation

extension Publisher {
  /// Publishes the same values, with the publisher's type erased.
  public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> { AnyPublisher(self) }

  /// Publishes the closure's result for each value.
  public func map<Result>(_ transform: @escaping (Output) -> Result) -> AnyPublisher<Result, Failure> {
    AnyPublisher { completion, value in sink(receiveCompletion: completion) { value(transform($0)) } }
  }

  /// Publishes the closure's result for each value, except nil.
  public func compactMap<Result>(_ transform: @escaping (Output) -> Result?) -> AnyPublisher<Result, Failure> {
    AnyPublisher { completion, value in sink(receiveCompletion: completion) { transform($0).map(value) } }
  }

  /// Publishes the values for which a closure returns true.
  public func filter(_ isIncluded: @escaping (Output) -> Bool) -> AnyPublisher<Output, Failure> {
    compactMap { isIncluded($0) ? $0 : nil }
  }

  /// Publishes all values after the first `count`.
  public func dropFirst(_ count: Int = 1) -> AnyPublisher<Output, Failure> {
    stateful(count) { left, value in
      defer { left -= left > 0 ? 1 : 0 }
      return left > 0 ? nil : value
    }
  }

  /// Publishes the values that differ from the previous one according to a closure.
  public func removeDuplicates(
    by isDuplicate: @escaping (Output, Output) -> Bool
  ) -> AnyPublisher<Output, Failure> {
    stateful(Output?.none) { last, value in
      defer { last = value }
      if let last, isDuplicate(last, value) { return nil }
      return value
    }
  }

  /// Publishes the values of both publishers as they arrive. It finishes when both have finished, or fails when one
  /// fails.
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

  /// Publishes the latest values of both publishers, once each has published one.
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

  /// Publishes the same values on a dispatch queue.
  public func receive(on queue: DispatchQueue) -> AnyPublisher<Output, Failure> {
    // Work items run one after another, and nothing else holds them.
    func hop(_ work: @escaping () -> Void) {
      nonisolated(unsafe) let work = work
      queue.async { work() }
    }
    return AnyPublisher { completion, value in
      sink(receiveCompletion: { end in hop { completion(end) } }, receiveValue: { new in hop { value(new) } })
    }
  }

  /// Publishes the same values on the main queue.
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
  /// Publishes the values that differ from the previous one.
  public func removeDuplicates() -> AnyPublisher<Output, Failure> { removeDuplicates(by: ==) }
}

extension NotificationCenter {
  /// Publishes the notifications with a name.
  public func publisher(for name: Notification.Name, object: AnyObject? = nil) -> AnyPublisher<Notification, Never> {
    AnyPublisher { _, value in
      nonisolated(unsafe) let value = value
      nonisolated(unsafe) let token = self.addObserver(forName: name, object: object, queue: nil) { value($0) }
      return AnyCancellable { self.removeObserver(token) }
    }
  }
}

/// A value protected by a lock. Unlike `Synchronization.Mutex`, it accepts any value, as publishers do.
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
