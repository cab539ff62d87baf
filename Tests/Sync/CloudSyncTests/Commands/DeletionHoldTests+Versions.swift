import CloudKit
import CloudKitEmulator
import Synchronization
import Testing

@testable import CloudSync

/// Decisions about deletions on hold count for what was shown.
extension DeletionHoldTests {
  private var held: HeldDeletions {
    get throws { try #require(try mine.store.heldDeletions().first) }
  }

  @Test func `a hold keeps its version for as long as the same is on hold`() async throws {
    try await share(10)
    try await delete(0..<6)
    try await mine.sync()
    let shown = try held

    try mine.store.accept(world.put("r9", ["x": .int64(5)]))
    try await mine.sync()

    #expect(try held == shown && DecisionVersion.isWellFormed(shown.version))
    #expect(try mine.store.zones().compactMap(\.held) == [shown])
  }

  @Test(arguments: ["more", "fewer", "zone"])
  func `neither accepting nor restoring does anything once other deletions are on hold`(_ change: String) async throws {
    try await share(10)
    try await delete(0..<6)
    try await mine.sync()
    let shown = try held
    switch change {
    case "more": try await delete(6..<8)
    case "fewer": try world.saveOnServer("r0", ["x": .int64(7)])
    default: try world.emulator.deleteZone(zone.zone, in: world.server, at: world.clock.date)
    }
    try await mine.sync()
    let (now, records) = (try held, try mine.store.records(mirrorOnly: true).total)
    let commands = try mine.store.count("SELECT count(*) FROM commands")

    let accepted = try mine.engine.acceptDeletions(in: shown.zoneID, ifVersion: shown.version)
    let restored = try mine.engine.restoreDeletions(in: shown.zoneID, ifVersion: shown.version)

    #expect(now.version != shown.version)
    #expect(accepted == DeletionOutcome(hasMoved: true, onHold: now) && restored == accepted)
    #expect(try mine.store.records(mirrorOnly: true).total == records && mine.store.queue() == [])
    #expect(try mine.store.count("SELECT count(*) FROM commands") == commands)
    let done = try mine.engine.acceptDeletions(in: shown.zoneID, ifVersion: now.version)
    #expect(done == DeletionOutcome(records: now.records))
  }

  @Test func `a later hold of the same records has another version`() async throws {
    try await share(8)
    try await delete(0..<6)
    try await mine.sync()
    let shown = try held
    _ = try mine.store.restoreDeletions(in: zone, ifVersion: shown.version, actor: "test")
    try await mine.sync()
    let gone = try mine.store.restoreDeletions(in: zone, ifVersion: shown.version, actor: "test")
    try await theirs.sync()
    try await delete(0..<6)

    try await mine.sync()

    #expect(gone == DeletionOutcome(hasMoved: true))
    #expect(try held.records == 6 && held.version != shown.version)
  }

  @Test(arguments: [true, false])
  func `deletions that join a decision of several transactions stay on hold, and it ends there`(_ accepts: Bool) throws
  {
    let writes = Mutex<(count: Int, store: SyncStore?)>((0, nil))
    let store = try world.open("slices") {
      let late: SyncStore? = writes.withLock { state in
        guard let store = state.store else { return nil }
        state.count += 1
        return state.count == 2 ? store : nil
      }
      try? late?.execute("UPDATE records SET epoch = -1 WHERE name = 'late'")
    }
    try store.write { [zone] ledger in
      try ledger.insertZone(zone, state: .ready)
      for name in ["late"] + (0..<600).map({ "r\($0)" }) {
        let record = MirrorRecord(key: RecordKey(zone, name), type: "Note", changeTag: "1", fields: ["x": .int64(1)])
        try ledger.put(record, epoch: 0)
        if name != "late" { try ledger.touch(record.key, epoch: MirrorRecord.gone) }
      }
      var known = try #require(try ledger.zone(zone))
      known.heldSince = 1
      try ledger.put(known)
    }
    writes.withLock { $0.store = store }
    defer { writes.withLock { $0.store = nil } }

    let outcome =
      accepts
      ? try store.acceptDeletions(in: zone, actor: "test")
      : try store.restoreDeletions(in: zone, actor: "test")

    #expect(outcome.records == 500 && outcome.hasMoved)
    #expect(outcome.onHold?.records == 101)
    #expect(try store.heldDeletions() == [outcome.onHold])
    #expect(try store.mirror("late") != nil)
  }

  @Test func `marking a record in a zone without a hold does not write the zone`() async throws {
    try await share(10)
    try await delete(0..<3)
    try await mine.sync()

    #expect(try mine.store.count("SELECT sum(heldNumber) FROM zones") == 0)
  }
}
