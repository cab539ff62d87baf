import CloudKit
import CloudKitEmulator
import CloudSync
import Foundation
import Testing

@testable import cktop

/// Kills the driver while operations are in flight, again and again. `KILLS` sets how often; it is small by default.
///
/// SIGKILL says nothing about `fsync`; `PRAGMA synchronous` is read back on the writing connection by a test of the store.
@Suite(.serialized) struct KillTests {
  private static let container = "iCloud.org.example.kill"

  @Test(.timeLimit(.minutes(20)))
  func `a driver killed while rows are in flight loses nothing and doubles nothing`() async throws {
    let kills = ProcessInfo.processInfo.environment["KILLS"].flatMap { Int($0) } ?? 4
    let count = (kills + 2) * 200
    let emulator = try Emulator()
    let server = EmulatorServer(emulator)
    let url = "http://127.0.0.1:\(try await server.start())"
    let folder = try TemporaryFolder()
    let path = folder.path("kill.sqlite")
    let store = try SyncStore(
      path: path,
      scope: SyncStore.Scope(container: Self.container, environment: "development", database: .private)
    )
    let zone = ZoneKey(zone: "Kill")
    let changes = (0..<count).map { number in
      Change(
        RecordKey(zone, "row-\(number)"),
        .save(type: "Row", FieldChanges(values: ["number": .int64(Int64(number))]))
      )
    }
    #expect(try store.enqueue(changes).count == count)

    // Answers are held back for longer than any driver lives, so a request that the server has counted is in flight.
    let silence = FaultRule(when: FaultCondition(operation: "records/modify"), then: .delay(milliseconds: 600_000))
    emulator.faults = FaultPlan(rules: [silence])
    for kill in 1...kills {
      let driver = try Self.startSync(path, url, folder)
      try await until { emulator.statistics.requestsByOperation["records/modify", default: 0] >= kill }
      driver.send(SIGKILL)
      #expect(await driver.end() == .signalled(SIGKILL))
    }
    emulator.faults = FaultPlan()
    let last = try Self.startSync(path, url, folder)

    #expect(await last.end() == .exited(0))
    #expect(try store.status().queue.total == 0)
    #expect(try store.records(mirrorOnly: true, limit: 1).total == count)
    #expect(emulator.recordCount() == count)
    // Each record was committed once: nothing was sent again that the server held already.
    #expect(emulator.statistics.recordsSaved == count)
    try await server.stop()
  }

  private static func startSync(_ path: String, _ url: String, _ folder: TemporaryFolder) throws -> Child {
    try Child(
      Binary.cktop().path,
      ["sync", "--store", path, "--container", container, "--database", "private", "--url", url],
      environment: folder.environment.merging(["CLOUDKIT_API_TOKEN": "test", "CLOUDKIT_WEB_AUTH_TOKEN": "ana"]) { $1 }
    )
  }

  /// Waits for a fact about other processes, which nothing here can announce; the test's time limit bounds it.
  private func until(_ isTrue: () -> Bool) async throws {
    while !isTrue() { try await Task.sleep(for: .milliseconds(5)) }
  }
}
