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

    #expect(heard == ["n2", "7", "27", "=7"])
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
