import CloudKit
import CloudSync
import Foundation
import Synchronization

/// How much of the time of a large upload is the engine's own.
func upload(_ count: Int) async throws {
  let bench = try Bench()
  let store = try Bench.store(bench.storage("store"))
  _ = try store.enqueue((0..<count).map { Bench.change("r\($0)", $0) })
  let server = try DistantServer(.milliseconds(50))
  let begin = ContinuousClock.now
  let summary = try await Bench.engine(store, server).syncOnce()
  let wall = begin.duration(to: .now)
  report("upload of \(summary.sent) records", wall / .seconds(1), "s")
  report("in requests", Double(server.requests), "")
  report("the engine's own share", (wall - server.time) / wall * 100, "%", atMost: 15)
}

let arguments = Array(CommandLine.arguments.dropFirst())
do {
  switch arguments.first {
  case "million":
    let count = arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
    try await Million(count, in: arguments.dropFirst(2).first).measure()
  case "mixed":
    let count = arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
    try await Mixed(count, in: arguments.dropFirst(2).first).measure()
  case "queries": try Queries(arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000).measure()
  case "upload": try await upload(arguments.dropFirst().first.flatMap { Int($0) } ?? 10_000)
  default: try await Enqueue.compare()
  }
} catch {
  print("the benchmark did not end: \(error)")
  exit(1)
}
// Scripts want to know.
if !allMet.withLock(\.self) { exit(1) }
