import CloudKit
import Foundation
import GRDB
import Synchronization
import Testing

@testable import CloudSync

/// The write transactions of a sync, each of which waits for the disk and wakes every watcher.
@Suite(.serialized) struct SyncCostTests {
  private let world: World

  init() throws { world = try World() }

  @Test(arguments: [1, 200]) func `a sync of one batch in one zone takes five write transactions`(count: Int)
    async throws
  {
    let device = try world.device("mine", heartbeat: nil)
    try device.store.accept(world.put("first", [:]))
    try await device.sync()
    _ = try device.store.enqueue((0..<count).map { world.put("r\($0)", [:]) })
    let transactions = try Transactions.of(device.store, on: nil)

    let summary = try await device.sync()

    #expect(summary.sent == count)
    #expect(summary.reachedEnd)
    #expect(transactions.rows.count <= (count == 1 ? 4 : 5))
  }

  @Test func `a continuous sync uploads one change in three write transactions`() async throws {
    let device = try world.device("mine", pollInterval: 100_000, heartbeat: nil)
    let store = device.store
    let isResting = { try store.queue().isEmpty && store.status().reachedEnd && store.engineRest().rest != nil }
    try await whileDriving(device) {
      try store.accept(world.put("first", [:]))
      try await eventually(store, isResting)
      let transactions = try Transactions.of(store, on: nil)

      try store.accept(world.put("a", [:]))
      try await eventually(store, isResting)

      // One of them accepted the change.
      #expect(transactions.rows.count <= 4, "\(transactions.rows)")
    }
    #expect(world.onServer("a") != nil)
  }

  @Test func `each further batch of a sync takes two write transactions`() async throws {
    let device = try world.device("mine", heartbeat: nil)
    try device.store.accept(world.put("first", [:]))
    try await device.sync()
    var counts: [Int] = []
    for batches in [2, 6] {
      _ = try device.store.enqueue((0..<200 * batches).map { world.put("of \(batches) \($0)", [:]) })
      let transactions = try Transactions.of(device.store, on: nil)
      try await device.sync()
      counts.append(transactions.rows.count)
    }
    // Each batch is also fetched again, in pages of 200 records.
    #expect(counts[1] - counts[0] <= 4 * (2 + 1), "\(counts)")
  }

  @Test func `a page of 200 fetched records takes at most 500 statements`() async throws {
    let (mine, other) = (try world.device("mine", heartbeat: nil), try world.device("other", heartbeat: nil))
    try mine.store.accept(world.put("first", [:]))
    try await mine.sync()
    var counts: [Int] = []
    for pages in [1, 3] {
      _ = try other.store.enqueue((0..<200 * pages).map { world.put("of \(pages) \($0)", ["x": .int64(1)]) })
      try await other.sync()
      let count = Mutex(0)
      try mine.store.write { ledger in
        ledger.database.trace { event in
          // SQLite reports the statements of triggers as comments.
          if !event.description.hasPrefix("--") { count.withLock { $0 += 1 } }
        }
      }
      #expect(try await mine.sync().fetched == 200 * pages)
      try mine.store.write { $0.database.trace() }
      counts.append(count.withLock(\.self))
    }
    #expect(counts[1] - counts[0] <= 2 * 500, "\(counts)")
  }

  @Test(arguments: [DatabaseName.private, .public]) func `a hundred syncs with nothing to do leave no rows behind`(
    database: DatabaseName
  ) async throws {
    let world = try World(database)
    let device = try world.device("mine", heartbeat: nil)
    try device.store.accept(world.put("first", [:]))
    try await device.sync()
    try await device.sync()
    let before = try rowCounts(of: device.store)

    for _ in 0..<100 {
      world.clock.advance(1)
      try await device.sync()
    }

    #expect(try rowCounts(of: device.store) == before)
  }

  @Test func `of requested syncs only those of the last hour are kept`() async throws {
    let device = try world.device("mine")
    try await device.sync()
    for _ in 0..<3 {
      _ = try device.store.requestSync(["Note"], isWithoutApp: true)
      world.clock.advance(3601)
      try await device.sync()
    }
    #expect(try rowCounts(of: device.store)["syncRequests"] == 1)
  }

  private func rowCounts(of store: SyncStore) throws -> [String: Int] {
    try store.file.writer.read { database in
      let tables = try String.fetchAll(
        database,
        sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
      )
      var counts: [String: Int] = [:]
      // The history has what each sync met; how much of it is kept has a test of its own.
      for table in tables where table != "verdicts" {
        counts[table] = try Int.fetchOne(database, sql: "SELECT count(*) FROM \"\(table)\"")
      }
      return counts
    }
  }
}

/// The statements of a plan, each of which reads a part of the store.
struct PlanCostTests {
  private let world: World
  private let store: SyncStore

  init() throws {
    world = try World()
    store = try world.open("store")
  }

  /// Plans once, and returns the step and the statements that it took.
  private func plan() throws -> (step: Step, statements: [String]) {
    try store.execute("UPDATE zones SET state = 'ready'")
    let statements = Mutex<[String]>([])
    // The next read uses the same connection.
    try store.read { $0.database.trace { event in statements.withLock { $0.append("\(event)") } } }
    let step = try store.plan()
    try store.read { $0.database.trace() }
    let found = statements.withLock { $0.filter { $0.hasPrefix("SELECT") } }
    #expect(!found.isEmpty)
    return (step, found)
  }

  @Test(arguments: [1, 2, 300]) func `a plan of one request takes at most 12 statements and none twice`(count: Int)
    throws
  {
    _ = try store.enqueue((0..<count).map { world.put("r\($0)", [:]) })
    let (step, statements) = try plan()
    #expect(step.operations.count == min(count, 200))
    #expect(statements.count <= 12, "\(statements.joined(separator: "\n"))")
    #expect(Set(statements).count == statements.count)
  }

  @Test func `a plan of parents and children takes at most 12 statements`() throws {
    let link = { FieldValue.reference(WireReference(recordName: $0, action: "VALIDATE")) }
    _ = try store.enqueue([world.put("a", [:]), world.put("b", ["a": link("a")]), world.put("c", ["a": link("a")])])
    let (step, statements) = try plan()
    #expect(step.operations == [1, 2, 3])
    #expect(statements.count <= 12, "\(statements.joined(separator: "\n"))")
  }

  @Test func `a plan of nothing takes at most 12 statements`() throws {
    let (step, statements) = try plan()
    #expect(step == .rest(until: nil))
    #expect(statements.count <= 12, "\(statements.joined(separator: "\n"))")
  }
}
