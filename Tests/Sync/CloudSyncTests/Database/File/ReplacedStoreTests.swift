import CloudKit
import CloudKitEmulator
import Foundation
import GRDB
import Synchronization
import TestSupport
import Testing

@testable import CloudSync

@Suite(.serialized, .onFile) struct ReplacedStoreTests {
  private let world: World
  private let mine: TestDevice
  private let path: String

  init() throws {
    world = try World()
    mine = try world.device("mine")
    path = mine.store.path
  }

  private func replace(_ file: String) throws {
    try FileManager.default.copyItem(atPath: file, toPath: file + ".copy")
    guard rename(file + ".copy", file) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }

  private func kind(_ body: () async throws -> Void) async -> StoreError.Kind? {
    do { try await body() } catch { return (error as? StoreError)?.kind }
    return nil
  }

  @Test func `files are the same by device and inode, not by name`() throws {
    let (a, b, c) = (world.folder.path("a"), world.folder.path("b"), world.folder.path("c"))
    try Data().write(to: URL(fileURLWithPath: a))
    try FileManager.default.linkItem(atPath: a, toPath: b)
    try Data().write(to: URL(fileURLWithPath: c))

    #expect(FileIdentity(atPath: a) == FileIdentity(atPath: b))
    #expect(FileIdentity(atPath: a) != FileIdentity(atPath: c))
    #expect(FileIdentity(atPath: world.folder.path("none")) == nil && FileIdentity(of: -1) == nil)
  }

  @Test(arguments: [false, true])
  func `a store that was deleted or replaced is neither read nor written nor sent from`(_ isDeleted: Bool) async throws
  {
    try mine.store.accept(world.put("a", [:]))
    if isDeleted { try FileManager.default.removeItem(atPath: path) } else { try replace(path) }

    #expect(await kind { _ = try mine.store.status() } == .replaced)
    #expect(mine.store.replaced.message.contains(isDeleted ? "put it back" : "the file that is there now"))
    #expect(await kind { try mine.store.accept(world.put("b", [:])) } == .replaced)
    #expect(await kind { try await mine.sync() } == .replaced)
    #expect(mine.transport.total == 0)
  }

  @Test func `waiting for an outcome ends with the file`() async throws {
    let change = try mine.store.save([CKRecord(recordType: "Note", recordID: world.key("a").recordID)])[0]
    let waiting = Task { _ = try await change.outcome }
    while mine.store.outcomeWaits.state.withLock(\.waits.isEmpty) { await Task.yield() }
    try replace(path)
    #expect(await kind { try await waiting.value } == .replaced)
  }

  @Test(.timeLimit(.minutes(40))) func `a move of the store's folder is reported`() async throws {
    let (folder, moved) = (world.folder.path("folder"), world.folder.path("moved"))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let store = try SyncStore(path: folder + "/store.sqlite", scope: world.scope)
    let (changes, changed) = AsyncStream<Void>.makeStream()
    let watcher = try #require(StoreWatcher(store, queue: .global()) { changed.yield() })
    defer { _ = watcher }

    guard rename(folder, moved) == 0 else { throw CocoaError(.fileWriteUnknown) }

    for await _ in changes { break }
    #expect(await kind { _ = try store.status() } == .replaced)
  }

  @Test func `the log of a file that was replaced is not taken for the log of the file that is there now`() throws {
    let backup = world.folder.path("backup.sqlite")
    do {
      let other = try SyncStore(path: backup, scope: world.scope)
      try other.accept(world.put("kept", [:]))
      try other.file.writer.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }
    for number in 0..<50 { try mine.store.accept(world.put("a\(number)", [:])) }
    guard rename(backup, path) == 0 else { throw CocoaError(.fileWriteUnknown) }

    #expect(throws: StoreError.self) { try mine.store.status() }

    #expect(FileManager.default.fileExists(atPath: path + "-wal.replaced"))
    let present = try SyncStore(path: path, scope: world.scope)
    #expect(try present.queue() == ["save kept pending"])
  }

  @Test(arguments: [false, true])
  func `a store that goes in the middle of a sync sends nothing more`(_ isDeleted: Bool) async throws {
    try mine.store.accept(world.put("a", [:]))
    let path = path
    mine.transport.interfere { operation, _, _ in
      if operation == "zones/modify" || operation == "zones/list" || operation == "changes/database" {
        try? FileManager.default.removeItem(atPath: path)
      }
      return .pass
    }

    #expect(await kind { try await mine.sync() } == .replaced)
    #expect(mine.transport.count("records/modify") == 0)
  }

  @Test(arguments: [false, true], [false, true])
  func `driving ends where the store or its lock file goes`(_ isLock: Bool, _ isDeleted: Bool) async throws {
    let file = isLock ? StoreLock.path(path) : path
    let (resting, rested) = AsyncStream<Void>.makeStream()
    let watcher = StoreWatcher(mine.store, queue: .global()) { [store = mine.store] in
      if (try? store.engineRest().rest) ?? nil != nil { rested.yield() }
    }
    defer { _ = watcher }
    let driving = Task { try await mine.engine.syncContinuously() }
    for await _ in resting { break }

    if isDeleted { try FileManager.default.removeItem(atPath: file) } else { try replace(file) }

    #expect(await kind { try await driving.value } == .replaced)
    #expect(StoreLock(beside: path).take())
  }
}
