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

// Completion of both: they finish when all publishers have finished, and fail when one fails.

extension Publishers {
  /// A publisher of the values of two publishers, as they arrive.
  public struct Merge<A: Publisher, B: Publisher>: Publisher
  where B.Failure == A.Failure, B.Output == A.Output {
    /// The type of the values.
    public typealias Output = A.Output
    /// The type of the failure.
    public typealias Failure = A.Failure

    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B

    /// Creates a publisher from publishers.
    public init(_ a: A, _ b: B) { (self.a, self.b) = (a, b) }

    /// Subscribes to all publishers.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      Publishers.MergeMany(a.eraseToAnyPublisher(), b.eraseToAnyPublisher()).receive(subscriber: subscriber)
    }
  }

  /// A publisher of the values of three publishers, as they arrive.
  public struct Merge3<A: Publisher, B: Publisher, C: Publisher>: Publisher
  where B.Failure == A.Failure, C.Failure == A.Failure, B.Output == A.Output, C.Output == A.Output {
    /// The type of the values.
    public typealias Output = A.Output
    /// The type of the failure.
    public typealias Failure = A.Failure

    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B
    /// The third publisher.
    public let c: C

    /// Creates a publisher from publishers.
    public init(_ a: A, _ b: B, _ c: C) { (self.a, self.b, self.c) = (a, b, c) }

    /// Subscribes to all publishers.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      Publishers.MergeMany(a.eraseToAnyPublisher(), b.eraseToAnyPublisher(), c.eraseToAnyPublisher()).receive(
        subscriber: subscriber
      )
    }
  }

  /// A publisher of the values of four publishers, as they arrive.
  public struct Merge4<A: Publisher, B: Publisher, C: Publisher, D: Publisher>: Publisher
  where
    B.Failure == A.Failure, C.Failure == A.Failure, D.Failure == A.Failure, B.Output == A.Output, C.Output == A.Output,
    D.Output == A.Output
  {
    /// The type of the values.
    public typealias Output = A.Output
    /// The type of the failure.
    public typealias Failure = A.Failure

    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B
    /// The third publisher.
    public let c: C
    /// The fourth publisher.
    public let d: D

    /// Creates a publisher from publishers.
    public init(_ a: A, _ b: B, _ c: C, _ d: D) { (self.a, self.b, self.c, self.d) = (a, b, c, d) }

    /// Subscribes to all publishers.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      Publishers.MergeMany(
        a.eraseToAnyPublisher(),
        b.eraseToAnyPublisher(),
        c.eraseToAnyPublisher(),
        d.eraseToAnyPublisher()
      ).receive(subscriber: subscriber)
    }
  }

  /// A publisher of the latest values of two publishers, once each has published one.
  public struct CombineLatest<A: Publisher, B: Publisher>: Publisher
  where B.Failure == A.Failure {
    /// The type of the values.
    public typealias Output = (A.Output, B.Output)
    /// The type of the failure.
    public typealias Failure = A.Failure

    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B

    /// Creates a publisher from publishers.
    public init(_ a: A, _ b: B) { (self.a, self.b) = (a, b) }

    /// Subscribes to all publishers.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      Merge(a.map(Either<A.Output, B.Output>.first), b.map(Either.second))
        .scan((nil, nil)) { latest, new -> (A.Output?, B.Output?) in
          switch new {
          case .first(let value): (value, latest.1)
          case .second(let value): (latest.0, value)
          }
        }
        .compactMap { latest in
          guard let first = latest.0, let second = latest.1 else { return nil }
          return (first, second)
        }
        .receive(subscriber: subscriber)
    }
  }

  /// A publisher of the latest values of three publishers, once each has published one.
  public struct CombineLatest3<A: Publisher, B: Publisher, C: Publisher>: Publisher
  where B.Failure == A.Failure, C.Failure == A.Failure {
    /// The type of the values.
    public typealias Output = (A.Output, B.Output, C.Output)
    /// The type of the failure.
    public typealias Failure = A.Failure

    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B
    /// The third publisher.
    public let c: C

    /// Creates a publisher from publishers.
    public init(_ a: A, _ b: B, _ c: C) { (self.a, self.b, self.c) = (a, b, c) }

    /// Subscribes to all publishers.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      CombineLatest(CombineLatest(a, b), c).map { ($0.0.0, $0.0.1, $0.1) }.receive(subscriber: subscriber)
    }
  }

  /// A publisher of the latest values of four publishers, once each has published one.
  public struct CombineLatest4<A: Publisher, B: Publisher, C: Publisher, D: Publisher>: Publisher
  where B.Failure == A.Failure, C.Failure == A.Failure, D.Failure == A.Failure {
    /// The type of the values.
    public typealias Output = (A.Output, B.Output, C.Output, D.Output)
    /// The type of the failure.
    public typealias Failure = A.Failure

    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B
    /// The third publisher.
    public let c: C
    /// The fourth publisher.
    public let d: D

    /// Creates a publisher from publishers.
    public init(_ a: A, _ b: B, _ c: C, _ d: D) { (self.a, self.b, self.c, self.d) = (a, b, c, d) }

    /// Subscribes to all publishers.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      CombineLatest(CombineLatest3(a, b, c), d).map { ($0.0.0, $0.0.1, $0.0.2, $0.1) }.receive(subscriber: subscriber)
    }
  }
}

