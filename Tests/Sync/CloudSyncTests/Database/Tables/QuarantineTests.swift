import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import GRDB
import Synchronization
import TestSupport
import Testing

@testable import CloudSync

/// A row that somebody edited by hand, or that a fault of ours wrote: it is set aside, everything else goes on.
@Suite(.serialized, .onFile) struct QuarantineTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }

  init() throws {
    world = try World()
    device = try world.device("mine")
    for name in ["a", "b", "c"] { try store.accept(world.put(name, ["x": .int64(1)])) }
  }

  /// Edits the file without its own constraints.
  private func spoil(_ sql: String) throws {
    try store.file.writer.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA ignore_check_constraints = 1")
      try database.execute(sql: sql)
      try database.execute(sql: "PRAGMA ignore_check_constraints = 0")
    }
  }

  @Test(
    arguments: [
      "changes = '{'", "changes = '{\"values\":{\"x\":{\"type\":7}}}'", "state = 'sleeping'", "operation = 'copy'",
      "state = 'inFlight', sentGeneration = 1, sentOperation = 'save', changes = '{'",
    ]
  )
  func `an operation that cannot be read fails with its raw text kept, and its neighbours are sent`(spoilt: String)
    async throws
  {
    try spoil("UPDATE operations SET \(spoilt) WHERE name = 'b'")

    try await device.sync()

    #expect(world.onServer("a") != nil)
    #expect(world.onServer("b") == nil)
    #expect(world.onServer("c") != nil)
    // A row in no known state is found when all rows are read.
    _ = try store.read { try $0.operations(after: 0, limit: 9) }
    let row = try #require(store.operations().rows.first)
    #expect(row.key.name == "b")
    #expect(row.state == .failed)
    #expect(row.errorCode == "UNREADABLE")
    #expect(try store.status().queue.failed == 1)
    #expect(try !store.status().isInSync)
    let detail = try #require(try store.detail(of: row.id))
    #expect(detail.attempts.first?.code == "UNREADABLE")
    #expect(detail.attempts.first?.response?.contains("\"name\":\"b\"") == true)
    #expect(try store.count("SELECT count(*) FROM quarantine WHERE source = 'operations'") == 1)
    #expect(try store.conflicts() == [])
  }

  @Test(
    arguments: [
      "base = 'none'", "sentChanges = '['", "assets = '?'", "state = 'waiting', nextAttemptAt = 1, base = ''",
      "bytes = -9223372036854775808", "enqueuedAt = -9223372036854775808",
    ]
  )
  func `an operation whose change can be read is sent whatever else of its row is damaged`(spoilt: String) async throws
  {
    try spoil("UPDATE operations SET \(spoilt) WHERE name = 'b'")

    let status = try store.status()
    #expect(status.queue.total == 3 && status.queue.bytes >= 0 && status.queue.oldestAt ?? 0 >= 0)
    #expect(try store.queue().count == 3)
    try await device.sync()

    #expect(world.onServer("b") == ["x": .int64(1)])
    #expect(try store.status().isInSync && store.status().queue.bytes == 0 && store.lostChanges() == 0)
    #expect(try store.count("SELECT count(*) FROM quarantine WHERE source = 'operations'") == 1)
  }

  @Test func `an edit whose base is damaged takes it from the server and is sent`() async throws {
    try await device.sync()
    try store.accept(world.put("b", ["x": .int64(2)]))
    try spoil("UPDATE operations SET base = 'none' WHERE name = 'b'")

    try await device.sync()

    #expect(world.onServer("b") == ["x": .int64(2)])
    #expect(try store.dropped() == [] && store.queue() == [])
  }

  @Test func `the next edit of a damaged one sends what can be read of both, and the rest is reported`() async throws {
    let fields = ["x": FieldValue.int64(2), "y": .int64(3)]
    try store.accept(world.put("b", fields))
    try spoil("UPDATE operations SET changes = replace(changes, '\"x\":{', '\"x\":{\"type\":7,') WHERE name = 'b'")

    guard case .enqueued(let id)? = try store.enqueue([world.put("b", ["z": .int64(4)])]).first else {
      Issue.record("not accepted")
      return
    }

    #expect(try store.lostChange(of: id)?.hasSuffix("lost: x") == true)
    try await device.sync()
    #expect(world.onServer("b") == ["y": .int64(3), "z": .int64(4)])
    #expect(try store.lostChanges() == 1 && store.status().dropped.unseen == 1)
    try store.write { ledger in _ = try ledger.markDroppedSeen(through: .max) }
    #expect(try store.lostChanges() == 0 && store.lostChange(of: id) == nil)
  }

  @Test func `an edit queued before its local copy was damaged is sent with a later one`() async throws {
    try await device.sync()
    try store.accept(world.put("b", ["y": .int64(2)]))
    try await device.sync()
    try store.accept(world.put("b", ["x": .int64(5)]))
    try spoil("UPDATE records SET fields = '{' WHERE name = 'b'")

    try store.accept(world.put("b", ["y": .int64(6)]))
    try await device.sync()

    #expect(world.onServer("b") == ["x": .int64(5), "y": .int64(6)])
    #expect(try store.dropped() == [] && store.queue() == [])
  }

  @Test(arguments: ["changes = '{'", "assets = assets || '?'"])
  func `the file of an operation that cannot be read is kept with it`(spoilt: String) async throws {
    let file = URL(fileURLWithPath: world.folder.path("photo"))
    try Data("bytes".utf8).write(to: file)
    let fields = FieldChanges(values: ["photo": .asset(WireAsset())])
    let photo = Change(world.key("b"), .save(type: "Note", fields), assets: ["photo": [AssetSource(file: file)]])
    #expect(try store.enqueue([photo]) == [.enqueued(2)])
    try spoil("UPDATE operations SET \(spoilt) WHERE name = 'b'")

    try await device.sync()

    let vault = try #require(store.storage.assetFolder)
    #expect(try FileManager.default.contentsOfDirectory(atPath: vault.path).count == 1)
  }

  @Test func `what cannot be read cannot be retried, only edited again or discarded`() async throws {
    try spoil("UPDATE operations SET changes = '{' WHERE name <> 'a'")

    let retried = try store.perform(.retry, on: .all, actor: "ana")
    #expect(retried.changed == [])
    #expect(retried.skipped[2] == .damaged)
    try store.accept(world.put("b", ["y": .int64(2)]))
    #expect(try store.perform(.discard, on: .ids([3]), actor: "ana").changed == [3])
    try await device.sync()

    #expect(world.onServer("b")?["y"] != nil)
    #expect(world.onServer("c") == nil)
    #expect(try store.queue() == [])
    #expect(try store.endings() == ["save c discarded", "save a acknowledged", "save b acknowledged"])
  }

  @Test func `rows that cannot be read are found without setting them aside`() async throws {
    try await device.sync()
    try store.accept(world.put("d", ["x": .int64(1)]))
    #expect(try store.damage() == SyncStore.Damage())
    try spoil("UPDATE operations SET changes = '{'")
    try spoil("UPDATE records SET fields = '{' WHERE name = 'b'")

    let damage = try store.damage()

    #expect(damage.rows == 2)
    #expect(damage.first?.hasPrefix("operation 4 (") == true)
    #expect(try store.count("SELECT count(*) FROM quarantine") == 0)
    _ = try store.records()
    #expect(try store.damage().records == 1)
    try await device.sync()
    #expect(try store.damage().rows == 0)
    #expect(try store.damage().records == 0)
  }

  @Test func `a change that was lost with its row is shown until a person has seen it`() async throws {
    try spoil("UPDATE operations SET changes = '{' WHERE name = 'b'")
    try store.accept(world.put("b", ["y": .int64(2)]))
    try await device.sync()

    #expect(try store.status().dropped.unseen == 1)
    #expect(try store.status().verdicts(hasCredential: true).urgency == .look)
    #expect(try store.damage().lost == 1)

    try store.write { ledger in _ = try ledger.markDroppedSeen(through: .max) }

    #expect(try store.status().verdicts(hasCredential: true).urgency == .fine)
    #expect(try store.damage() == SyncStore.Damage())
  }

  @Test(arguments: ["fields = '{'", "fields = '[]'", "fields = '{\"x\":7}'"])
  func `a record that cannot be read is read from the server again`(spoilt: String) async throws {
    try await device.sync()
    try spoil("UPDATE records SET \(spoilt) WHERE name = 'b'")

    #expect(try store.records().rows.map(\.record.fields.count) == [1, 0, 1])
    #expect(try store.knownFieldTypes(of: "Note") == ["x": "INT64"])
    #expect(try !store.status().isInSync)
    try await device.sync()

    #expect(try store.mirror("b") == ["x": .int64(1)])
    #expect(try store.status().isInSync)
    #expect(try store.count("SELECT count(*) FROM quarantine WHERE source = 'records'") == 1)
  }

  @Test(arguments: [true, false])
  func `an edit or a deletion of a record that cannot be read is sent`(deletes: Bool) async throws {
    try await device.sync()
    try spoil("UPDATE records SET fields = '{' WHERE name = 'b'")

    try store.accept(deletes ? world.delete("b") : world.put("b", ["x": .int64(2)]))
    try await device.sync()

    #expect(world.onServer("b") == (deletes ? nil : ["x": .int64(2)]))
    #expect(try store.dropped() == [])
    #expect(try store.queue() == [])
  }

  @Test func `an edit of a record that cannot be read is merged if others have written it since`() async throws {
    try await device.sync()
    try spoil("UPDATE records SET fields = '{' WHERE name = 'b'")
    try world.saveOnServer("b", ["x": .int64(3)])

    try store.accept(world.put("b", ["x": .int64(2)]))
    try await device.sync()

    #expect(world.onServer("b") == ["x": .int64(3)])
    #expect(try store.dropped().map(\.cause) == [.serverKept(fields: ["x"])])
  }

  @Test func `verifying finds a record that cannot be read, and sets it aside`() async throws {
    try await device.sync()
    try spoil("UPDATE records SET fields = '{' WHERE name = 'b'")

    let differences = try await device.engine.verify()

    #expect(try differences.flatMap { try $0.all(.different) } == ["b"])
    #expect(try store.count("SELECT count(*) FROM quarantine WHERE source = 'records'") == 1)
  }

  @Test func `an app is given no record that could not be read, and the whole one once it has been read again`()
    async throws
  {
    let delegate = TestDelegate()
    let mine = try world.device("mine", delegate: delegate)
    try await mine.engine.sync()
    let theirs = try world.device("theirs")
    try await theirs.sync()
    try theirs.store.accept(world.put("b", ["x": .int64(2)]))
    try await theirs.sync()
    _ = try await mine.engine.syncOnce()
    try spoil("UPDATE records SET fields = '{' WHERE name = 'b'")

    try await mine.engine.deliver()
    #expect(delegate.state.withLock { $0.records["b"]?["x"] as? Int } == 1)
    try await mine.engine.sync()

    #expect(delegate.state.withLock { $0.records["b"]?["x"] as? Int } == 2)
  }
}
