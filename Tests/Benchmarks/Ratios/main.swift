import CloudKit
import Foundation
import Pages

/// Times of pieces of work that take turns: of each that below which a tenth lies, when the machine did little else.
func undisturbedTimes(rounds: Int, _ works: [() async throws -> Void]) async throws -> [Double] {
  var times = works.map { _ in [Double]() }
  for round in -2..<rounds {
    for (index, work) in works.enumerated() {
      let start = ContinuousClock.now
      try await work()
      // The first rounds only warm up.
      if round >= 0 { times[index].append((ContinuousClock.now - start) / .microseconds(1)) }
    }
  }
  return times.map { $0.sorted()[rounds / 10] }
}

func printRow(_ name: String, _ microseconds: Double, of yardstick: Double, limit: Double? = nil) {
  let ratio = microseconds / yardstick
  let verdict = limit.map { ratio <= $0 ? ", within \($0)" : ", NOT within \($0)" } ?? ""
  print(
    name.padding(toLength: 44, withPad: " ", startingAt: 0),
    Int(microseconds),
    "µs, ratio",
    (ratio * 100).rounded() / 100,
    verdict
  )
}

/// The memory that this process alone has, in kB: not the pages of the program and its libraries.
func privateMemory() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
  return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
}

func compare() async throws {
  let (reading, writing) = (ReplayedServer(.page).database, ReplayedServer(.nothing).database)
  let records = CKRecord.samples()
  var sink = 0
  let times = try await undisturbedTimes(
    rounds: 101,
    [
      { sink &+= try JSONDecoder().decode(PlainPage.self, from: PlainPage.sampleBytes).records.count },
      { sink &+= try await reading.samplePage().count },
      { sink &+= try await reading.samplePage().reduce(0) { $0 &+ $1.readEverything } },
      { sink &+= try JSONEncoder().encode(PlainModify.sample).count },
      { await writing.writeModify(records) },
    ]
  )
  print("200 records with 10 fields, \(PlainPage.sampleBytes.count) bytes; 101 rounds in turn")
  printRow("JSONDecoder into plain structs", times[0], of: times[0])
  printRow("a page into CKRecords", times[1], of: times[0], limit: 1.3)
  printRow("a page into CKRecords, every field read", times[2], of: times[0])
  printRow("JSONEncoder out of plain structs", times[3], of: times[3])
  printRow("modifyRecords to the body of its request", times[4], of: times[3], limit: 1.3)
  if sink == 0 { print("nothing was measured") }
}

func stream(_ records: Int) async throws {
  print("start: \(privateMemory()) kB")
  var isTenthDue = true
  let start = ContinuousClock.now
  let count = try await ReplayedServer(.pages(records: records)).database.countNotes { count in
    guard isTenthDue, count >= records / 10 else { return }
    isTenthDue = false
    print("\(count) records: \(privateMemory()) kB")
  }
  print("\(count) records: \(privateMemory()) kB, \((ContinuousClock.now - start) / .seconds(1)) s")
}

let arguments = CommandLine.arguments.dropFirst()
let count = arguments.dropFirst().first.flatMap { Int($0) }
switch arguments.first {
case "stream": try await stream(count ?? 100_000)
case "upload": try await Upload(count: count ?? 10_000).compare()
case "cache": try await CachedReads(count: count ?? 5000).compare()
case "lookup": try await Lookup(count: count ?? 2000).compare()
case "serve": try await ServerProcess.serve()
default: try await compare()
}
