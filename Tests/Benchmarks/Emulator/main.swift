@_spi(Benchmarks) import CloudKitEmulator
import Foundation

/// How long a piece of work takes, in seconds.
func seconds(_ work: () throws -> Void) rethrows -> Double {
  try ContinuousClock().measure(work) / .seconds(1)
}

/// The same of the processor's time, which is what a disturbed machine leaves of it.
func processorSeconds(_ work: () throws -> Void) rethrows -> Double {
  func used() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
  let start = used()
  try work()
  return used() - start
}

func print(_ name: String, _ figure: String, goal: String) {
  print(name.padding(toLength: 62, withPad: " ", startingAt: 0), figure, "  (goal: \(goal))")
}

/// Nobody can go on without an answer.
func answer(_ emulator: Emulator, _ request: EmulatorRequest) -> EmulatorResponse {
  guard let response = emulator.handle(request, at: Sample.time).response, response.status == 200 else {
    fatalError("The emulator refused a request.")
  }
  return response
}

func filled(_ emulator: Emulator, _ records: Int) -> Emulator {
  _ = answer(emulator, Sample.createZone)
  for start in stride(from: 0, to: records, by: 200) {
    _ = answer(emulator, Sample.create(start..<min(records, start + 200)))
  }
  return emulator
}

/// The memory that this process alone has, in bytes: not the pages of the program and its libraries.
func privateMemory() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
  return (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0) * 1024
}

/// The best of some rounds, which is what the work takes when the machine does little else; each on an emulator of its own.
func bestRate(_ count: Int, _ prepare: (Emulator) -> () -> Void) throws -> String {
  var times: [(whole: Double, processor: Double)] = []
  for _ in 0..<5 {
    let work = prepare(try filled(Emulator(), 0))
    var whole = 0.0
    let processor = processorSeconds { whole = seconds(work) }
    times.append((whole, processor))
  }
  let (whole, processor) = (times.map(\.whole).min() ?? 0, times.map(\.processor).min() ?? 0)
  return "\(Int(Double(count) / whole)), of processor time \(Int(Double(count) / processor))"
}

func writing() async throws {
  let batches = (0..<250).map { Sample.create($0 * 200..<$0 * 200 + 200) }
  let count = batches.count * 200
  print("bytes of one record as JSON", "\(batches[0].body.count / 200)", goal: "none")
  let decoded = try bestRate(count) { emulator in
    let prepared = batches.map { emulator.prepared($0, at: Sample.time) }
    return { for work in prepared { work() } }
  }
  print("records written a second, decoded requests", decoded, goal: "15000")
  let bytes = try bestRate(count) { emulator in { for batch in batches { _ = answer(emulator, batch) } } }
  print("records written a second, from bytes", bytes, goal: "8000")

  let emulator = try filled(Emulator(), 0)
  let server = EmulatorServer(emulator, now: { Sample.time })
  let client = try KeptConnection(port: try await server.start())
  let loopback = try seconds { for batch in batches { _ = try client.send(batch) } }
  print("records written a second, over loopback HTTP", "\(Int(Double(count) / loopback))", goal: "5000")

  let small = try (0..<2000).map { index in try seconds { _ = try client.send(Sample.lookUp(index)) } }
  let median = small.sorted()[small.count / 2]
  print("a lookup over a kept connection, median", "\((median * 1e6).rounded()) µs", goal: "1000 µs")
  try await server.stop()

  let made = try processorSeconds { for _ in 0..<1000 { _ = try filled(Emulator(), 1) } }
  print("an emulator with a zone and a record, processor time", "\((made * 1e3).rounded()) µs", goal: "none")
}

func queries(_ emulator: Emulator, _ kind: String) {
  let built = seconds { _ = answer(emulator, Sample.query(shelf: 0)) }
  print("first query of a field, \(kind): its index is made", "\((built * 1e3).rounded()) ms", goal: "none")
  let times = (1..<200).map { shelf in seconds { _ = answer(emulator, Sample.query(shelf: shelf)) } }.sorted()
  let (median, worst) = (times[times.count / 2], times[times.count - 1])
  print(
    "first page of an equality, \(kind): median, worst of \(times.count)",
    "\((median * 1e4).rounded() / 10) ms, \((worst * 1e4).rounded() / 10) ms",
    goal: "10 ms"
  )
}

func memory(_ records: Int) throws {
  let before = privateMemory()
  let emulator = try filled(Emulator(), records)
  print("bytes of memory a record, \(records) records", "\((privateMemory() - before) / records)", goal: "2500")
  queries(emulator, "memory")
  print("the same with one index", "\((privateMemory() - before) / records)", goal: "2500")
  var snapshot: EmulatorSnapshot?
  let kept = try seconds { snapshot = try emulator.snapshot() }
  print("a snapshot of them", "\((kept * 1e6).rounded()) µs", goal: "none")
  let after = seconds { _ = answer(emulator, Sample.create(records..<records + 1)) }
  print("the first write after it, which copies what is shared", "\((after * 1e3).rounded()) ms", goal: "none")
  if let snapshot {
    let restored = try seconds { try emulator.restore(snapshot) }
    print("putting it back", "\((restored * 1e3).rounded()) ms", goal: "none")
  }
}

func file(_ records: Int, _ path: String) throws {
  if !FileManager.default.fileExists(atPath: path) {
    let filling = try seconds { _ = try filled(Emulator(path: path), records) }
    print("records written a second, file", "\(Int(Double(records) / filling))", goal: "none")
  }
  for _ in 0..<3 {
    var emulator: Emulator?
    let start = try seconds {
      emulator = try Emulator(path: path)
      if let emulator { _ = answer(emulator, Sample.lookUp(records / 2)) }
    }
    print("start with \(records) records on file to first answer", "\((start * 1e4).rounded() / 10) ms", goal: "100 ms")
    if let emulator { queries(emulator, "file") }
    print("memory in use", "\(privateMemory() / 1_000_000) MB", goal: "none")
  }
}

let arguments = Array(CommandLine.arguments.dropFirst())
let records = arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
switch arguments.first {
case "memory": try memory(records)
case "file": try file(records, arguments.dropFirst(2).first ?? "emulator-benchmark.sqlite")
default: try await writing()
}
