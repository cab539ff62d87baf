import CloudKit
import CloudSync
import Foundation
import GRDB
import Synchronization

/// A long queue as it looks after trouble: a tenth of it failed, changes that wait for a failed one in front, half with a
/// parent, and as many records in the local copy.
struct Mixed {
  private let count: Int
  private let bench: Bench
  private let path: String

  /// - Parameter folder: the folder in which the store is kept for the next time, and made if there is none.
  init(_ count: Int, in folder: String?) throws {
    self.count = count
    bench = try Bench(at: folder)
    path = bench.folder.appendingPathComponent("mixed-\(count).sqlite").path
  }

  func measure() async throws {
    if try Bench.store(bench.storage("mixed-\(count)")).status().queue.total < count { try fill() }
    try start()
    let storage = try bench.storage("mixed-\(count)")
    let store = try Bench.store(storage)
    try screens(store)
    try lists(store)
    try pairs(store)
    try await planning(store)
    try await bulk(store)
    report("private at the end", privateMegabytes(), "MB")
  }

  // MARK: - The queue

  private func change(_ number: Int) -> Change {
    var values = Bench.fields(number)
    // A hub that failed and whose children come next; then a tree, a chain, and changes that refer to nothing.
    let (dead, blocked) = (count / 10, count / 20)
    let parent: Int? =
      switch number {
      case ..<dead: nil
      case ..<(dead + blocked): 0
      case ..<(count / 2): number - (number - dead - blocked) % 50 - 1
      case ..<(count * 65 / 100): number - 1
      default: nil
      }
    if let parent { values["parent"] = .reference(WireReference(recordName: "m\(parent)", action: "VALIDATE")) }
    return Change(RecordKey(Bench.zone, "m\(number)"), .save(type: "Task", FieldChanges(values: values)))
  }

  private func fill() throws {
    let storage = try bench.storage("mixed-\(count)")
    let store = try Bench.store(storage)
    let seconds = try time {
      for start in stride(from: 0, to: count, by: 10_000) {
        _ = try store.enqueue((start..<min(start + 10_000, count)).map(change))
      }
    }
    report("filling \(count) changes with references", seconds / .seconds(1), "s")
    for start in stride(from: 0, to: 1000, by: 100) {
      _ = try store.enqueue((start..<start + 100).flatMap(Self.rareChanges))
    }
    try storage.writer.write { database in
      try database.execute(
        sql: """
          UPDATE operations SET state = 'failed', errorCode = 'BAD_REQUEST', errorMessage = 'the field is unknown'
            WHERE id <= \(count / 10);
          UPDATE operations SET state = 'paused' WHERE name LIKE 'paused-%';
          UPDATE operations SET state = 'failed', errorCode = 'QUOTA_EXCEEDED' WHERE name LIKE 'quota-%';
          WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < \(count))
          INSERT INTO records(zone, owner, name, type, changeTag, fields, createdAt, modifiedAt)
            SELECT '\(Bench.zone.zone)', '', 'r' || n, 'Task', '1', '{"title":{"type":"STRING","value":"a title of words"}}', 1, 1
            FROM numbers;
          """
      )
    }
  }

  /// Changes that differ from all others in one column, of which there are a thousand each.
  private static func rareChanges(_ number: Int) -> [Change] {
    func change(_ zone: ZoneKey, _ name: String, _ type: String = "Task") -> Change {
      Change(RecordKey(zone, "\(name)-\(number)"), .save(type: type, FieldChanges(values: Bench.fields(number))))
    }
    return [
      change(ZoneKey(zone: "Few"), "zone"), change(Bench.zone, "type", "Rare"), change(Bench.zone, "paused"),
      change(Bench.zone, "quota"), Change(RecordKey(Bench.zone, "delete-\(number)"), .delete),
    ]
  }

  // MARK: - Measures

  private func median(_ body: () throws -> Void) rethrows -> Double {
    try (0..<9).map { _ in try time(body) }.sorted()[4].milliseconds
  }

  private func start() throws {
    let bytes = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    report("size of the store", Double(bytes) / 1_000_000, "MB")
    let elapsed = try median { _ = try Bench.store(bench.storage("mixed-\(count)")).status() }
    report("from the start to the first read", elapsed, "ms", atMost: 20)
  }

  private func screens(_ store: SyncStore) throws {
    let reader = StoreReader(store, Redaction())
    let refresh = try median {
      try reader.view { view in
        _ = try view.status()
        _ = try view.operations(limit: 50)
        _ = try view.records(limit: 50)
      }
    }
    report("a refresh: status and two lists of 50", refresh, "ms", atMost: 10)
  }

