import CloudKit
import CloudKitEmulator
import Facts
import GRDB
import JSONText
import Synchronization
import Testing

@testable import CloudSync

/// Work on whole zones with many records and changes.
@Suite(.serialized) struct LargeZoneTests {
  private let world: World
  private let store: SyncStore
  private let zone: ZoneKey

  init() throws {
    world = try World()
    store = try world.open("store")
    zone = store.scope.zoneForChangesWithoutOne
    try store.write { [zone] in try $0.insertZone(zone, state: .ready) }
  }

  /// Puts records into the mirror: `r1` and so on.
  private func mirror(_ count: Int, epoch: Int = 0) throws {
    try store.execute(
      """
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
      INSERT INTO records(zone, owner, name, type, changeTag, fields, epoch)
        SELECT ?, ?, 'r' || n, 'Note', '1', ?, ? FROM numbers
      """,
      [count, zone.zone, zone.owner, try JSONColumn.text(["x": FieldValue.int64(1)]), epoch]
    )
  }

  private func whileSyncing<Value>(_ body: (Lease) throws -> Value) throws -> Value {
    let lease = try #require(try Lease.acquire(store))
    defer { lease.release(store) }
    return try body(lease)
  }

  @Test func `a zone delete comes first, and ends 1,200 older changes in three transactions`() throws {
    try store.fill(1200)
    let transactions = try Transactions.of(store)
    #expect(try store.queuedChanges(in: zone) == 1200)

    let accepted = try store.enqueueZoneDeletion(zone)

    #expect(accepted == .enqueued(1201))
    #expect(transactions.rows == [501, 500, 200])
    #expect(try store.queue() == ["zoneDelete  pending"] && store.queuedChanges(in: zone) == 0)
    #expect(try store.count("SELECT count(*) FROM dropped") == 1200)
  }

