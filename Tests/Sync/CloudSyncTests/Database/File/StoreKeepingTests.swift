import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import GRDB
import TestSupport
import Testing

@testable import CloudSync

/// Keeping a file for years: damage is found whatever the size, and logs end.
@Suite(.serialized, .onFile) struct StoreKeepingTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `damage in a large file is found while it is used, and then nothing is read from it`() throws {
    let world = try World()
    let path = world.folder.path("large.sqlite")
    do {
      let store = try world.open("large")
      _ = try store.enqueue(
        (0..<500).map { world.put("r\($0)", ["text": .string(String(repeating: "x", count: 200))]) }
      )
      try store.file.writer.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }
    let storage = try SQLiteStorage(path: path)
    try storage.checkContents()
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    // The first pages are needed to open it at all.
    let pages = try file.seekToEnd() / 4096
    for page in (pages * 2 / 3)..<pages {
      try file.seek(toOffset: page * 4096)
      try file.write(contentsOf: Data(repeating: 0xA5, count: 64))
    }
    try file.close()
    let large = try SQLiteStorage(path: path, pagesCheckedOnOpening: 0)

    let error = try #require(#expect(throws: StoreError.self) { try large.checkContents() })

    #expect(error.kind == .damaged)
    #expect(error.message.contains(path))
    #expect(!error.message.contains("\n"))
    #expect(throws: error) { try large.read { try $0.value(.identity) } }
    #expect(throws: error) { try large.write { try $0.setValue(.identity, "v") } }
  }

  @Test func `what ended long ago is forgotten, and never what is queued`() async throws {
    let world = try World()
    let device = try world.device("mine")
    let dead = try device.store.accept(world.put("dead", [:]))
    try device.store.write { ledger in
      var operation = try #require(try ledger.operation(dead))
      operation.apply(.failed(.rejected(code: "BAD_REQUEST", message: "no")))
      try ledger.update(operation)
      for _ in 1...150 {
        let error = WebServicesError(.internalError, "no")
        try Retention.addAttempt(of: dead, error, seconds: 0, now: 0, ledger)
      }
      for number in 1...1500 {
        var ended = operation
        ended.id = Int64(number + 1000)
        try ledger.end(ended, .merged, .serverKept(), now: world.clock.now)
      }
    }
    world.clock.advance(89 * 86_400)
    try await device.sync()
    #expect(try device.store.history(limit: 2000).count == 1500)

    world.clock.advance(2 * 86_400)
    try await device.sync()
    try await device.sync()

    #expect(try device.store.history(limit: 2000).isEmpty)
    let left = try #require(try device.store.detail(of: dead))
    #expect(left.operation?.state == .failed)
    #expect(left.attempts.map(\.number) == Array((51...150).reversed()))
  }

  @Test func `an object read before its deletion is created again, also when the log of endings is trimmed`()
    async throws
  {
    let world = try World()
    let device = try world.device("mine")
    let store = device.store
    try store.accept(world.put("a", ["x": .int64(1)]))
    try await device.sync()
    var later = world.put("a", ["x": .int64(2)])
    later.baseTag = try store.read { try $0.changeTag(world.key("a")) }
    later.base = ["x": .int64(1)]
    later.readAt = world.clock.now
    try store.accept(world.delete("a"))
    try await device.sync()
    #expect(world.onServer("a") == nil)
    try store.write { _ = try $0.removeHistory(endedBefore: .max, keeping: 0, limit: 500) }
    #expect(try store.history(limit: 9).isEmpty)

    try store.accept(later)
    try await device.sync()

    #expect(world.onServer("a") == ["x": .int64(2)])
    #expect(try store.count("SELECT count(*) FROM dropped") == 0)
  }

  @Test func `tombstones are kept by age and number`() throws {
    let world = try World()
    let store = try world.open("store")
    try store.write { ledger in
      for number in 1...4 {
        let operation = QueuedOperation(RecordKey(zone: "z", owner: "", name: "r\(number)"), deletedAt: Int64(number))
        try ledger.end(operation, .acknowledged, .onServer(isDeletion: true), now: Int64(number))
      }
      // A later deletion of the same record counts.
      let again = QueuedOperation(RecordKey(zone: "z", owner: "", name: "r1"), deletedAt: 5)
      try ledger.end(again, .acknowledged, .onServer(isDeletion: true), now: 5)
      func left() throws -> [Bool] {
        try (1...4).map { try ledger.wasDeleted(RecordKey(zone: "z", owner: "", name: "r\($0)"), since: 0) }
      }

      #expect(try ledger.removeTombstones(before: 3, keeping: 9, limit: 9) == 1)
      #expect(try left() == [true, false, true, true])
      #expect(try ledger.removeTombstones(before: .min, keeping: 1, limit: 9) == 2)
      #expect(try left() == [true, false, false, false])
    }
  }

  @Test(
    arguments: [
      "SELECT sum(count) FROM queueCounts WHERE state = 'failed'",
      "SELECT min(enqueuedAt) FROM operations WHERE state = 'pending'",
      "SELECT min(nextAttemptAt) FROM operations WHERE nextAttemptAt > 5",
      "SELECT * FROM operations WHERE zone = 'z' ORDER BY id LIMIT 50",
      "SELECT * FROM operations WHERE type = 'Note' ORDER BY id LIMIT 50",
      "SELECT * FROM operations WHERE errorCode = 'BUSY' ORDER BY id LIMIT 50",
      "SELECT * FROM operations WHERE state = 'failed' ORDER BY id LIMIT 50",
    ]
  )
  func `what is asked for all the time is found by an index`(sql: String) throws {
    let storage = try SQLiteStorage(path: folder.path("new.sqlite"))

    let plan = try storage.writer.read { database in
      try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(sql)").map { $0["detail"] as String }
    }

    #expect(!plan.isEmpty)
    for step in plan { #expect(step.hasPrefix("SEARCH") && !step.contains("TEMP B-TREE"), "\(plan)") }
  }
}

extension QueuedOperation {
  /// A delete that ends at once.
  fileprivate init(_ key: RecordKey, deletedAt time: Int64) {
    self.init(.delete, key, type: "Note", baseTag: "1", now: time)
  }
}