  private func lists(_ store: SyncStore) throws {
    for filter in [
      "name = 'm\(count / 2)'", "type = 'Task'", "zone = '\(Bench.zone.zone)'", "state = 'failed'",
      "error = 'BAD_REQUEST'", "operation = 'save'", "operation = 'delete'",
    ] {
      let parsed = try QueueFilter(parsing: filter)
      report(
        "first 50 of \(filter)",
        try median { _ = try store.operations(matching: parsed, limit: 50) },
        "ms",
        atMost: 50
      )
    }
  }

  /// Every pair of equalities, of which a thousand rows at most meet the first.
  private func pairs(_ store: SyncStore) throws {
    let rare = [
      "name": "m\(count / 2)", "zone": "Few", "operation": "delete", "type": "Rare", "state": "paused",
      "error": "QUOTA_EXCEEDED",
    ]
    let usual = [
      "name": "m\(count / 2)", "zone": Bench.zone.zone, "operation": "save", "type": "Task", "state": "pending",
      "error": "BAD_REQUEST",
    ]
    for (column, value) in rare.sorted(by: { $0.key < $1.key }) {
      for (other, usual) in usual.sorted(by: { $0.key < $1.key }) where other != column {
        let text = "\(other) = '\(usual)' and \(column) = '\(value)'"
        let filter = try QueueFilter(parsing: text)
        report(
          "first 200 of \(text)",
          try median { _ = try store.operations(matching: filter, limit: 200) },
          "ms",
          atMost: 50
        )
      }
    }
    report("a record by its name", try median { _ = try store.records(named: "r\(count / 2)") }, "ms", atMost: 5)
  }

  /// What one plan costs, and what the engine spends between two requests that write records.
  private func planning(_ store: SyncStore) async throws {
    let server = try DistantServer(.zero)
    let plans = Mutex<[Double]>([])
    let last = Mutex(false)
    let task = Task { try await Bench.engine(store, server).syncOnce() }
    let watching = Task.detached {
      while !last.withLock(\.self) {
        let elapsed = try time { _ = try store.plan() }
        plans.withLock { $0.append(elapsed.milliseconds / 2) }
        // A plan now and then: one after the other would slow down the engine that is measured.
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    try await wait("seventy requests that write") { server.pauses.count >= 70 }
    last.withLock { $0 = true }
    _ = try? await watching.value
    task.cancel()
    _ = try? await task.value
    let (planned, pauses) = (plans.withLock(\.self).sorted(), server.pauses.sorted())
    report("planning a request, median", planned[planned.count / 2], "ms")
    report("planning a request, worst of \(planned.count)", planned.last ?? 0, "ms", atMost: 20)
    report("between two requests, median", pauses[pauses.count / 2].milliseconds, "ms")
    report("between two requests, worst of \(pauses.count)", pauses.last?.milliseconds ?? 0, "ms")
  }

  /// Commands on many rows, and how long others wait to write meanwhile.
  private func bulk(_ store: SyncStore) async throws {
    report(
      "pause of everything",
      try time { try store.pause(.everything, actor: "benchmark") }.milliseconds,
      "ms",
      atMost: 5
    )
    report(
      "pause of a zone",
      try time { try store.pause(.zone(Bench.zone), actor: "benchmark") }.milliseconds,
      "ms",
      atMost: 5
    )
    _ = try store.resumeAll(actor: "benchmark")
    let isDone = Mutex(false)
    let mark = UUID().uuidString
    let writer = Task.detached {
      var longest = Duration.zero
      for number in 0... {
        if isDone.withLock(\.self) { break }
        longest = max(longest, try time { _ = try store.enqueue([Bench.change("\(mark)-\(number)")]) })
        // Like an app that writes often, but not all the time.
        try await Task.sleep(for: .milliseconds(5))
      }
      return longest
    }
    let filter = try QueueFilter(parsing: "state = 'failed'")
    let elapsed = try time {
      let result = try store.perform(.retry, on: .matching(filter, text: "state = 'failed'"), actor: "benchmark")
      report("retried", Double(result.changed.count), "changes")
    }
    isDone.withLock { $0 = true }
    report("a retry of all failed", elapsed / .seconds(1), "s")
    report("the longest wait of another writer meanwhile", try await writer.value.milliseconds, "ms", atMost: 250)
  }
}
