import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import CloudSync
import Foundation
import Synchronization

/// A folder, a store in it and what is needed to fill and drive it.
final class Bench {
  static let container = "iCloud.benchmark"
  static let zone = ZoneKey(zone: "Bench")

  let folder: URL
  private let isKept: Bool

  /// - Parameter path: where the store lies and stays; nil: in a folder that goes again.
  init(at path: String? = nil) throws {
    isKept = path != nil
    folder =
      path.map { URL(fileURLWithPath: $0) }
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("sync-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit {
    if !isKept { try? FileManager.default.removeItem(at: folder) }
  }

  func storage(_ name: String) throws -> SQLiteStorage {
    try SQLiteStorage(path: folder.appendingPathComponent("\(name).sqlite").path)
  }

  static func store(_ storage: SQLiteStorage) throws -> SyncStore {
    try SyncStore(
      storage,
      scope: SyncStore.Scope(container: container, environment: "development", database: .private)
    )
  }

  static func change(_ name: String, _ number: Int = 0) -> Change {
    Change(RecordKey(zone, name), .save(type: "Task", FieldChanges(values: fields(number))))
  }

  static func fields(_ number: Int) -> [String: FieldValue] {
    [
      "title": .string("A title of some words, number \(number)"), "done": .int64(Int64(number % 2)),
      "rank": .double(Double(number) / 7), "due": .timestamp(1_700_000_000_000 + Int64(number)),
    ]
  }

  static func engine(_ store: SyncStore, _ transport: any CKTransport) -> SyncEngine {
    let client = WebServicesClient(
      WebServicesClient.Configuration(
        container: container,
        environment: "development",
        credential: .webAuth(apiToken: "token", webAuthToken: "ana")
      ),
      transport: transport
    )
    // Each server here is a new one, which has lost all that the store knows.
    return SyncEngine(store: store, SyncEngine.Configuration(client: client, deletionGuard: .off))
  }
}

/// An emulator at some distance, and how long was spent on the way and there.
final class DistantServer: CKTransport {
  private let emulator: EmulatorTransport
  private let distance: Duration
  private struct State {
    var requests = 0
    var time = Duration.zero
    var first: ContinuousClock.Instant?
    /// When the last request that wrote records was answered.
    var written: ContinuousClock.Instant?
    var pauses: [Duration] = []
  }
  private let state = Mutex(State())

  /// - Parameter distance: the round trip.
  init(_ distance: Duration) throws {
    let server = try Emulator()
    try server.createZone(Bench.zone.zone, in: .private(of: "ana", Bench.container), at: Date())
    emulator = EmulatorTransport(server)
    self.distance = distance
  }

  var requests: Int { state.withLock(\.requests) }
  var time: Duration { state.withLock(\.time) }
  /// When the first request came.
  var first: ContinuousClock.Instant? { state.withLock(\.first) }
  /// What lay between a request that wrote records and the next one.
  var pauses: [Duration] { state.withLock(\.pauses) }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    let start = ContinuousClock.now
    let writes = request.path.hasSuffix("records/modify")
    defer {
      state.withLock {
        $0.requests += 1
        $0.time += start.duration(to: .now)
        if writes { $0.written = .now }
      }
    }
    state.withLock {
      $0.first = $0.first ?? start
      if writes, let written = $0.written { $0.pauses.append(written.duration(to: start)) }
    }
    try? await Task.sleep(for: distance)
    return try await emulator.send(request)
  }
}

func time(_ body: () throws -> Void) rethrows -> Duration {
  let start = ContinuousClock.now
  try body()
  return start.duration(to: .now)
}

extension Duration {
  var milliseconds: Double { self / .milliseconds(1) }
}

/// Waits until something is so.
///
/// - Throws: where it is not for a minute.
func wait(_ what: String, _ condition: () -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(60)
  while !condition() {
    guard ContinuousClock.now < end else { throw BenchmarkFailure("a minute went by without \(what)") }
    try await Task.sleep(for: .microseconds(200))
  }
}

/// Why there is no result.
struct BenchmarkFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Whether every limit was kept so far.
let allMet = Mutex(true)

/// A line of the result, held against its limit.
func report(_ name: String, _ value: Double, _ unit: String, atMost limit: Double? = nil, atLeast: Double? = nil) {
  let isFine = limit.map { value <= $0 } ?? atLeast.map { value >= $0 } ?? true
  if !isFine { allMet.withLock { $0 = false } }
  let wanted = limit.map { ", at most \($0)" } ?? atLeast.map { ", at least \($0)" } ?? ""
  print(
    name.padding(toLength: 58, withPad: " ", startingAt: 0),
    String(format: "%.3f", value),
    unit + wanted,
    isFine ? "" : "NOT MET"
  )
}

/// The memory that this process alone has, in MB: not the pages of the program and its libraries.
func privateMegabytes() -> Double {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
  return Double(line.flatMap { Int($0.filter(\.isNumber)) } ?? 0) / 1024
}