extension Publisher {
  /// Publishes the values of both publishers, as they arrive.
  public func merge<B: Publisher>(with other: B) -> Publishers.Merge<Self, B>
  where B.Failure == Failure, B.Output == Output { Publishers.Merge(self, other) }

  /// Publishes the values of three publishers, as they arrive.
  public func merge<B: Publisher, C: Publisher>(with b: B, _ c: C) -> Publishers.Merge3<Self, B, C>
  where B.Failure == Failure, B.Output == Output, C.Failure == Failure, C.Output == Output {
    Publishers.Merge3(self, b, c)
  }

  /// Publishes the values of four publishers, as they arrive.
  public func merge<B: Publisher, C: Publisher, D: Publisher>(
    with b: B,
    _ c: C,
    _ d: D
  ) -> Publishers.Merge4<Self, B, C, D>
  where
    B.Failure == Failure, B.Output == Output, C.Failure == Failure, C.Output == Output, D.Failure == Failure,
    D.Output == Output
  { Publishers.Merge4(self, b, c, d) }

  /// Publishes the latest values of both publishers, once each has published one.
  public func combineLatest<B: Publisher>(_ other: B) -> Publishers.CombineLatest<Self, B>
  where B.Failure == Failure { Publishers.CombineLatest(self, other) }

  /// Publishes the closure's result for the latest values of both publishers.
  public func combineLatest<B: Publisher, Result>(
    _ other: B,
    _ transform: @escaping (Output, B.Output) -> Result
  ) -> Publishers.Map<Publishers.CombineLatest<Self, B>, Result> where B.Failure == Failure {
    combineLatest(other).map { transform($0.0, $0.1) }
  }

  /// Publishes the latest values of three publishers, once each has published one.
  public func combineLatest<B: Publisher, C: Publisher>(_ b: B, _ c: C) -> Publishers.CombineLatest3<Self, B, C>
  where B.Failure == Failure, C.Failure == Failure { Publishers.CombineLatest3(self, b, c) }

  /// Publishes the closure's result for the latest values of three publishers.
  public func combineLatest<B: Publisher, C: Publisher, Result>(
    _ b: B,
    _ c: C,
    _ transform: @escaping (Output, B.Output, C.Output) -> Result
  ) -> Publishers.Map<Publishers.CombineLatest3<Self, B, C>, Result> where B.Failure == Failure, C.Failure == Failure {
    combineLatest(b, c).map { transform($0.0, $0.1, $0.2) }
  }

  /// Publishes the latest values of four publishers, once each has published one.
  public func combineLatest<B: Publisher, C: Publisher, D: Publisher>(
    _ b: B,
    _ c: C,
    _ d: D
  ) -> Publishers.CombineLatest4<Self, B, C, D>
  where B.Failure == Failure, C.Failure == Failure, D.Failure == Failure { Publishers.CombineLatest4(self, b, c, d) }

  /// Publishes the closure's result for the latest values of four publishers.
  public func combineLatest<B: Publisher, C: Publisher, D: Publisher, Result>(
    _ b: B,
    _ c: C,
    _ d: D,
    _ transform: @escaping (Output, B.Output, C.Output, D.Output) -> Result
  ) -> Publishers.Map<Publishers.CombineLatest4<Self, B, C, D>, Result>
  where B.Failure == Failure, C.Failure == Failure, D.Failure == Failure {
    combineLatest(b, c, d).map { transform($0.0, $0.1, $0.2, $0.3) }
  }
}

private enum Either<First, Second> {
  case first(First)
  case second(Second)
}
