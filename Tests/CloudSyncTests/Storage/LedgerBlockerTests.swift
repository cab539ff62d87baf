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

  @Test func `a chain has no cycle to look for, in whatever order it was enqueued`() throws {
    try store().write { ledger in
      for number in 0..<20 { _ = try ledger.insert(.save("down \(number)", referringTo: "down \(number - 1)")) }
      for number in 0..<20 { _ = try ledger.insert(.save("up \(number)", referringTo: "up \(number + 1)")) }
      for id in try ledger.operationIDs(matching: nil, now: 0) { try ledger.noteBlocker(of: id) }
      while try ledger.planFacts().hasCycleChecks { try ledger.checkCycles(limit: 7) }
      #expect(try ledger.cycles() == [])
    }
  }

  @Test(arguments: [2, 3, 50]) func `a cycle is found however few notes are followed at once`(_ length: Int) throws {
    try store().write { ledger in
      for number in 0..<length {
        _ = try ledger.insert(.save("\(number)", referringTo: "\((number + 1) % length)"))
      }
      // Others lead to it and are in none.
      _ = try ledger.insert(.save("other", referringTo: "0"))
      _ = try ledger.insert(.save("another", referringTo: "other"))
      for id in try ledger.operationIDs(matching: nil, now: 0) { try ledger.noteBlocker(of: id) }
      while try ledger.planFacts().hasCycleChecks { try ledger.checkCycles(limit: 4) }

      let cycles = try ledger.cycles()
      #expect(!cycles.isEmpty && cycles.allSatisfy { $0 <= length })
    }
  }

  // MARK: - Any queue at all

  private func randomOperation(_ random: inout SplitMix64, named name: String, of count: UInt64) -> QueuedOperation {
    var operation = QueuedOperation.save(name, in: name.hasSuffix("0") ? .two : .one)
    var values: [String: FieldValue] = [:]
    for field in 0..<(random.next() % 3) {
      let target = String(random.next() % count)
      values["link \(field)"] = .reference(
        WireReference(
          recordName: target,
          zoneID: WireZoneID(zoneName: target.hasSuffix("0") ? "two" : "one"),
          action: random.next() % 5 == 0 ? "NONE" : "VALIDATE"
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
        #expect(try ledger.blockers(of: id).contains(noted))
      }
    }
    var steps = 0
    loop: while steps < 2000 {
      steps += 1
      let step = try store.plan()
      try store.write { ledger in
        switch step {
        case .noteBlockers(let ids):
          for id in ids { try ledger.noteBlocker(of: id) }
          try SyncStore.renewNotes(ledger)
        case .send(_, let ids, _, let deferring):
          for var operation in try ledger.operations(ids) {
            guard let later = deferring[operation.id] else {
              try ledger.removeOperations([operation.id])
              continue
            }
            // As after a request without these links: the record exists, they remain to be sent.
            let keys = try Set(ledger.operations(Array(later)).map(\.key))
            operation.baseTag = "tag"
            if operation.kind == .save {
              operation.changes = FieldChanges(
                values: operation.changes.values.filter {
                  !keys.isDisjoint(with: $0.value.targets(in: operation.key.zoneKey))
                }
              )
            }
            operation.kind = .save
            operation.base = [:]
            try ledger.update(operation)
          }
        default: steps = .max
        }
      }
    }
    #expect(steps == .max)
    try store.read { ledger in
      let (left, stuck) = (Set(try ledger.operationIDs(matching: nil, now: 0)), try stuck(ledger))
      #expect(left == stuck)
    }
  }
}
