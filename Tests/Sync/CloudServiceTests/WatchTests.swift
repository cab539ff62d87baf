import CloudKit
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CloudService
@testable import CloudSync

/// What a service reads for the scope that a screen watches.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct WatchTests {
  private nonisolated static let scope = SyncStore.Scope(
    container: "iCloud.test",
    environment: "development",
    database: .private
  )
  private let folder: TemporaryFolder
  private let store: SyncStore

  init() throws {
    folder = try TemporaryFolder()
    store = try SyncStore(path: folder.path("store.sqlite"), scope: Self.scope)
    _ = try store.enqueue((1...30).map { Change(key("r\($0)"), .save(type: "Row", FieldChanges())) })
  }

  private nonisolated func key(_ name: String) -> RecordKey { RecordKey(ZoneKey(zone: "z"), name) }

  /// Waits for something that the service shows, looking whenever it says that something has changed.
  private func until(_ service: CloudKitService, _ isTrue: @MainActor () -> Bool) async {
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    service.changed = { continuation.yield() }
    defer { service.changed = nil }
    continuation.yield()
    for await _ in changes where isTrue() { return }
  }

  private func wholeScope() -> ViewScope {
    var scope = ViewScope()
    scope.queue = ListPart(QueueListing(), offset: 10, limit: 5)
    scope.records = ListPart(RecordListing(), limit: 4)
    scope.causes = QueueListing()
    scope.conflicts = 3
    scope.zones = ListPart(ZoneListing())
    scope.events = ListPart(EventListing(), limit: 2)
    scope.dropped = ListPart(DroppedListing(), limit: 2)
    scope.throughput = true
    scope.operation = 7
    scope.record = key("r8")
    return scope
  }

  @Test func `what a scope names is read, and nothing else`() async throws {
    let service = try CloudKitService(store: store, engine: nil)
    let scope = wholeScope()
    service.watch(scope)
    await until(service) { service.data.queue != nil }

    let expected = try store.view { try ViewData($0, scope, Found()) }
    #expect(service.data.queue == expected.queue && service.data.queue?.rows.map(\.id) == Array(11...15))
    #expect(service.data.records == expected.records && service.data.records?.rows.first?.operation == 30)
    #expect(service.data.queue?[10]?.id == 11 && service.data.queue?[15] == nil)
    #expect(service.data.causes == [] && service.data.conflicts?.total == 0 && service.data.throughput == [])
    #expect(service.data.zones == expected.zones)
    #expect(service.data.events == expected.events && service.data.dropped?.total == 0)
    #expect(service.data.operation?.value?.operation?.key == key("r7"))
    #expect(service.data.record?.value?.operation?.id == 8)

    service.watch(ViewScope())
    await until(service) { service.data.queue == nil }
    var nothing = ViewData()
    nothing.status = service.data.status
    #expect(service.data == nothing)
  }

  @Test func `of a store that nobody watches the status alone is read`() async throws {
    let service = try CloudKitService(store: store, engine: nil)
    #expect(service.queuedOperationCount == 30)
    _ = try store.enqueue([Change(key("more"), .save(type: "Row", FieldChanges()))])
    await until(service) { service.queuedOperationCount == 31 }

    var status = ViewData()
    status.status = service.data.status
    #expect(service.data == status)
  }

  @Test func `a service that does not read at once opens nothing before the first watch`() async throws {
    let openings = Mutex(0)
    let store = store
    let service = try CloudKitService(
      opening: StoreOpening(
        toRead: {
          openings.withLock { $0 += 1 }
          return store
        },
        toChange: { store },
        toSync: nil
      ),
      readsAtOnce: false
    )
    service.give(.pause([.everything]))
    await service.drain(within: .seconds(60))
    service.refresh(force: true)
    #expect(openings.withLock { $0 } == 0 && service.data.status == nil)

    service.watch(wholeScope())
    #expect(openings.withLock { $0 } == 0)
    await until(service) { service.data.status != nil }
    #expect(service.data.status?.isPaused == true && service.data.queue?.total == 30)
  }

  @Test func `without a store every list is empty, and not unread`() async throws {
    let service = try CloudKitService(
      opening: StoreOpening(toRead: { nil }, toChange: { throw StoreError(.missing, "there is none") }, toSync: nil),
      readsAtOnce: false
    )
    service.watch(wholeScope())
    await until(service) { service.data.status != nil }

    #expect(service.data.status?.hasStore == false)
    #expect(service.data.queue?.total == 0 && service.data.records?.total == 0 && service.data.zones?.rows == [])
    #expect(service.data.operation?.id == 7 && service.data.operation?.value == nil)
  }

  @Test func `a forced refresh reads a store that nobody has written`() async throws {
    let now = Mutex<Int64>(1_700_000_000_000)
    let store = try SyncStore(path: folder.path("other.sqlite"), scope: Self.scope, now: { now.withLock { $0 } })
    let service = try CloudKitService(store: store, engine: nil)
    service.watch(ViewScope())
    await until(service) { service.data.status?.generatedAt == 1_700_000_000_000 }
    now.withLock { $0 += 5000 }
    service.refresh(force: true)

    await until(service) { service.data.status?.generatedAt == 1_700_000_005_000 }
  }
}
