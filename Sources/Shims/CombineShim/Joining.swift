public import OpenCombine

extension Publishers {
  /// A publisher of the values of several publishers, as they arrive. It finishes when all have finished, or fails when
  /// one fails.
  public struct MergeMany<Upstream: Publisher>: Publisher {
    /// The type of the values.
    public typealias Output = Upstream.Output
    /// The type of the failure.
    public typealias Failure = Upstream.Failure

    /// The merged publishers.
    public let publishers: [Upstream]

    /// Creates a publisher from a list of publishers.
    public init(_ upstream: Upstream...) { publishers = upstream }

    /// Creates a publisher from a sequence of publishers.
    public init(_ upstream: some Swift.Sequence<Upstream>) { publishers = Array(upstream) }

    /// Subscribes to all publishers.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      Publishers.Sequence(sequence: publishers).setFailureType(to: Failure.self).flatMap { $0 }
        .receive(subscriber: subscriber)
    }
  }
}

extension Publisher {
  /// Publishes the values of both publishers, as they arrive.
  public func merge(
    with other: some Publisher<Output, Failure>
  ) -> Publishers.MergeMany<AnyPublisher<Output, Failure>> {
    Publishers.MergeMany(eraseToAnyPublisher(), other.eraseToAnyPublisher())
  }

  /// Publishes the values of three publishers, as they arrive.
  public func merge(
    with second: some Publisher<Output, Failure>,
    _ third: some Publisher<Output, Failure>
  ) -> Publishers.MergeMany<AnyPublisher<Output, Failure>> {
    Publishers.MergeMany(eraseToAnyPublisher(), second.eraseToAnyPublisher(), third.eraseToAnyPublisher())
  }

  /// Publishes the latest values of both publishers, once each has published one. It finishes when both have finished,
  /// or fails when one fails.
  public func combineLatest<Other: Publisher>(
    _ other: Other
  ) -> AnyPublisher<(Output, Other.Output), Failure> where Other.Failure == Failure {
    map(Either<Output, Other.Output>.first).merge(with: other.map(Either.second))
      .scan((nil, nil)) { latest, new -> (Output?, Other.Output?) in
        switch new {
        case .first(let value): (value, latest.1)
        case .second(let value): (latest.0, value)
        }
      }
      .compactMap { latest in
        guard let first = latest.0, let second = latest.1 else { return nil }
        return (first, second)
      }
      .eraseToAnyPublisher()
  }

  /// Publishes the closure's result for the latest values of both publishers.
  public func combineLatest<Other: Publisher, Result>(
    _ other: Other,
    _ transform: @escaping (Output, Other.Output) -> Result
  ) -> AnyPublisher<Result, Failure> where Other.Failure == Failure {
    combineLatest(other).map { transform($0.0, $0.1) }.eraseToAnyPublisher()
  }

  /// Publishes the latest values of three publishers, once each has published one.
  public func combineLatest<Second: Publisher, Third: Publisher>(
    _ second: Second,
    _ third: Third
  ) -> AnyPublisher<(Output, Second.Output, Third.Output), Failure>
  where Second.Failure == Failure, Third.Failure == Failure {
    combineLatest(second).combineLatest(third).map { ($0.0.0, $0.0.1, $0.1) }.eraseToAnyPublisher()
  }
}

private enum Either<First, Second> {
  case first(First)
  case second(Second)
}
