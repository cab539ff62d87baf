import CloudKit
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CloudService
@testable import CloudSync

/// Searches of long lists beside what else is shown.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct SearchTests {
  private nonisolated static let scope = SyncStore.Scope(
    container: "iCloud.test",
    environment: "development",
    database: .private
  )

  /// Lets the steps of a search through one by one: each asks for the time first.
  private final class Gate: Sendable {
    private let mayPass = DispatchSemaphore(value: 0)
    private let passed = Mutex(0)

    /// The number of steps so far.
    var count: Int { passed.withLock { $0 } }

    func pass() -> Int64 {
      mayPass.wait()
      passed.withLock { $0 += 1 }
      return 1_700_000_000_000
    }

    func letThrough(_ count: Int) { for _ in 0..<count { mayPass.signal() } }
  }

  /// The pages that a search has published.
  @MainActor private final class Pages {
    typealias Page = ListPage<QueueListing, QueueRow>
    private(set) var all: [Page] = []
    private let (changes, continuation) = AsyncStream.makeStream(of: Void.self)

    func add(_ result: Result<Page, any Error>) {
      if let page = try? result.get() { all.append(page) }
      continuation.yield()
    }

    func wait(for count: Int) async {
      guard all.count < count else { return }
      for await _ in changes where all.count >= count { return }
    }
  }

  private let folder: TemporaryFolder
  private let path: String
  private let store: SyncStore
  private let gate = Gate()
  private let pages = Pages()

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("store.sqlite")
    store = try SyncStore(path: path, scope: Self.scope)
    _ = try store.enqueue((1...1400).map { Self.change("r\($0)") })
  }

  private static func change(_ name: String) -> Change {
    Change(RecordKey(zone: "z", name: name), .save(type: "Row", FieldChanges(values: ["title": .string("Buy")])))
  }

  private func part(_ word: String, offset: Int = 0) -> ListPart<QueueListing> {
    var listing = QueueListing()
    listing.filter = .words([word])
    return ListPart(listing, offset: offset, limit: 20)
  }

  /// A searcher whose steps wait for the gate.
  private func searcher() throws -> ListSearcher<QueueSearch> {
    let gate = gate
    let gated = try SyncStore(path: path, scope: Self.scope, now: { gate.pass() })
    return ListSearcher(
      reader: { StoreReader(gated, Redaction()) },
      publish: { [pages] in pages.add($0) }
    )
  }

  @Test func `a search shows its first rows before it has counted`() async throws {
    let searcher = try searcher()
    searcher.show(part("row"))
    searcher.search()
    gate.letThrough(1)
    await pages.wait(for: 1)
    #expect(pages.all[0].rows.map(\.id) == Array(1...20) && pages.all[0].total == 500)
    #expect(!pages.all[0].isCounted && pages.all[0].retryable == nil)

    gate.letThrough(10)
    await pages.wait(for: 2)
    #expect(pages.all[1].rows.map(\.id) == Array(1...20) && pages.all[1].total == 1400)
    #expect(pages.all[1].isCounted && pages.all[1].retryable == 0 && gate.count == 3)
  }

  @Test func `a part further down that is shown meanwhile is published as soon as it is found`() async throws {
    let searcher = try searcher()
    searcher.show(part("row"))
    searcher.search()
    gate.letThrough(1)
    await pages.wait(for: 1)
    searcher.show(part("row", offset: 900))
    searcher.search()
    gate.letThrough(2)
    await pages.wait(for: 2)

    // The step that was under way still had the earlier part.
    #expect(pages.all.map(\.window.offset) == [0, 900] && pages.all[1].rows.first?.id == 901)
  }

  @Test func `a search for something else takes the place of the one under way`() async throws {
    let searcher = try searcher()
    searcher.show(part("row"))
    searcher.search()
    searcher.show(part("r77"))
    searcher.search()
    gate.letThrough(10)
    await pages.wait(for: 1)

    #expect(pages.all.map(\.listing.filter) == [.words(["r77"])] && pages.all[0].isCounted)
    #expect(pages.all[0].rows.map(\.key.name) == ["r77"] + (770...779).map { "r\($0)" })
    // Three, and the first of the other search if it had begun.
    #expect(gate.count <= 4)
  }

  @Test func `writes restart a search once it is over, and not before`() async throws {
    let searcher = try searcher()
    searcher.show(part("row"))
    searcher.search()
    gate.letThrough(1)
    await pages.wait(for: 1)
    _ = try store.enqueue([Self.change("more")])
    searcher.noteWritten()
    searcher.search()
    gate.letThrough(10)
    await pages.wait(for: 3)

    // The search that was under way took three steps, and so did the next, which publishes its end only.
    #expect(pages.all.map(\.isCounted) == [false, true, true] && gate.count == 6)
    #expect(pages.all[2].total == 1401)
  }

  @Test func `without a write a search is not repeated`() async throws {
    let searcher = try searcher()
    searcher.show(part("nothing"))
    searcher.search()
    gate.letThrough(10)
    await pages.wait(for: 1)
    searcher.search()
    searcher.show(part("r1400"))
    searcher.search()
    await pages.wait(for: 2)

    #expect(pages.all.map(\.total) == [0, 1])
    #expect(gate.count == 2)
  }

  // MARK: - In the service

  @Test func `everything else is shown before a search, and both lists are searched`() async throws {
    let service = try CloudKitService(store: store, engine: nil)
    var shown: [ViewData] = []
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    service.changed = { [service] in
      shown.append(service.data)
      continuation.yield()
    }
    var scope = ViewScope()
    var records = RecordListing()
    records.filter = try ListFilter.parse("title like 'buy%'", of: .records).get()
    (scope.queue, scope.records, scope.zones) = (part("r77"), ListPart(records, limit: 20), ListPart(ZoneListing()))
    service.watch(scope)
    func wait(_ isTrue: () -> Bool) async { for await _ in changes where isTrue() { return } }
    await wait { service.data.queue?.isCounted == true && service.data.records?.isCounted == true }

    #expect(shown.first?.zones?.total == 1 && shown.first?.queue == nil && shown.first?.records == nil)
    #expect(service.data.queue?.total == 11 && service.data.queue?.retryable == 0)
    #expect(service.data.records?.total == 1400 && service.data.records?.rows.first?.operation == 1400)

    scope.records?.offset = 1390
    service.watch(scope)
    await wait { service.data.records?.window.offset == 1390 }
    #expect(service.data.records?.rows.compactMap(\.operation) == Array(1...10).reversed())

    _ = try store.enqueue([Self.change("r7700")])
    await wait { service.data.queue?.total == 12 && service.data.records?.total == 1401 }
    service.changed = nil
  }
}
