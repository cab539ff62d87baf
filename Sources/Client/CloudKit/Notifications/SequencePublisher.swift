public import OpenCombine

extension CKNotificationSequence {
  /// A publisher of the pushes as they arrive. Each subscriber polls on its own, from its first request until it
  /// cancels.
  public var publisher: AnyPublisher<CKNotification, any Error> {
    SequencePublisher(sequence: self).eraseToAnyPublisher()
  }
}

/// Publishes the elements of an asynchronous sequence. Each subscriber has its own iteration, which takes as many
/// elements as were requested and ends with the subscription.
package struct SequencePublisher<Base: AsyncSequence & Sendable>: Publisher where Base.Element: Sendable {
  package typealias Output = Base.Element
  package typealias Failure = any Error

  private let sequence: Base

  package init(sequence: Base) { self.sequence = sequence }

  package func receive<Downstream: Subscriber>(subscriber: Downstream)
  where Downstream.Input == Output, Downstream.Failure == Failure {
    subscriber.receive(subscription: Iteration(sequence, for: subscriber))
  }

  private final class Iteration: Subscription {
    private let task: Task<Void, Never>
    private let requests: AsyncStream<Subscribers.Demand>.Continuation

    init<Downstream: Subscriber>(_ sequence: Base, for subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      let (demands, requests) = AsyncStream<Subscribers.Demand>.makeStream()
      // A subscriber need not be Sendable. Unchecked, because only the task calls it after this, one call at a time.
      nonisolated(unsafe) let receive: (Output) -> Subscribers.Demand = { subscriber.receive($0) }
      nonisolated(unsafe) let complete: (Subscribers.Completion<Failure>) -> Void = {
        subscriber.receive(completion: $0)
      }
      self.requests = requests
      task = Task {
        var demands = demands.makeAsyncIterator()
        var iterator = sequence.makeAsyncIterator()
        var demand = Subscribers.Demand.none
        do {
          while !Task.isCancelled {
            while demand == .none {
              guard let more = await demands.next() else { return }
              demand += more
            }
            let element = try await iterator.next()
            if Task.isCancelled { return }
            guard let element else { return complete(.finished) }
            demand -= 1
            demand += receive(element)
          }
        } catch {
          if !Task.isCancelled { complete(.failure(error)) }
        }
      }
    }

    func request(_ demand: Subscribers.Demand) { requests.yield(demand) }

    func cancel() {
      task.cancel()
      requests.finish()
    }
  }
}