  @Test func `a zone delete that a crash interrupts still supersedes the older changes, and not the later ones`()
    async throws
  {
    let mine = try world.device("store")
    try store.fill(1200)
    try store.execute(
      "CREATE TRIGGER crash BEFORE DELETE ON operations WHEN old.id > 700 BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    #expect(throws: StoreError.self) { try store.enqueueZoneDeletion(zone) }
    try store.execute("DROP TRIGGER crash")
    #expect(try store.queuedChanges(in: zone) == 700)
    let later = try store.accept(world.put("r900", ["y": .int64(2)]))

    try await mine.sync()

    #expect(later > 1201)
    #expect(try store.queue() == [])
    #expect(world.onServer("r900") == ["y": .int64(2)])
    #expect(world.onServer("r901") == nil)
    #expect(try store.count("SELECT count(*) FROM dropped") == 1200)
    #expect(mine.transport.count("records/modify") == 1)
  }

  @Test func `what a killed zone delete left is ended by the next sync, even if nothing may be sent`() async throws {
    let mine = try world.device("store")
    try store.fill(1200)
    try store.execute(
      "CREATE TRIGGER crash BEFORE DELETE ON operations WHEN old.id > 700 BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    #expect(throws: StoreError.self) { try store.enqueueZoneDeletion(zone) }
    try store.execute("DROP TRIGGER crash")
    try store.pause(.everything, actor: "ana")

    try await mine.sync()

    #expect(try store.queue() == ["zoneDelete  pending"])
    #expect(try store.count("SELECT count(*) FROM dropped") == 1200)
  }

  @Test func `a change planned before a zone delete is not sent behind it`() throws {
    try store.fill(2)
    _ = try store.enqueueZoneDeletion(zone)
    let later = try store.accept(world.put("later", [:]))

    try store.execute("UPDATE zones SET state = 'ready'")
    #expect(try whileSyncing { try store.begin([later], $0) } == [])
  }

  @Test func `the deletion of a zone with 1,200 records and 1,200 later changes is acknowledged in slices`()
    async throws
  {
    let mine = try world.device("store")
    try mirror(1200)
    let delete = try #require(try store.enqueueZoneDeletion(zone).id)
    try store.fill(1200, "paused")
    try store.execute("UPDATE operations SET baseTag = '1' WHERE state = 'paused'")
    let (operations, records) = (try Transactions.of(store), try Transactions.of(store, on: "records"))

    try await mine.sync()

    #expect(try store.history(limit: 9).map(\.id) == [delete])
    #expect(records.isBounded && records.rows.reduce(0, +) == 1200)
    #expect(operations.isBounded)
    #expect(try store.count("SELECT count(*) FROM operations WHERE baseTag IS NULL") == 1200)
    #expect(try store.read { try $0.zone(zone)?.state } == .unconfirmed)
  }

  @Test func `a deleted zone with 1,200 records is put on hold and accepted in slices`() throws {
    try mirror(1200)
    try store.fill(1300)
    try store.execute("UPDATE operations SET baseTag = '1' WHERE id <= 700")
    let (operations, records) = (try Transactions.of(store), try Transactions.of(store, on: "records"))

    let lost = try whileSyncing {
      try store.zoneIsGone(zone, policy: MergePolicy(.server, deletionGuard: DeletionGuard()), $0)
    }
    #expect(lost == 0)
    #expect(records.rows == [300, 500, 400])
    #expect(try store.heldDeletions().map(\.records) == [1200])
    let outcome = try store.acceptDeletions(in: zone, actor: "ana")

    #expect(outcome == DeletionOutcome(records: 1200))
    // With each record that goes, its operation is marked.
    #expect(records.isBounded && operations.isBounded)
    #expect(try store.read { try $0.operationCount(in: .failed) } == 1300)
    #expect(try store.operation(1).baseTag == nil)
    #expect(try store.records(mirrorOnly: true).total == 0)
    #expect(try store.events(limit: 2000).count { $0.event == .zoneDeleted(zone: zone.zone) } == 1)
  }

  @Test func `without a guard a deleted zone with 1,200 records is removed in slices`() throws {
    try mirror(1200)
    try store.accept(world.put("r1", ["y": .int64(2)]))
    let records = try Transactions.of(store, on: "records")

    let lost = try whileSyncing { try store.zoneIsGone(zone, policy: MergePolicy(.server), $0) }

    #expect(lost == 1200)
    #expect(records.isBounded && records.rows.reduce(0, +) == 1200)
    #expect(try store.operation(1).changes.values == ["x": .int64(1), "y": .int64(2)])
  }

  @Test(arguments: [false, true])
  func `a reply that its zone is gone writes few rows at once, and saves are accepted in between`(isGuarded: Bool)
    throws
  {
    // Another process saves before each of this one's transactions.
    let other = try world.open("store")
    let isOpen = Mutex(false)
    let saved = Mutex(0)
    let mine = try world.open("store") { [world] in
      guard isOpen.withLock(\.self), (try? other.read { try $0.hasChores() }) == true else { return }
      let number = saved.withLock {
        $0 += 1
        return $0
      }
      do { try other.accept(world.put("new\(number)", ["x": .int64(1)])) } catch { Issue.record(error) }
    }
    try mirror(1200)
    try mine.write { try $0.markCreatedHere(zone) }
    try store.fill(700)
    try store.execute("UPDATE operations SET baseTag = '1'")
    let lease = try #require(try Lease.acquire(mine))
    defer { lease.release(mine) }
    let sent = try mine.begin(Array(1...200), lease)
    let error = WebServicesError(.zoneNotFound, "no")
    let outcomes = Dictionary(uniqueKeysWithValues: sent.map { ($0.id, Outcome.failed(error, .zoneMissing)) })
    let (operations, records) = (try Transactions.of(mine), try Transactions.of(mine, on: "records"))

    isOpen.withLock { $0 = true }
    let policy = MergePolicy(.server, deletionGuard: isGuarded ? DeletionGuard() : nil)
    _ = try mine.finish(sent, outcomes, seconds: 0, policy: policy, random: 0, lease)
    isOpen.withLock { $0 = false }

    let accepted = saved.withLock(\.self)
    #expect(sent.count == 200)
    #expect(accepted >= 2)
    #expect(records.isBounded && operations.isBounded)
    #expect(records.rows.reduce(0, +) == 1200)
    #expect(try store.heldDeletions().map(\.records) == (isGuarded ? [1200] : []))
    #expect(try store.queuedChanges(in: zone) == 700 + accepted)
    // What was queued recreates its record; what came meanwhile is new.
    let recreated = isGuarded ? 0 : 700
    #expect(try store.count("SELECT count(*) FROM operations WHERE baseTag IS NULL") == recreated + accepted)
  }

  @Test func `1,200 deletions found by a full scan are applied in slices`() throws {
    try mirror(1200, epoch: -1)
    let records = try Transactions.of(store, on: "records")

    let deleted = try whileSyncing { try store.concludeFullScans(of: zone, policy: MergePolicy(.server), $0) }

    #expect(deleted == 1200)
    #expect(records.rows == [500, 500, 200])
  }

  @Test func `records that a full fetch of a large zone did not see are marked in slices, and the token comes last`()
    throws
  {
    try mirror(1200)
    let records = try Transactions.of(store, on: "records")
    let text = #"{"zoneID": {"zoneName": "\#(zone.zone)"}, "syncToken": "next"}"#
    guard case .item(let page) = try WireResult<WireZoneChanges>(json: Data(text.utf8)) else {
      return #expect(Bool(false))
    }

    let effect = try whileSyncing { lease in
      _ = try store.startFetch(zone, lease)
      return try store.apply(page, to: zone, since: nil, policy: MergePolicy(.server), lease)
    }

    #expect(effect.deleted == 1200)
    #expect(records.rows == [500, 500, 200, 500, 500, 200])
    #expect(try store.read { try $0.zone(zone)?.token } == "next")
  }

  @Test func `a zone that is still to be emptied is not fetched, and its app hears of it after its records`() throws {
    try mirror(1200)
    try store.write { try $0.setValue(.deliveriesAskedAt, 1) }
    try store.execute(
      "CREATE TRIGGER crash BEFORE DELETE ON records WHEN old.name = 'r700' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    #expect(throws: StoreError.self) {
      try whileSyncing { try store.zoneIsGone(zone, policy: MergePolicy(.server), $0) }
    }
    try store.execute("DROP TRIGGER crash")
    #expect(try store.status().verdict(hasCredential: true).kind == .notSyncing)
    // Another device creates it again.
    try store.write { try $0.needsFetch(zone) }
    #expect(try store.read { try $0.hasZoneDelete(zone) } && store.zonesToFetch() == [])
    let scope = try store.read { try $0.sendScope(now: 0, savesWaitForApp: false) }
    #expect(scope.emptiedZones == [zone])

    try whileSyncing { try store.finishChores($0) }

    #expect(try !store.status().hasChores && store.zonesToFetch() == [zone])
    #expect(try store.count("SELECT count(*) FROM records") == 0)
    #expect(
      try store.count("SELECT count(*) FROM deliveries WHERE number < (SELECT number FROM deliveries WHERE name = '')")
        == 1200
    )
  }

  @Test func `a conflict stays where its zone cannot be created`() throws {
    try store.fill(2)
    try store.execute("UPDATE operations SET state = 'conflict', conflictAt = 1 WHERE id = 1")
    try store.write { try $0.setState(zone, .unconfirmed) }
    let refusal = WireResult<WireZone>.failure(WireZoneID(zoneName: zone.zone), WebServicesError(.badRequest, "no"))

    try whileSyncing { try store.zonesMade([zone], [refusal], random: 0, $0) }

    #expect(try store.queue() == ["save r1 conflict", "save r2 failed"])
  }

  @Test func `the changes of a zone that cannot be created fail in slices`() throws {
    try store.fill(1200)
    try store.write { try $0.setState(zone, .unconfirmed) }
    let transactions = try Transactions.of(store)
    let refusal = WireResult<WireZone>.failure(WireZoneID(zoneName: zone.zone), WebServicesError(.badRequest, "no"))

    try whileSyncing { try store.zonesMade([zone], [refusal], random: 0, $0) }

    #expect(transactions.rows == [500, 500, 200])
    #expect(try store.read { try $0.operationCount(in: .failed) } == 1200)
  }

  @Test func `of deletions on hold, those with edits and those with files are counted`() throws {
    try mirror(4, epoch: -1)
    try store.fill(3)
    try store.execute("UPDATE operations SET operation = 'delete' WHERE name = 'r3'")
    let file = FieldValue.asset(WireAsset(fileChecksum: "c", size: 1))
    try store.write { ledger in
      for (name, value) in [("r1", file), ("r2", FieldValue.string("ASSETID"))] {
        let record = MirrorRecord(key: RecordKey(zone, name), type: "Note", changeTag: "1", fields: ["f": value])
        try ledger.put(record, epoch: -1)
      }
    }

    let held = HeldDeletions(zone: zone, version: "v", records: 4, isWholeZone: false, since: world.clock.date)
    let contents = try store.heldContents(of: held)

    #expect(contents.edits == 2 && contents.withFiles == 1)
    #expect(try store.countToRestore(in: zone) == 3)
  }
}

extension Transactions {
  fileprivate var isBounded: Bool { !rows.isEmpty && rows.allSatisfy { $0 <= 500 } }
}

extension Accepted {
  fileprivate var id: Int64? { if case .enqueued(let id) = self { id } else { nil } }
}
