import Combine
import Foundation
import Testing

@Suite(.serialized) struct CombineShimTests {
  private enum Trouble: Error, Equatable { case some }

  @Test func `a passthrough subject hands on what comes while somebody listens, then its end`() {
    let subject = PassthroughSubject<Int, Trouble>()
    var heard: [Int] = []
    var ends: [Subscribers.Completion<Trouble>] = []
    subject.send(1)
    let one = subject.sink(receiveCompletion: { ends.append($0) }, receiveValue: { heard.append($0) })
    subject.send(2)
    subject.send(completion: .failure(.some))
    subject.send(3)
    let late = subject.sink(receiveCompletion: { ends.append($0) }, receiveValue: { heard.append($0) })

    #expect(heard == [2])
    #expect(ends == [.failure(.some), .failure(.some)])
    _ = (one, late)
  }

  @Test func `a current value subject begins with its value`() {
    let subject = CurrentValueSubject<Int, Never>(1)
    var heard: [Int] = []
    let subscription = subject.sink { heard.append($0) }
    subject.value = 2
    subject.send(3)
    subscription.cancel()
    subject.send(4)

    #expect(heard == [1, 2, 3] && subject.value == 4)
  }

  @Test func `a subscription ends with the object that stands for it`() {
    let subject = PassthroughSubject<Int, Never>()
    var heard: [Int] = []
    do {
      let subscription = subject.eraseToAnyPublisher().sink { heard.append($0) }
      subject.send(1)
      _ = subscription
    }
    subject.send(2)

    #expect(heard == [1])
  }

  @Test func `operators change, leave out and join values`() {
    let numbers = PassthroughSubject<Int, Never>()
    let words = PassthroughSubject<String, Never>()
    var heard: [String] = []
    var bag: [AnyCancellable] = []
    numbers.removeDuplicates().filter { $0 > 1 }.map { "n\($0)" }.merge(with: words)
      .sink { heard.append($0) }.store(in: &bag)
    numbers.dropFirst().combineLatest(words).sink { heard.append("\($0)\($1)") }.store(in: &bag)
    words.compactMap(Int.init).sink { heard.append("=\($0)") }.store(in: &bag)

    numbers.send(1)
    numbers.send(2)
    numbers.send(2)
    words.send("7")

    // The order of subscriptions to one subject is not defined.
    #expect(heard.sorted() == ["27", "7", "=7", "n2"])
  }

  @Test func `both have to end for a merge to end, unless one fails`() {
    let one = PassthroughSubject<Int, Trouble>()
    let two = PassthroughSubject<Int, Trouble>()
    var ends = 0
    let subscription = one.merge(with: two).sink(receiveCompletion: { _ in ends += 1 }, receiveValue: { _ in })
    one.send(completion: .finished)
    #expect(ends == 0)
    two.send(completion: .finished)
    #expect(ends == 1)
    _ = subscription
  }

  @Test func `the latest of both go on until both have ended, and end once`() {
    let (one, two) = (PassthroughSubject<Int, Trouble>(), PassthroughSubject<Int, Trouble>())
    var (values, ends): ([Int], [Subscribers.Completion<Trouble>]) = ([], [])
    let subscription = one.combineLatest(two) { $0 * $1 }
      .sink(receiveCompletion: { ends.append($0) }, receiveValue: { values.append($0) })
    one.send(2)
    two.send(3)
    one.send(completion: .finished)
    two.send(5)
    two.send(completion: .failure(.some))
    #expect(values == [6, 10] && ends == [.failure(.some)])
    _ = subscription
  }

  @Test func `joined publishers have types that can be written`() {
    let (a, b) = (PassthroughSubject<Int, Never>(), PassthroughSubject<String, Never>())
    let c = PassthroughSubject<Bool, Never>()
    var heard: [String] = []
    let latest:
      Publishers.CombineLatest3<
        PassthroughSubject<Int, Never>, PassthroughSubject<String, Never>, PassthroughSubject<Bool, Never>
      > =
        Publishers.CombineLatest3(a, b, c)
    let all = Publishers.CombineLatest4(a, b, c, a)
    let merged = Publishers.Merge3(a, a.map { $0 * 10 }, a.map { $0 * 100 })
    var bag = [latest.sink { heard.append("\($0.0)\($0.1)\($0.2)") }]
    all.sink { heard.append("\($0.0)\($0.3)") }.store(in: &bag)
    merged.filter { $0 >= 100 }.sink { heard.append("\($0)") }.store(in: &bag)
    Publishers.Zip(a, b).sink { heard.append("zip\($0.0)\($0.1)") }.store(in: &bag)

    b.send("x")
    c.send(true)
    a.send(1)

    #expect(Set(heard) == ["1xtrue", "11", "100", "zip1x"])
  }

  @Test func `many publishers are merged in one`() {
    let subjects = (0..<4).map { _ in PassthroughSubject<Int, Never>() }
    var heard: [Int] = []
    let subscription = Publishers.MergeMany(subjects).sink { heard.append($0) }
    for (index, subject) in subjects.enumerated().reversed() { subject.send(index) }
    #expect(heard == [3, 2, 1, 0])
    _ = subscription
  }

  private final class Model: ObservableObject {
    @Published var count = 0
    @Published var doubled = 0

    init() { $count.map { $0 * 2 }.assign(to: &$doubled) }
  }

  @Test func `a publisher is assigned to a published property, and the object says that it changes`() {
    let model = Model()
    var changes = 0
    let subscription = model.objectWillChange.sink { changes += 1 }
    model.count = 21
    #expect(model.doubled == 42 && changes == 2)
    _ = subscription
  }

  /// A subscriber that takes two values and no more.
  private final class Two: Subscriber {
    var heard: [Int] = []
    func receive(subscription: any Subscription) { subscription.request(.max(2)) }
    func receive(_ input: Int) -> Subscribers.Demand {
      heard.append(input)
      return .none
    }
    func receive(completion: Subscribers.Completion<Never>) {}
  }

  @Test func `futures, deferred publishers and own subscribers work`() {
    let subscriber = Two()
    [1, 2, 3].publisher.subscribe(subscriber)
    #expect(subscriber.heard == [1, 2])

    var made = 0
    let later = Deferred {
      made += 1
      return Future<Int, Never> { $0(.success(7)) }
    }
    #expect(made == 0)
    var heard: [Int] = []
    let subscription = later.sink { heard.append($0) }
    #expect(made == 1 && heard == [7])
    // Sendable, so that an actor can hold it.
    Task { @Sendable in subscription.cancel() }
  }

  @Test func `values are handed over on a queue`() async {
    let queue = DispatchQueue(label: "example.queue")
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    var subscription: AnyCancellable?
    let isThere = await withCheckedContinuation { continuation in
      subscription = Just(1).receive(on: queue).sink { _ in
        continuation.resume(returning: DispatchQueue.getSpecific(key: key) == true)
      }
    }

    #expect(isThere)
    _ = subscription
  }

  @Test func `notifications are a publisher`() {
    let center = NotificationCenter()
    var heard = 0
    let subscription = center.publisher(for: Notification.Name("news")).sink { _ in heard += 1 }
    center.post(name: Notification.Name("news"), object: nil)
    center.post(name: Notification.Name("other"), object: nil)
    subscription.cancel()
    center.post(name: Notification.Name("news"), object: nil)

    #expect(heard == 1)
  }
}
