import CloudKit
import GRDB
import TestSupport
import Testing

@testable import CloudSync

/// The notes of which operation waits for which other one.
@Suite(.serialized) struct LedgerBlockerTests {
  private func store() throws -> SyncStore {
    let storage = try SQLiteStorage(inMemory: "store")
    let scope = SyncStore.Scope(container: "iCloud.test", environment: "development", database: .private)
    return try SyncStore(storage, scope: scope, now: { 1000 })
  }

  private func waitsFor(_ id: Int64, _ ledger: Ledger) throws -> Int64? {
    try ledger.one("SELECT waitsFor FROM operations WHERE id = ?", [id])
  }

  /// The operations that are noted to wait for themselves.
  private func closers(_ ledger: Ledger) throws -> [Int64] {
    try ledger.all("SELECT id FROM operations WHERE waitsFor = id")
  }

  /// Follows the steps of the plan as if every request succeeded.
  ///
  /// - Returns: whether the plan came to a rest.
  private func sendAll(_ store: SyncStore) throws -> Bool {
    for _ in 0..<2000 {
      let step = try store.plan()
      switch step {
      case .noteBlockers(let ids):
        try store.write { ledger in
          for id in ids { try ledger.noteBlocker(of: id) }
          try SyncStore.renewNotes(ledger)
        }
      case .send(_, let ids, _, _): try store.write { try $0.removeOperations(ids) }
      default: return true
      }
    }
    return false
  }

  private func renewNotes(_ ledger: Ledger) throws {
    while try ledger.planFacts().hasEndedBlockers { try ledger.noteEndedBlockers(limit: 3) }
  }

  @Test func `a child is noted to wait for its parent, until the parent is on the server`() throws {
    try store().write { ledger in
      let parent = try ledger.insert(.save("parent"))
      let child = try ledger.insert(.save("child", referringTo: "parent"))
      #expect(try waitsFor(child, ledger) == parent)

      try ledger.removeOperations([parent])
      #expect(try ledger.planFacts().hasEndedBlockers)
      try renewNotes(ledger)
      #expect(try waitsFor(child, ledger) == nil)
    }
  }

  @Test func `a parent's many children are looked at a few at a time`() throws {
    try store().write { ledger in
      let parent = try ledger.insert(.save("parent"))
      for number in 0..<10 { _ = try ledger.insert(.save("child \(number)", referringTo: "parent")) }
      try ledger.removeOperations([parent])

      var looks = 0
      while try ledger.planFacts().hasEndedBlockers {
        try ledger.noteEndedBlockers(limit: 4)
        looks += 1
      }
      #expect(looks == 3)
      #expect(try ledger.all("SELECT id FROM operations WHERE waitsFor IS NOT NULL") as [Int64] == [])
    }
  }

  @Test func `a chain has no cycle, in whatever order it was enqueued`() throws {
    try store().write { ledger in
      for number in 0..<20 { _ = try ledger.insert(.save("down \(number)", referringTo: "down \(number - 1)")) }
      for number in 0..<20 { _ = try ledger.insert(.save("up \(number)", referringTo: "up \(number + 1)")) }
      for id in try ledger.operationIDs(matching: nil, now: 0) { try ledger.noteBlocker(of: id) }
      #expect(try closers(ledger) == [])
    }
  }

  @Test(arguments: [2, 3, 50, 900]) func `of a cycle one operation is noted to wait for itself`(_ length: Int) throws {
    try store().write { ledger in
      for number in 0..<length {
        _ = try ledger.insert(.save("\(number)", referringTo: "\((number + 1) % length)"))
      }
      // Others lead to it and are in none.
      _ = try ledger.insert(.save("other", referringTo: "0"))
      _ = try ledger.insert(.save("another", referringTo: "other"))
      for id in try ledger.operationIDs(matching: nil, now: 0) { try ledger.noteBlocker(of: id) }

      let closers = try closers(ledger)
      #expect(closers.count == 1 && closers.allSatisfy { $0 <= length })
    }
  }

