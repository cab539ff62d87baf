import CloudKit
import CloudSupport
import CombineShim
import Foundation
import Observation
import Synchronization
import Testing

@testable import CloudSync
@testable import CloudSyncModels

/// Live results of queries in a store.
@Suite(.serialized, .timeLimit(.minutes(40))) struct StoredResultsTests {
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  private struct Errand: Codable, Equatable, Identifiable, CKFieldModel {
    enum Fields: String, CKRecordFields { case title, isDone }
    var id = "a"
    var title = "1"
    var isDone = false
  }

  /// Counts how often it was read.
  private struct Counted: Codable, Equatable, CKRecordModel {
    static let readings = Mutex(0)
    static let isIdle = Mutex(true)
    let recordName: String
    let title: String

    init(title: String) { (recordName, self.title) = ("c", title) }

    init(from decoder: any Decoder) throws {
      Self.readings.withLock { $0 += 1 }
      let container = try decoder.container(keyedBy: CodingKeys.self)
      recordName = try container.decode(String.self, forKey: .recordName)
      title = try container.decode(String.self, forKey: .title)
    }
  }

  /// A record of the same type that is no errand.
  private struct Misfit: Codable, CKRecordModel {
    static let recordType = "Errand"
    var recordName = "misfit"
    var isDone = true
  }

  private func results(_ store: SyncStore, _ query: Query<Errand> = Query()) -> StoredResults<Errand> {
    var results = store.observe(query.sorted(by: .title))
    results.pause = { _ in }
    return results
  }

  private func inMemory() throws -> SyncStore { try SyncStore(inMemoryFor: "iCloud.test", databaseScope: .private) }

  // MARK: - Differences

  /// Makes models of words such as `a1`, an identity and a title.
  private static func errands(_ words: String) -> [Errand] {
    words.split(separator: " ").map { Errand(id: String($0.prefix(1)), title: String($0.dropFirst())) }
  }

  @Test(arguments: [
    ("", "", "", "", ""),
    ("", "b1 a1", "b1 a1", "", ""),
    ("a1 b1", "", "", "", "a1 b1"),
    ("a1 b1", "a1 b1", "", "", ""),
    ("a1 b1", "b1 a1", "", "", ""),
    ("a1 b1 c1", "c2 b1 d1", "d1", "c2", "a1"),
    ("a1", "b1", "b1", "", "a1"),
  ]) func `results differ by record name`(
    _ former: String,
    _ present: String,
    _ inserted: String,
    _ updated: String,
    _ removed: String
  ) {
    let changes = ResultChanges(from: Self.errands(former), to: Self.errands(present))

    let expected = ResultChanges(
      inserted: Self.errands(inserted),
      updated: Self.errands(updated),
      removed: Self.errands(removed)
    )
    #expect(changes == expected)
    #expect(changes.isEmpty == (inserted + updated + removed).isEmpty)
  }

  // MARK: - Results

  @Test func `the results are there at once, and after each commit of another connection`() async throws {
    let (mine, other) = try (cloud.open("phone"), cloud.open("phone"))
    try await mine.save(Errand())
    var iterator = results(mine).makeAsyncIterator()
    #expect(try await iterator.next() == Self.errands("a1"))

    try await other.save(Errand(id: "b", title: "2"))
    #expect(try await iterator.next() == Self.errands("a1 b2"))
    try await other.save(Errand(id: "a", title: "0"))
    #expect(try await iterator.next() == Self.errands("a0 b2"))
    try await other.delete(Errand(id: "b"))
    #expect(try await iterator.next() == Self.errands("a0"))
    try await other.deleteZone(CKRecordZone.ID(zoneName: "cktop"))
    #expect(try await iterator.next() == [])
  }

  @Test func `what a sync fetches is delivered`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    var iterator = results(tablet.store).makeAsyncIterator()
    #expect(try await iterator.next() == [])

    try await phone.store.save(Errand())
    try await phone.sync()
    try await tablet.sync()
    #expect(try await iterator.next() == Self.errands("a1"))

    try await phone.store.save(Errand(title: "2"))
    try await phone.sync()
    try await tablet.sync()
    #expect(try await iterator.next() == Self.errands("a2"))
  }

  @Test func `results equal to the last are not delivered`() async throws {
    let store = try inMemory()
    let (wakes, woken) = AsyncStream<Void>.makeStream()
    let (deliveries, delivered) = AsyncStream<[Errand]>.makeStream()
    var results = results(store, Query().filter(.isDone, equals: false))
    results.pause = { _ in woken.yield() }
    let observing = Task { [results] in for try await models in results { delivered.yield(models) } }
    defer { observing.cancel() }
    var (wake, delivery) = (wakes.makeAsyncIterator(), deliveries.makeAsyncIterator())
    #expect(await delivery.next() == [])

    for id in ["a", "b"] {
      try await store.save(Errand(id: id, isDone: true))
      _ = await wake.next()
    }
    try await store.save(Errand())

    #expect(await delivery.next() == Self.errands("a1"))
  }

  @Test func `an idle observer does nothing, and a commit that changes no record of the type causes no query`()
    async throws
  {
    let store = try inMemory()
    let (wakes, woken) = AsyncStream<(isIdle: Bool, readings: Int)>.makeStream()
    let (deliveries, delivered) = AsyncStream<[Counted]>.makeStream()
    var results = store.observe(Query<Counted>())
    results.pause = { _ in woken.yield((Counted.isIdle.withLock { $0 }, Counted.readings.withLock { $0 })) }
    try await store.save(Counted(title: "Milk"))
    let observing = Task { [results] in for try await models in results { delivered.yield(models) } }
    defer { observing.cancel() }
    var (wake, delivery) = (wakes.makeAsyncIterator(), deliveries.makeAsyncIterator())
    #expect(await delivery.next() == [Counted(title: "Milk")])
    let readings = Counted.readings.withLock { $0 }
    for _ in 1...100 { await Task.yield() }
    Counted.isIdle.withLock { $0 = false }

    // The second commit is noticed after the first was looked into.
    for id in ["a", "b"] {
      try await store.save(Errand(id: id))
      let woken = try #require(await wake.next())
      #expect(woken == (false, readings))
    }

    try await store.save(Counted(title: "Oats"))
    #expect(await delivery.next() == [Counted(title: "Oats")])
  }

  @Test func `the differences arrive as inserted, updated and removed`() async throws {
    let store = try inMemory()
    try await store.save([Errand(), Errand(id: "b", title: "2")])
    var iterator = results(store).changes.makeAsyncIterator()
    #expect(try await iterator.next() == ResultChanges(inserted: Self.errands("a1 b2")))

    try await store.save(Errand(title: "3"))
    #expect(try await iterator.next() == ResultChanges(updated: Self.errands("a3")))
    try await store.delete(Errand(title: "old"))
    #expect(try await iterator.next() == ResultChanges(removed: Self.errands("a3")))
  }

  @Test(arguments: ["deleted", "discarded"])
  func `a record that is no model is an error, and the results follow when it is gone`(_ end: String) async throws {
    let store = try inMemory()
    try await store.save(Errand())
    var iterator = results(store).makeAsyncIterator()
    #expect(try await iterator.next() == Self.errands("a1"))

    try await store.save(Misfit())
    do {
      let models = try await iterator.next()
      Issue.record("\(String(describing: models))")
    } catch {
      #expect(error is CKModelError)
    }
    if end == "deleted" {
      try await store.delete(Misfit())
    } else {
      // The records are again those of the last results.
      let saves = try store.operations().rows.filter { $0.key.name == "misfit" }.map(\.id)
      _ = try store.perform(.discard, on: .ids(saves), actor: "test")
    }
    #expect(try await iterator.next() == Self.errands("a1"))
  }

  // MARK: - Observers

  @Test func `observers share one watch, which ends with the last of them`() async throws {
    let store = try cloud.open("phone")
    let (deliveries, delivered) = AsyncStream<[Errand]>.makeStream()
    var delivery = deliveries.makeAsyncIterator()
    func observe() -> Task<Void, any Error> {
      let results = results(store)
      return Task { for try await models in results { delivered.yield(models) } }
    }
    func watch() -> ObjectIdentifier? { store.commitFeed.withLock { $0.feed.map { ObjectIdentifier($0) } } }
    #expect(watch() == nil)

    let first = observe()
    #expect(await delivery.next() == [])
    let shared = try #require(watch())
    let second = observe()
    #expect(await delivery.next() == [])
    #expect(watch() == shared)
    first.cancel()
    try await first.value
    #expect(watch() == shared)
    try await store.save(Errand())
    #expect(await delivery.next() == Self.errands("a1"))
    second.cancel()
    try await second.value
    while watch() != nil { await Task.yield() }
  }

  @MainActor
  @Test func `the results for a screen change on its actor, and end with their owner`() async throws {
    let store = try inMemory()
    var shown: ObservedResults? = ObservedResults(results(store))
    /// Waits until something is true of the results, looking again after each change.
    func until(_ isTrue: (ObservedResults<Errand>) -> Bool) async {
      while let shown, !isTrue(shown) {
        await withCheckedContinuation { continuation in
          withObservationTracking {
            _ = (shown.models, shown.error)
          } onChange: {
            MainActor.assertIsolated()
            continuation.resume()
          }
        }
      }
    }

    try await store.save(Errand())
    await until { $0.models == Self.errands("a1") }
    try await store.save(Misfit())
    await until { $0.error is CKModelError }
    #expect(shown?.models == Self.errands("a1"))
    try await store.delete(Misfit())
    await until { $0.error == nil }
    shown = nil

    while store.commitFeed.withLock({ $0.feed != nil }) { await Task.yield() }
  }

  @Test func `a publisher sends the results until it is cancelled`() async throws {
    let store = try inMemory()
    let (values, received) = AsyncStream<[Errand]>.makeStream()
    var iterator = values.makeAsyncIterator()
    let cancellable = results(store).publisher.sink(receiveCompletion: { _ in }, receiveValue: { received.yield($0) })
    #expect(await iterator.next() == [])

    try await store.save(Errand())
    #expect(await iterator.next() == Self.errands("a1"))
    cancellable.cancel()

    while store.commitFeed.withLock({ $0.feed != nil }) { await Task.yield() }
  }
}
