import CloudKit
import CloudSync
import Foundation

/// A queue of a million operations, beside one of a thousand.
struct Million {
  private let count: Int
  private let bench: Bench

  /// - Parameter folder: where the queue is kept for the next time, made where there is none.
  init(_ count: Int, in folder: String?) throws {
    self.count = count
    bench = try Bench(at: folder)
  }

  func measure() async throws {
    let name = "queue-\(count)"
    try fill(name, count)
    try fill("queue-1000", 1000)
    try await start(name)
    let store = try Bench.store(bench.storage(name))
    try lists(store)
    let costs = try await operations(name)
    let small = try await operations("queue-1000")
    for (operation, cost) in costs.sorted(by: { $0.key < $1.key }) {
      report("\(operation) at \(count)", cost.milliseconds, "ms")
      if let base = small[operation] { report("  to its cost at 1000", cost / base, "times", atMost: 2) }
    }
  }

  private func fill(_ name: String, _ count: Int) throws {
    let store = try Bench.store(bench.storage(name))
    guard try store.status().queue.total < count else { return }
    // Other values than those that were sent the last time: the same would be no edits.
    let salt = Int.random(in: 0..<1_000_000)
    let seconds = try time {
      for start in stride(from: 0, to: count, by: 10_000) where try store.status().queue.total < count {
        _ = try store.enqueue((start..<min(start + 10_000, count)).map { Bench.change("r\($0)", $0 + salt) })
      }
    }
    report("filling \(count)", seconds / .seconds(1), "s")
  }

  /// From nothing to the first request.
  private func start(_ name: String) async throws {
    let server = try DistantServer(.zero)
    let begin = ContinuousClock.now
    let store = try Bench.store(bench.storage(name))
    let task = Task { try await Bench.engine(store, server).syncOnce() }
    try await wait("a request") { server.first != nil }
    let first = server.first ?? begin
    report("from the start to the first request", begin.duration(to: first).milliseconds, "ms", atMost: 200)
    try await wait("ten requests") { server.requests >= 10 }
    report("private after ten requests", privateMegabytes(), "MB", atMost: 64)
    task.cancel()
    _ = try? await task.value
  }

  private func lists(_ store: SyncStore) throws {
    func median(_ body: () throws -> Void) rethrows -> Double {
      try (0..<9).map { _ in try time(body) }.sorted()[4].milliseconds
    }
    report("counts by state, zone and type", try median { _ = try store.status() }, "ms", atMost: 1)
    for (kind, filter, limit) in [
      ("indexed", "state = 'failed'", 50.0), ("indexed", "type = 'Task'", 50), ("indexed", "zone = 'Bench'", 50),
      ("indexed", "error = 'THROTTLED'", 50), ("text", "name like '%999%'", 300), ("anything", "attempts >= 3", 1000),
      ("anything", "payload like '%number 999999%'", 1000),
    ] {
      let parsed = try QueueFilter(parsing: filter)
      let value = try median { _ = try store.operations(matching: parsed, limit: 50) }
      report("first page of \(filter) (\(kind))", value, "ms", atMost: limit)
    }
    report("private after the lists", privateMegabytes(), "MB", atMost: 64)
  }

  /// What single operations cost, at their median.
  private func operations(_ name: String) async throws -> [String: Duration] {
    let store = try Bench.store(bench.storage(name))
    func median(_ body: (Int) throws -> Void) rethrows -> Duration {
      try (0..<41).map { round in try time { try body(round) } }.sorted()[20]
    }
    let mark = UUID().uuidString
    var costs: [String: Duration] = [:]
    costs["enqueue"] = try median { _ = try store.enqueue([Bench.change("\(mark)-\($0)")]) }
    costs["edit"] = try median { _ = try store.enqueue([Bench.change("\(mark)-\($0)", 9)]) }
    let ids = try store.operations(limit: 41).rows.map(\.id)
    costs["detail"] = try median { index in _ = try store.view { try $0.detail(of: ids[index]) } }
    costs["pause"] = try median { _ = try store.perform(.pause, on: .ids([ids[$0]]), actor: "benchmark") }
    costs["resume"] = try median { _ = try store.perform(.resume, on: .ids([ids[$0]]), actor: "benchmark") }
    costs["first page"] = try median { _ in _ = try store.operations(limit: 50) }
    costs["a request's own work"] = try await batch(store)
    return costs
  }

  /// What the engine spends between two requests that write records, at its median.
  private func batch(_ store: SyncStore) async throws -> Duration {
    let server = try DistantServer(.zero)
    let task = Task { try await Bench.engine(store, server).syncOnce() }
    try await wait("five requests that write") { server.pauses.count >= 4 }
    let pauses = server.pauses.sorted()
    task.cancel()
    _ = try? await task.value
    return pauses[pauses.count / 2]
  }
}
