import CloudKit
import Facts
import GRDB
import Testing

@testable import CloudSync

/// Commands that change many operations.
@Suite(.serialized) struct LargeCommandTests {
  private let world: World
  private let store: SyncStore
  private static let filter = "state = 'failed'"

  init() throws {
    world = try World()
    store = try world.open("store")
    try store.fill(1200, "failed")
  }

  private var failed: Selection {
    get throws { .matching(try QueueFilter(parsing: Self.filter), text: Self.filter) }
  }

  private func commands() throws -> [Int] { try store.read { try $0.commands(limit: 9).map(\.count) } }

  private func events() throws -> [Event] { try store.events(limit: 9).map(\.event).filter { $0.kind == "command" } }

  @Test func `a retry of 1,200 rows takes three transactions, and a change enqueued meanwhile waits for one`() throws {
    let transactions = try Transactions.of(store)
    var progress: [[Int]] = []

    let result = try store.perform(.retry, on: failed, actor: "ana") { done, total in
      progress.append([done, total])
      do { try store.accept(world.put("new\(done)", [:])) } catch { Issue.record(error) }
      return true
    }

    #expect(transactions.rows == [500, 1, 500, 1, 200])
    #expect(result.changed == Array(1...1200) && result.notReached == 0)
    #expect(progress == [[500, 1200], [1000, 1200]])
    #expect(try commands() == [1200])
    #expect(try events() == [.command(.retry(.matching(Self.filter)), count: 1200)])
  }

  @Test func `a command about many operations names the first that it changed, also if it is stopped`() throws {
    let result = try store.perform(.retry, on: .ids(Array(11...1200)), actor: "ana") { done, _ in done < 1000 }

    #expect(result.changed.count == 1000)
    let named = Event.command(.retry(.operations(Array(11...30), more: 980)), count: 1000)
    #expect(try events() == [named])
    #expect(try store.read { try $0.commands(limit: 9).map(\.event) } == [named])
  }

  @Test func `a row that no longer matches when its turn comes is left alone`() throws {
    let result = try store.perform(.discard, on: failed, actor: "ana") { done, _ in
      guard done == 500 else { return true }
      do {
        try store.execute("UPDATE operations SET state = 'paused' WHERE id = 600")
        _ = try store.perform(.discard, on: .ids([700]), actor: "ben")
      } catch { Issue.record(error) }
      return true
    }

    #expect(result.changed.count == 1198)
    #expect(result.skipped.isEmpty && result.unknown.isEmpty)
    #expect(try store.queue() == ["save r600 paused"])
  }

  @Test func `a row edited after the command began is no longer in the version that was decided on`() throws {
    let ids = (1...600).map(Int64.init)
    let shown = try store.versions(of: ids)

    let result = try store.perform(.discard, on: .ids(ids), versions: shown, actor: "ana") { _, _ in
      do { try store.accept(world.put("r550", ["x": .int64(2)])) } catch { Issue.record(error) }
      return true
    }

    #expect(result.changed.count == 599)
    #expect(result.moved.map(\.id) == [550])
  }

  @Test func `a command that is stopped ends after its transaction and records what it did`() throws {
    let result = try store.perform(.pause, on: .ids((1...1200).map(Int64.init)), actor: "ana") { _, _ in false }
    let retried = try store.perform(.retry, on: failed, actor: "ana") { done, _ in done < 1000 }

    #expect(result.changed.isEmpty && result.skipped.count == 500 && result.notReached == 700)
    #expect(retried.changed.count == 1000 && retried.notReached == 200)
    #expect(try store.read { try $0.operationCount(in: .failed) } == 200)
    // The pause changed nothing, so it left nothing.
    #expect(try commands() == [1000])
    #expect(try events() == [.command(.retry(.matching(Self.filter)), count: 1000)])
  }

  @Test func `a command that fails midway has each committed transaction on record, and says how far it got`() throws {
    var meanwhile: [Int] = []

    let failure = #expect(throws: StoreError.self) {
      try store.perform(.retry, on: failed, actor: "ana") { done, _ in
        do {
          meanwhile += try commands()
          try store.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON operations WHEN old.id > 900 BEGIN SELECT RAISE(ABORT, 'full'); END"
          )
        } catch { Issue.record(error) }
        return true
      }
    }

    let message = try #require(failure?.message)
    #expect(message.hasSuffix("; 500 of 1,200 operations had been changed by then"))
    #expect(meanwhile == [500])
    #expect(try commands() == [500])
    #expect(try events() == [.command(.retry(.matching(Self.filter)), count: 500)])
    #expect(try store.read { try $0.operationCount(in: .pending) } == 500)
  }

  @Test func `flush ends 1,200 back-offs in three transactions`() throws {
    try store.execute("UPDATE operations SET state = 'waiting', nextAttemptAt = 9999999999999, isServersWait = id = 7")
    let transactions = try Transactions.of(store)

    #expect(try store.flush(actor: "ana") == 1199)

    #expect(transactions.rows == [500, 500, 199])
    #expect(try commands() == [1199])
    #expect(try events() == [.command(.flush(throttles: false), count: 1199)])
  }

  @Test func `a sync with nothing to flush writes nothing`() throws {
    let before = try store.file.writer.read { $0.totalChangesCount }

    #expect(try store.flush(actor: nil) == 0)

    #expect(try store.file.writer.read { $0.totalChangesCount } == before)
  }

  @Test(.onFile) func `a dry run does not wait for a writer`() throws {
    let other = try world.open("store")

    let changed = try other.write { _ in try store.perform(.retry, on: failed, dryRun: true, actor: "ana").changed }

    #expect(changed.count == 1200)
  }

  @Test func `an atomic group is discarded in one transaction`() {
    let ids = (1...1002).map(Int64.init)

    let slices = SyncStore.slices(of: ids, groups: [499: "a", 500: "b", 501: "b", 1002: "a"])

    #expect(slices.map(\.count) == [500, 500, 2])
    #expect(slices[0].contains(499) && slices[0].contains(1002))
    #expect(slices[1].starts(with: [500, 501]))
    #expect(slices.joined().sorted() == ids)
    #expect(SyncStore.slices(of: []) == [[]])
  }
}
