import CloudKit
import CloudKitEmulator
import CloudSync
import Foundation
import TestSupport
import Testing

@testable import cktop

/// Kills drivers and writers again and again, with requests in flight and at any moment. `KILLS` sets how often; it is
/// small by default.
///
/// SIGKILL says nothing about `fsync`, which the power cuts of `Tests/Sync/PowerCut` try.
@Suite(.serialized) struct KillTests {
  private static let container = "iCloud.org.example.kill"
  private static let zone = ZoneKey(zone: "Kill")

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
      path: folder.path("kill.sqlite"),
      scope: SyncStore.Scope(container: Self.container, environment: "development", database: .private)
    )
  }

  private static var kills: Int { ProcessInfo.processInfo.environment["KILLS"].flatMap { Int($0) } ?? 4 }

  @Test(.timeLimit(.minutes(40)))
  func `a driver killed while rows are in flight loses nothing and doubles nothing`() async throws {
    // A request of 200 rows for each kill; those of more than a few hundred would only be more of the same.
    let kills = min(Self.kills, 200)
    let count = (kills + 2) * 200
    try enqueue(0..<count)

    // Answers are held back for longer than any driver lives, so a request that the server has counted is in flight.
    let silence = FaultRule(when: FaultCondition(operation: "records/modify"), then: .delay(milliseconds: 600_000))
    emulator.faults = FaultPlan(rules: [silence])
    for kill in 1...kills {
      let driver = try start(["sync"])
      try await until { emulator.statistics.requestsByOperation["records/modify", default: 0] >= kill }
      driver.send(SIGKILL)
      #expect(await driver.end() == .signalled(SIGKILL))
    }
    emulator.faults = FaultPlan()
    try await reckon(count)
  }

  @Test(.timeLimit(.minutes(40)))
  func `drivers and writers killed at any moment lose nothing that was accepted and double nothing`() async throws {
    var random = SplitMix64(seed: 5)
    try enqueue(0..<5)
    let whole = try start(["sync"])
    #expect(await whole.end() == .exited(0))
    // As long as a whole pass takes, so that every part of one is hit: opening, taking over, sending, settling. The
    // shortest counts: when the machine has been busy, later ones would end before they are killed.
    var pass = try #require(whole.lifetime)

    var (count, killed) = (5, 0)
    var accepted: Set<String> = []
    while killed < Self.kills {
      try enqueue(count..<(count + 5))
      count += 5
      let name = "written-\(killed)"
      let driver = try start(["sync"])
      let writer = try start(["records", "put", "--zone", Self.zone.zone, "--type", "Row", "--name", name, "number=1"])
      let moments = (random.moment(in: pass), random.moment(in: pass))
      async let first = kill(driver, after: moments.0)
      async let second = kill(writer, after: moments.1)
      let ends = await (first, second)
      for end in [ends.0, ends.1] where end == .signalled(SIGKILL) { killed += 1 }
      if ends.0 == .exited(0), let lifetime = driver.lifetime { pass = min(pass, lifetime) }
      if ends.1 == .exited(0) { accepted.insert(name) }
    }
    try await reckon(nil)

    let names = Set(emulator.records(in: .private(of: "ana", Self.container), zone: Self.zone.zone).map(\.recordName))
    #expect(names.isSuperset(of: accepted))
    #expect(names.isSuperset(of: (0..<count).map { "row-\($0)" }))
  }

  // MARK: - What the tests do

  private func enqueue(_ numbers: Range<Int>) throws {
    let changes = numbers.map { number in
      Change(
        RecordKey(Self.zone, "row-\(number)"),
        .save(type: "Row", FieldChanges(values: ["number": .int64(Int64(number))]))
      )
    }
    #expect(try store.enqueue(changes).count == numbers.count)
  }

  /// Lets a last driver finish the work: nothing is left, nothing is there twice.
  private func reckon(_ count: Int?) async throws {
    #expect(await (try start(["sync"])).end() == .exited(0))

    let onServer = emulator.recordCount()
    #expect(onServer == count ?? onServer)
    #expect(try store.status().queue.total == 0)
    #expect(try StoreReader(store, Redaction()).view { try $0.records(mirrorOnly: true, limit: 1).total } == onServer)
    // Each record was committed once: nothing was sent again that the server held already.
    #expect(emulator.statistics.recordsSaved == onServer)
    try await server.stop()
  }

  private func start(_ arguments: [String]) throws -> Child {
    let options = [
      "--store", store.path, "--container", Self.container, "--database", "private", "--url", url,
    ]
    return try Child(
      Binary.cktop().path,
      arguments + options,
      environment: folder.environment.merging(["CLOUDKIT_API_TOKEN": "test", "CLOUDKIT_WEB_AUTH_TOKEN": "ana"]) { $1 }
    )
  }

  private func kill(_ child: Child, after moment: Duration) async -> Child.End {
    try? await Task.sleep(for: moment)
    child.send(SIGKILL)
    return await child.end()
  }

  /// Waits for a fact about other processes, which nothing here can announce; the test's time limit bounds it.
  private func until(_ isTrue: () -> Bool) async throws {
    while !isTrue() { try await Task.sleep(for: .milliseconds(5)) }
  }
}

extension SplitMix64 {
  /// Some microsecond of a time.
  fileprivate mutating func moment(in time: Duration) -> Duration {
    .microseconds(Int64.random(in: 0..<max(1, Int64(time / .microseconds(1))), using: &self))
  }
}
