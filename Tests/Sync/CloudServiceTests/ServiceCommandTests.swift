import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Dispatch
import Facts
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CloudService
@testable import CloudSync

/// Commands of a service: in order, never lost, each with a receipt.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct ServiceCommandTests {
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
    let names = ["one", "two", "three"]
    _ = try store.enqueue(
      names.map { Change(RecordKey(ZoneKey(zone: "z"), $0), .save(type: "Row", FieldChanges())) }
    )
  }

  /// What a service has handed out so far.
  @MainActor private final class Receipts {
    var all: [Receipt] = []
    init(_ service: CloudKitService) { service.received = { [weak self] in self?.all.append($0) } }
  }

  /// The names of the commands in the log, in their order.
  private func commands() throws -> [String] {
    try store.view { try $0.events(limit: 100) }.reversed().compactMap { event in
      if case .command(let command, _) = event.event { command.name } else { nil }
    }
  }

  /// Waits for something that the service shows, looking whenever it says that something has changed.
  private func until(_ service: CloudKitService, _ isTrue: @MainActor () -> Bool) async {
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    service.changed = { continuation.yield() }
    defer { service.changed = nil }
    continuation.yield()
    for await _ in changes where isTrue() { return }
  }

  @Test func `a store that moved is opened again, to read and to change`() async throws {
    let (old, new) = (folder.path("old.sqlite"), folder.path("new.sqlite"))
    let path = Mutex(old)
    do { _ = try SyncStore(path: old, scope: Self.scope).enqueueZone(ZoneKey(zone: "One")) }
    let open = { @Sendable (access: StoreAccess) in
      try SyncStore(path: path.withLock { $0 }, scope: Self.scope, access: access)
    }
    let service = try CloudKitService(
      opening: StoreOpening(toRead: { try open(.reading) }, toChange: { try open(.changing) }, toSync: nil)
    )
    var scope = ViewScope()
    scope.zones = ListPart(ZoneListing())
    service.watch(scope)
    service.give(.pause([.everything]))
    await service.drain(within: .seconds(60))
    await until(service) { service.storeStatus.isPaused }
    #expect(service.data.zones?.rows.map(\.key.zone) == ["One"])

    do { _ = try SyncStore(path: new, scope: Self.scope).enqueueZone(ZoneKey(zone: "Two")) }
    SyncStore.removeFiles(ofStoreAt: old)
    path.withLock { $0 = new }
    await until(service) { service.data.zones?.rows.map(\.key.zone) == ["Two"] }
    service.give(.pause([.everything]))

    await until(service) { service.storeStatus.isPaused }
    #expect(service.readFailure == nil)
    #expect(try SyncStore(path: new, scope: Self.scope).status().isPaused)
  }

  @Test func `a sync makes no empty store in the place of one that was moved away`() async throws {
    let (old, new) = (folder.path("old.sqlite"), folder.path("new.sqlite"))
    do { _ = try SyncStore(path: old, scope: Self.scope).enqueueZone(ZoneKey(zone: "One")) }
    let opening = StoreOpening(
      toRead: {
        guard FileManager.default.fileExists(atPath: old) else { return nil }
        return try SyncStore(path: old, scope: Self.scope, access: .reading)
      },
      toChange: { try SyncStore(path: old, scope: Self.scope, access: .changing) },
      toSync: { throw StoreError(.invalid, "not to be made") }
    )
    let service = try CloudKitService(opening: opening)
    let receipts = Receipts(service)
    await until(service) { service.store != nil }
    try FileManager.default.moveItem(atPath: old, toPath: new)
    service.give(.sync)
    await until(service) { !receipts.all.isEmpty }

    #expect((receipts.all.first?.failure as? StoreError)?.kind == .replaced)
  }

  @Test(arguments: [ServiceCommand.pause([.everything]), .sync])
  func `a file in the place of the store is shown at once, and no command acts on it before`(_ command: ServiceCommand)
    async throws
  {
    let (path, other) = (folder.path("shown.sqlite"), folder.path("other.sqlite"))
    do { _ = try SyncStore(path: path, scope: Self.scope).enqueueZone(ZoneKey(zone: "One")) }
    do { _ = try SyncStore(path: other, scope: Self.scope).enqueueZone(ZoneKey(zone: "Two")) }
    let open = { @Sendable (access: StoreAccess) in try SyncStore(path: path, scope: Self.scope, access: access) }
    let opening = StoreOpening(
      toRead: { try open(.reading) },
      toChange: { try open(.changing) },
      toSync: { throw StoreError(.invalid, "not to be made") }
    )
    let service = try CloudKitService(opening: opening)
    let receipts = Receipts(service)
    var scope = ViewScope()
    scope.zones = ListPart(ZoneListing())
    service.watch(scope)
    await until(service) { service.data.zones?.rows.map(\.key.zone) == ["One"] }
    try #require(rename(other, path) == 0)
    service.give(command)
    await until(service) { !receipts.all.isEmpty && service.data.zones?.rows.map(\.key.zone) == ["Two"] }

    #expect((receipts.all.first?.failure as? StoreError)?.kind == .replaced)
    #expect(try !SyncStore(path: path, scope: Self.scope).status().isPaused)
    #expect(service.readFailure == nil)
  }

  @Test func `a file in the place of the store is noticed by itself`() async throws {
    let (path, other) = (folder.path("shown.sqlite"), folder.path("other.sqlite"))
    do { _ = try SyncStore(path: path, scope: Self.scope).enqueueZone(ZoneKey(zone: "One")) }
    do { _ = try SyncStore(path: other, scope: Self.scope).enqueueZone(ZoneKey(zone: "Two")) }
    let open = { @Sendable in try SyncStore(path: path, scope: Self.scope, access: .reading) }
    let service = try CloudKitService(opening: StoreOpening(toRead: open, toChange: open, toSync: nil))
    var scope = ViewScope()
    scope.zones = ListPart(ZoneListing())
    service.watch(scope)
    await until(service) { service.data.zones?.rows.map(\.key.zone) == ["One"] && service.reportsWrites }
    try #require(rename(other, path) == 0)

    await until(service) { service.data.zones?.rows.map(\.key.zone) == ["Two"] }
  }

  @Test func `commands run in the order given`() async throws {
    let service = try CloudKitService(store: store, engine: nil)
    for _ in 1...20 {
      service.give(.pause([.everything]))
      service.give(.resume(nil))
    }

    #expect(await service.drain(within: .seconds(60)) == 0)
    #expect(try commands() == Array(repeating: ["pauseRules", "resumeRules"], count: 20).flatMap { $0 })
  }

  @Test func `a pause pressed twice before the screen follows pauses once, and the second says so`() async throws {
    let service = try CloudKitService(store: store, engine: nil)
    let receipts = Receipts(service)
    service.give(.pause([.everything]))
    service.give(.pause([.everything]))
    service.give(.perform(.pause, .ids([2])))
    service.give(.perform(.pause, .ids([2])))
    await service.drain(within: .seconds(60))

    #expect(receipts.all.map(\.changed) == [1, 0, 1, 0] && receipts.all.allSatisfy { $0.failure == nil })
    #expect(receipts.all.last?.result.skipped == [2: .inState("paused")])
    #expect(try store.status().isPaused)
  }

  @Test func `a resume does what was shown, though another process has resumed already`() async throws {
    let service = try CloudKitService(store: store, engine: nil)
    let receipts = Receipts(service)
    _ = try store.pause([.everything], actor: "another process")
    _ = try store.resumeAll(actor: "a third process")
    service.give(.resume([.everything]))
    await service.drain(within: .seconds(60))

    #expect(receipts.all.map(\.changed) == [0])
    #expect(try !store.status().isPaused)
  }

  @Test func `a receipt names what was left alone, with the reason, and what is gone`() async throws {
    let service = try CloudKitService(store: store, engine: nil)
    let receipts = Receipts(service)
    service.give(.perform(.retry, .ids([1, 77])))
    service.give(.resolve(3, take: .server, fields: [:], version: "v"))
    await service.drain(within: .seconds(60))

    let first = try #require(receipts.all.first)
    #expect(first.changed == 0 && first.failure == nil)
    #expect(first.result.skipped == [1: .inState("pending")] && first.result.unknown == [77])
    #expect(receipts.all.last?.doesNotApply == true)
  }

  @Test func `a discard and a resolution of another version than the present one change nothing`() async throws {
    let service = try CloudKitService(store: store, engine: nil)
    let receipts = Receipts(service)
    service.give(.perform(.discard, .ids([1]), versions: [1: "0123456789ab"]))
    service.give(.resolve(1, take: .local, fields: [:], version: "0123456789ab"))
    await service.drain(within: .seconds(60))

    #expect(receipts.all.first?.result.skipped.keys.sorted() == [1])
    #expect(receipts.all.last?.doesNotApply == true)
    #expect(try store.operations().total == 3)
  }

  @Test func `leaving waits for commands that a slow store takes late, up to a time, and none is lost`() async throws {
    let service = try CloudKitService(store: store, engine: nil)
    let receipts = Receipts(service)
    // Another process writes for long.
    let (isWriting, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let other = try SyncStore(path: folder.path("store.sqlite"), scope: Self.scope)
    Thread.detachNewThread {
      try? other.write { _ in
        isWriting.signal()
        mayEnd.wait()
      }
    }
    isWriting.wait()
    service.give(.pause([.everything]))
    service.give(.flush())

    #expect(await service.drain(within: .milliseconds(20)) == 2)
    #expect(receipts.all.isEmpty)
    mayEnd.signal()
    #expect(await service.drain(within: .seconds(60)) == 0)
    #expect(receipts.all.map(\.command) == [.pause([.everything]), .flush()])
    #expect(try store.status().isPaused)
  }

  @Test func `a service that is let go still carries out what it was given`() async throws {
    var service: CloudKitService? = try CloudKitService(store: store, engine: nil)
    service?.give(.pause([.everything]))
    let lane = try #require(service?.lane)
    service = nil
    await withCheckedContinuation { continuation in lane.async { continuation.resume() } }

    #expect(try store.status().isPaused)
  }

  // MARK: - Opening

  @Test func `the store is opened for changes by the first command, and once`() async throws {
    let openings = Mutex(0)
    let path = folder.path("store.sqlite")
    let opening = StoreOpening(
      toRead: { try SyncStore(path: path, scope: Self.scope, access: .reading) },
      toChange: {
        openings.withLock { $0 += 1 }
        return try SyncStore(path: path, scope: Self.scope, access: .changing)
      },
      toSync: nil
    )
    let service = try CloudKitService(opening: opening)
    let receipts = Receipts(service)
    service.refresh()
    await until(service) { service.storeStatus.queue.total == 3 }
    #expect(openings.withLock { $0 } == 0)
    service.give(.pause([.everything]))
    service.give(.flush())
    service.give(.keepSyncing)
    await service.drain(within: .seconds(60))

    #expect(openings.withLock { $0 } == 1)
    await until(service) { service.storeStatus.isPaused }
    #expect(receipts.all.compactMap { $0.failure as? CommandRefusal } == [.cannotSync])
  }

  @Test func `without a store nothing is made but by a sync, and what is made is shown`() async throws {
    let emulator = try Emulator()
    let path = folder.path("other.sqlite")
    let client = WebServicesClient(
      WebServicesClient.Configuration(
        container: "iCloud.test",
        environment: "development",
        credential: .webAuth(apiToken: "token", webAuthToken: "ana")
      ),
      transport: EmulatorTransport(emulator)
    )
    let opening = StoreOpening(
      toRead: {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try SyncStore(path: path, scope: Self.scope, access: .reading)
      },
      toChange: { try SyncStore(path: path, scope: Self.scope, access: .changing) },
      toSync: {
        SyncEngine(store: try SyncStore(path: path, scope: Self.scope), SyncEngine.Configuration(client: client))
      }
    )
    let service = try CloudKitService(opening: opening)
    let receipts = Receipts(service)
    service.give(.pause([.everything]))
    await service.drain(within: .seconds(60))
    #expect((receipts.all.first?.failure as? StoreError)?.kind == .missing)
    #expect(!service.storeStatus.hasStore && !FileManager.default.fileExists(atPath: path))
    #expect(emulator.statistics.requestsByOperation.isEmpty)

    service.give(.sync)
    service.give(.sync)
    #expect(service.syncing == .once)
    await until(service) {
      service.refresh()
      return service.storeStatus.hasStore && service.storeStatus.isInSync && service.syncing == .off
    }

    #expect(receipts.all[1].failure as? CommandRefusal == .alreadySyncing)
    #expect(receipts.all[2].summary?.reachedEnd == true)
  }

  @Test func `a store that cannot be read is shown as that until it can`() async throws {
    let state = Mutex<Result<SyncStore?, StoreError>>(.success(nil))
    let opening = StoreOpening(
      toRead: { try state.withLock { try $0.get() } },
      toChange: { throw StoreError(.missing, "there is none") },
      toSync: nil
    )
    let service = try CloudKitService(opening: opening)
    state.withLock { $0 = .failure(StoreError(.damaged, "the store is damaged")) }
    service.refresh()
    await until(service) { service.readFailure != nil }
    #expect((service.readFailure as? StoreError)?.kind == .damaged)
    // Not an empty queue.
    #expect(service.status.verdict.state == .unreadable && !service.isInSync && service.lastError != nil)
    if case .error = service.syncStatus {} else { Issue.record("\(service.syncStatus)") }
    state.withLock { $0 = .success(store) }
    service.refresh()
    await until(service) { service.readFailure == nil }

    #expect(service.storeStatus.queue.total == 3 && service.queuedOperationCount == 3)
  }

  // MARK: - Syncing

  @Test func `stopping waits for the end of syncing no longer than it may`() async throws {
    let (isHeld, hold) = AsyncStream.makeStream(of: Void.self)
    let store = store
    let opening = StoreOpening(
      toRead: { store },
      toChange: { store },
      toSync: {
        // Deaf to being cancelled, as a disk that hangs is.
        await Task.detached { for await _ in isHeld {} }.value
        throw CancellationError()
      }
    )
    let service = try CloudKitService(opening: opening)
    let receipts = Receipts(service)
    service.give(.keepSyncing)
    service.give(.sync)
    #expect(service.syncing == .always)

    #expect(await service.stop(within: .milliseconds(20)) == false)
    hold.finish()
    #expect(await service.stop(within: .seconds(60)))
    #expect(service.syncing == .off)
    #expect(receipts.all.map(\.command) == [.sync] && receipts.all.first?.failure is CancellationError)
  }

  @Test func `what ends syncing by itself is kept until it is started again`() async throws {
    let store = store
    let opening = StoreOpening(
      toRead: { store },
      toChange: { store },
      toSync: { throw StoreError(.diskFull, "no room") }
    )
    let service = try CloudKitService(opening: opening)
    let receipts = Receipts(service)
    service.give(.keepSyncing)
    await until(service) { service.syncFailure != nil }

    #expect(service.syncing == .off)
    #expect(receipts.all.map(\.command) == [.keepSyncing])
    service.give(.keepSyncing)
    #expect(service.syncFailure == nil)
    await service.stop()
  }

  @Test func `a read-only service refuses every command`() async throws {
    let service = try CloudKitService(store: store, engine: nil, isReadOnly: true)
    let receipts = Receipts(service)
    for command in [ServiceCommand.pause([.everything]), .flush(), .perform(.discard, .all), .sync, .keepSyncing] {
      service.give(command)
    }
    await service.drain(within: .seconds(60))

    #expect(receipts.all.map { $0.failure as? CommandRefusal } == Array(repeating: .readOnly, count: 5))
    #expect(try store.status().queue.total == 3 && commands().isEmpty)
  }
}
