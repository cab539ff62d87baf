import CloudKit
import CloudKitEmulator
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CloudSync
@testable import cktop

/// Several processes on one store: who drives, who takes over and how soon.
///
/// `TIMING=1 swift test --filter TakeoverTests` holds the times against their limits.
@Suite(.serialized, .timeLimit(.minutes(40))) struct TakeoverTests {
  private static let container = "iCloud.org.example.takeover"

  private let emulator: Emulator
  private let server: EmulatorServer
  private let folder: TemporaryFolder
  private let store: SyncStore
  private let url: String

  init() async throws {
    emulator = try Emulator()
    server = EmulatorServer(emulator)
    url = "http://127.0.0.1:\(try await server.start())"
    folder = try TemporaryFolder()
    store = try SyncStore(
      path: folder.path("store.sqlite"),
      scope: SyncStore.Scope(container: Self.container, environment: "development", database: .private)
    )
  }

  @Test func `a driver that is killed is replaced within five seconds`() async throws {
    let (first, second) = try await drivers()

    let killed = ContinuousClock.now
    first.send(SIGKILL)
    try await until { try store.status().syncingProcess?.pid == Int64(second.pid) }

    expect(killed.duration(to: .now), below: .seconds(5))
    await end(second)
  }

  @Test func `a driver stopped in its sleep is replaced within five seconds, and writes nothing when it goes on`()
    async throws
  {
    let (first, second) = try await drivers()
    await first.stop()

    let stopped = ContinuousClock.now
    try enqueue("a")
    try await until { emulator.recordCount() == 1 }
    expect(stopped.duration(to: .now), below: .seconds(5))
    try await until { try store.engineRest().rest != nil }
    first.send(SIGCONT)
    try enqueue("b")
    try await until { emulator.recordCount() == 2 }
    try await until { try store.status().queue.total == 0 }

    #expect(try store.status().syncingProcess?.pid == Int64(second.pid))
    #expect(emulator.statistics.recordsSaved == 2)
    let ended: Int? = try store.read { try $0.one("SELECT count(*) FROM history") }
    #expect(ended == 2)
    // It stands by again.
    second.send(SIGKILL)
    try await until { try store.status().syncingProcess?.pid == Int64(first.pid) }
    await end(first)
  }

  @Test func `a driver wakes within 250 milliseconds of another process's command`() async throws {
    let driver = try start()
    try await until { try store.status().lastSuccessAt != nil && store.engineRest().rest != nil }

    var best = Duration.seconds(60)
    for number in 1...5 {
      try await until { try store.engineRest().rest != nil && store.status().queue.total == 0 }
      try enqueue("r\(number)")
      let start = ContinuousClock.now
      try await until { emulator.statistics.requestsByOperation["records/modify"] == number }
      best = min(best, start.duration(to: .now))
    }

    // Of several the best says what the wake-up costs.
    expect(best, below: .milliseconds(250))
    await end(driver)
  }

  /// Holds a time against its limit where times mean something: not while all tests run at once.
  private func expect(_ time: Duration, below limit: Duration, at location: SourceLocation = #_sourceLocation) {
    guard ProcessInfo.processInfo.environment["TIMING"] != nil else { return }
    #expect(time < limit, sourceLocation: location)
  }

  // MARK: - Processes

  /// One that drives and sleeps, and one that stands by.
  private func drivers() async throws -> (Child, Child) {
    let first = try start()
    try await until { try store.status().lastSuccessAt != nil && store.engineRest().rest != nil }
    #expect(try store.status().syncingProcess?.pid == Int64(first.pid))
    let second = try start()
    // Besides its journal's watch and its own of the store it has the one that tells of the lock's being let go.
    try await until { Self.openFiles(of: second).filter { $0.hasSuffix("inotify") }.count == 3 }
    return (first, second)
  }

  private func start() throws -> Child {
    try Child(
      Binary.cktop().path,
      [
        "sync", "--watch", "--store", store.path, "--container", Self.container, "--database", "private", "--url", url,
      ],
      environment: folder.environment.merging(["CLOUDKIT_API_TOKEN": "test", "CLOUDKIT_WEB_AUTH_TOKEN": "ana"]) { $1 }
    )
  }

  private static func openFiles(of child: Child) -> [String] {
    let folder = "/proc/\(child.pid)/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
  }

  private func end(_ child: Child) async {
    child.send(SIGTERM)
    #expect(await child.end() == .exited(0))
    try? await server.stop()
  }

  private func enqueue(_ name: String) throws {
    _ = try store.enqueue([Change(RecordKey(ZoneKey(zone: "z"), name), .save(type: "Row", FieldChanges()))])
  }

  /// Waits for a fact about other processes, which nothing here can announce; the test's time limit bounds it.
  private func until(_ isTrue: () throws -> Bool) async throws {
    while try !isTrue() { try await Task.sleep(for: .milliseconds(1)) }
  }
}
