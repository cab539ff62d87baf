import CloudKit
import CloudSync
import Foundation

/// Accepting changes durably, beside the same statements through GRDB alone.
enum Enqueue {
  static func compare() async throws {
    for size in [1, 100] { try ratio(size, rounds: size == 1 ? 1000 : 60) }
    try await whileSyncing()
  }

  private static func ratio(_ size: Int, rounds: Int) throws {
    let bench = try Bench()
    let (storage, bare) = (try bench.storage("store"), try bench.storage("bare"))
    let (store, other) = (try Bench.store(storage), try Bench.store(bare))
    // Zones and statements are known before anything is measured.
    for store in [store, other] { _ = try store.enqueue([Bench.change("first")]) }
    let template = try BareStatements(of: storage) {
      _ = try store.enqueue((0..<size).map { Bench.change("taken-down-\($0)", $0) })
    }
    var (own, plain) = ([Duration](), [Duration]())
    for round in 0..<rounds {
      let changes = (0..<size).map { Bench.change("r\(round)-\($0)", $0) }
      // In turn, so that the disk's moods strike both.
      own.append(try time { _ = try store.enqueue(changes) })
      plain.append(
        try time {
          try template.run(on: bare.writer) { text in
            text.hasPrefix("taken-down-") ? "r\(round)-\(text.dropFirst(11))" : text
          }
        }
      )
    }
    own.sort()
    plain.sort()
    let name = size == 1 ? "one by one" : "batches of \(size)"
    report("enqueue \(name), median", own[rounds / 2].milliseconds, "ms")
    report("the same statements through GRDB, median", plain[rounds / 2].milliseconds, "ms")
    report("enqueue \(name) to bare GRDB", plain[rounds / 2] / own[rounds / 2], "of its speed", atLeast: 0.8)
  }

  /// How long a writer waits at worst while a sync runs, beyond what the disk takes.
  private static func whileSyncing() async throws {
    let bench = try Bench()
    let store = try Bench.store(bench.storage("store"))
    _ = try store.enqueue((0..<20_000).map { Bench.change("queued-\($0)", $0) })
    let engine = Bench.engine(store, try DistantServer(.milliseconds(50)))
    let sync = Task { try await engine.syncOnce() }
    var times: [Duration] = []
    for number in 0..<1000 {
      times.append(try time { _ = try store.enqueue([Bench.change("new-\(number)")]) })
      try await Task.sleep(for: .milliseconds(3))
    }
    sync.cancel()
    _ = try? await sync.value
    times.sort()
    let disk = try syncTimes(in: bench.folder)
    report("enqueue while a sync runs, p99", times[990].milliseconds, "ms")
    report("a sync of the disk, p99", disk[198].milliseconds, "ms")
    report("enqueue beyond the disk's sync, p99", (times[990] - disk[198]).milliseconds, "ms", atMost: 4)
  }

  /// What 200 writes of a page take with their syncs, ascending.
  private static func syncTimes(in folder: URL) throws -> [Duration] {
    let path = folder.appendingPathComponent("page")
    try Data().write(to: path)
    let handle = try FileHandle(forWritingTo: path)
    defer { try? handle.close() }
    let page = Data(repeating: 7, count: 4096)
    return try (0..<200).map { _ in
      try time {
        try handle.write(contentsOf: page)
        try handle.synchronize()
      }
    }.sorted()
  }
}