  @Test func `a cycle that an edit opens goes in order`() throws {
    let store = try store()
    try store.write { ledger in
      try ledger.insertZone(.one, state: .ready)
      for number in 0..<3 { _ = try ledger.insert(.save("\(number)", referringTo: "\((number + 1) % 3)")) }
      for id in try ledger.operationIDs(matching: nil, now: 0) { try ledger.noteBlocker(of: id) }
      #expect(try closers(ledger).count == 1)
      var edited = try #require(try ledger.operation(for: RecordKey(.one, "1")))
      edited.changes = FieldChanges()
      try ledger.update(edited)
    }

    #expect(try sendAll(store))
    #expect(try store.read { try $0.operationIDs(matching: nil, now: 0) } == [])
  }

  @Test func `a cycle that is closed when a change joins a group is found`() throws {
    let store = try store()
    try store.write { ledger in
      try ledger.insertZone(.one, state: .ready)
      _ = try ledger.insert(.save("a"))
      _ = try ledger.insert(.save("b", referringTo: "a"))
      var member = QueuedOperation.save("c", referringTo: "b")
      member.group = "g"
      _ = try ledger.insert(member)
      var joined = try #require(try ledger.operation(for: RecordKey(.one, "a")))
      joined.group = "g"
      try ledger.update(joined)
    }

    #expect(try sendAll(store))
    #expect(try store.read { try $0.operationIDs(matching: nil, now: 0) } == [])
  }

  // MARK: - Any queue at all

  private func randomOperation(_ random: inout SplitMix64, named name: String, of count: UInt64) -> QueuedOperation {
    var operation = QueuedOperation.save(name, in: name.hasSuffix("0") ? .two : .one)
    var values: [String: FieldValue] = [:]
    for field in 0..<(random.next() % 3) {
      let target = String(random.next() % count)
      let isElsewhere = target.hasSuffix("0") != name.hasSuffix("0")
      values["link \(field)"] = .reference(
        WireReference(
          recordName: target,
          zoneID: WireZoneID(zoneName: target.hasSuffix("0") ? "two" : "one"),
          // No request holds a cycle across zones.
          action: isElsewhere || random.next() % 5 == 0 ? "NONE" : "VALIDATE"
        )
      )
    }
    operation.changes = FieldChanges(values: values)
    if random.next() % 6 == 0 {
      (operation.kind, operation.base, operation.changes) = (.delete, operation.changes.values, FieldChanges())
      operation.baseTag = "tag"
    }
    if random.next() % 3 == 0 { operation.group = "\(operation.key.zone) \(random.next() % 3)" }
    if random.next() % 9 == 0 { operation.apply(.failed(.refusedByApp("no"))) }
    return operation
  }

  /// Operations that can never be sent: failed ones, and those that wait for them.
  private func stuck(_ ledger: Ledger) throws -> Set<Int64> {
    let all = try ledger.operations(ledger.operationIDs(matching: nil, now: 0))
    var stuck = Set(all.filter { $0.state == .failed }.map(\.id))
    while true {
      let groups = Set(all.filter { stuck.contains($0.id) }.compactMap(\.group))
      let more = try all.filter { operation in
        try !stuck.contains(operation.id)
          && (!stuck.isDisjoint(with: ledger.blockers(of: operation.id))
            || operation.group.map(groups.contains) == true)
      }
      if more.isEmpty { return stuck }
      stuck.formUnion(more.map(\.id))
    }
  }

  @Test(arguments: 0..<80 as Range<UInt64>)
  func `after any edits the notes are true, and everything is sent that nothing holds`(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let count = 2 + random.next() % 60
    let store = try store()
    try store.write { ledger in
      for zone in [ZoneKey.one, .two] { try ledger.insertZone(zone, state: .ready) }
      for _ in 0..<(4 * count) {
        let name = String(random.next() % count)
        var operation = randomOperation(&random, named: name, of: count)
        if let known = try ledger.operation(for: operation.key) {
          operation.id = known.id
          if random.next() % 4 == 0 { try ledger.removeOperations([known.id]) } else { try ledger.update(operation) }
        } else {
          _ = try ledger.insert(operation)
        }
      }
      try renewNotes(ledger)
      for id in try ledger.operationIDs(matching: nil, now: 0) {
        guard let noted = try waitsFor(id, ledger) else { continue }
        #expect(try noted == id || ledger.blockers(of: id).contains(noted))
      }
    }
    #expect(try sendAll(store))
    try store.read { ledger in
      let (left, stuck) = (Set(try ledger.operationIDs(matching: nil, now: 0)), try stuck(ledger))
      #expect(left == stuck)
    }
  }
}
