import CloudKit
import Testing

@testable import CloudSync

/// Which operations every storage offers for sending.
@Suite(.serialized) struct LedgerCandidateTests {
  private func write(_ body: (Ledger) throws -> Void) throws {
    try SQLiteStorage(inMemory: "store").write { ledger in
      for zone in [ZoneKey.one, .two] { try ledger.insertZone(zone, state: .ready) }
      try body(ledger)
    }
  }

  private func workload(
    _ ledger: Ledger,
    now: Int64 = 0,
    savesWait: Bool = false,
    order: [String] = [],
    limit: Int = 9
  ) throws -> StoredWorkload {
    let scope = try ledger.sendScope(now: now, savesWaitForApp: savesWait)
    return try StoredWorkload(scope, ledger.planFacts(), TypeOrder(order), window: limit, ledger)
  }

  /// The names of the free operations of a zone, as if it existed.
  private func free(
    _ ledger: Ledger,
    _ zone: ZoneKey = .one,
    now: Int64 = 0,
    savesWait: Bool = false,
    order: [String] = [],
    limit: Int = 9
  ) throws -> [String] {
    var scope = try ledger.sendScope(now: now, savesWaitForApp: savesWait)
    scope.missingZones = []
    let workload = try StoredWorkload(scope, ledger.planFacts(), TypeOrder(order), window: limit, ledger)
    return try names(ledger, workload.oldest(of: zone).free)
  }

  private func names(_ ledger: Ledger, _ candidates: [Candidate]) throws -> [String] {
    try candidates.map { candidate in
      let name = try ledger.operation(candidate.id)?.key.name ?? "?"
      return name.isEmpty ? "zone" : name
    }
  }

  @Test func `pending ones and those whose wait is over, oldest first`() throws {
    try write { ledger in
      let phases: [QueuedOperation.Phase] = [
        .pending, .inFlight(generation: 1, .save), .waiting(until: 50, isServersWait: false), .failed, .paused,
        .conflict(since: 1),
      ]
      for phase in phases {
        var operation = QueuedOperation.save("", phase: phase)
        operation.key.name = operation.state.rawValue
        _ = try ledger.insert(operation)
      }
      _ = try ledger.insert(.save("last"))

      #expect(try free(ledger, .one, now: 49) == ["pending", "last"])
      #expect(
        try free(ledger, .one, now: 50) == ["pending", "waiting", "last"]
      )
      #expect(try free(ledger, .one, now: 50, limit: 2) == ["pending", "waiting"])
    }
  }

  @Test func `nothing of a zone that waits, and no record of one that is to be deleted`() throws {
    try write { ledger in
      _ = try ledger.insert(.save("held"))
      _ = try ledger.insert(.save("with zone delete", in: .two))
      var deletion = QueuedOperation.save("", in: .two)
      deletion.kind = .zoneDelete
      let id = try ledger.insert(deletion)
      let wait = ScopeWait(scope: .zone(.one), until: 50, seconds: 1, code: "C", message: "m", isOwn: true, since: 0)
      try ledger.put(wait)
      try ledger.setState(.one, .unconfirmed)
      try ledger.setState(.two, .unconfirmed)

      #expect(try ledger.deletedZones() == [.two])
      #expect(try free(ledger, .one, now: 49) == [])
      #expect(try ledger.zoneOperations().map(\.id) == [id])
      #expect(try workload(ledger, now: 49).missingZones == [])
      #expect(try free(ledger, .one, now: 50) == ["held"])
      #expect(try workload(ledger, now: 50).missingZones == [.one])
    }
  }

  @Test func `a zone of whatever name waits, and no other for it`() throws {
    let zones = [
      ZoneKey(zone: "a:b/c%25"), ZoneKey(zone: "a:b/c%", owner: "b"), ZoneKey(zone: "\u{301}a"),
      ZoneKey(zone: "a:\u{301}", owner: "\u{FE0F}b"), ZoneKey(zone: "a'\"\\", owner: "1"), ZoneKey(zone: "1"),
    ]
    for held in zones {
      try write { ledger in
        for zone in zones {
          _ = try ledger.insert(.save("r", in: zone))
          try ledger.setState(zone, .unconfirmed)
        }
        try ledger.put(
          ScopeWait(scope: .zone(held), until: 50, seconds: 1, code: "C", message: "m", isOwn: true, since: 0)
        )
        for zone in zones {
          let found = try free(ledger, zone, now: 49)
          #expect(found == (zone == held ? [] : ["r"]), "\(zone) while \(held) waits")
        }
        let others = Set(zones.filter { $0 != held })
        #expect(try Set(workload(ledger, now: 49).missingZones) == others)
        for zone in zones { try ledger.setState(zone, .ready) }
        #expect(try Set(workload(ledger, now: 49).zones) == others)
        #expect(try Set(workload(ledger, now: 50).zones) == Set(zones))
        // As it was, for the next.
        try ledger.removeOperations(try ledger.operationIDs(matching: nil, now: 0))
        for zone in zones { try ledger.removeZone(zone) }
        try ledger.removeWait(.zone(held))
      }
    }
  }

  @Test func `read-backs apart, saves not where they are held, groups whole or not at all`() throws {
    try write { ledger in
      _ = try ledger.insert(.save("lost", doubt: .init(needsVerification: true)))
      var delete = QueuedOperation.save("delete")
      delete.kind = .delete
      _ = try ledger.insert(delete)
      for (name, phase) in [("g1", QueuedOperation.Phase.pending), ("g2", .paused)] {
        var member = QueuedOperation.save(name, phase: phase)
        member.group = "g"
        _ = try ledger.insert(member)
      }
      _ = try ledger.insert(.save("save"))

      #expect(try names(ledger, workload(ledger).toVerify) == ["lost"])
      #expect(try free(ledger) == ["delete", "save"])
      #expect(try free(ledger, .one, now: 0, savesWait: true) == ["delete"])

      var second = try #require(try ledger.operations(in: .paused).first)
      second.apply(.answered)
      try ledger.update(second)
      #expect(try free(ledger) == ["delete", "g1", "g2", "save"])
      #expect(try ledger.groupSize("g") == 2)
      #expect(try ledger.keys(inGroup: "g").map(\.name) == ["g1", "g2"])
      try ledger.join("g", to: "h")
      #expect(try ledger.groupSize("g") == 0)
      #expect(try ledger.groupSize("h") == 2)
    }
  }

  @Test func `in a declared order of types saves follow it, deletions go against it, and age comes after`()
    throws
  {
    try write { ledger in
      for (name, type, isDeletion) in [
        ("city", "City", false), ("old city", "City", true), ("other", "Other", false), ("country", "Country", false),
        ("old country", "Country", true), ("second city", "City", false),
      ] {
        var operation = QueuedOperation.save(name)
        operation.type = type
        if isDeletion { operation.kind = .delete }
        _ = try ledger.insert(operation)
      }
      let order = ["Country", "City"]

      let names = try free(ledger, order: order)
      #expect(names.filter { !$0.hasPrefix("old") } == ["country", "city", "second city", "other"])
      #expect(names.filter { $0.hasPrefix("old") } == ["old city", "old country"])
      #expect(try free(ledger, order: order, limit: 1) == ["country"])
    }
  }

  @Test func `what waits for something is found by what it waits for`() throws {
    try write { ledger in
      let parent = try ledger.insert(.save("parent"))
      let child = try ledger.insert(.save("child", referringTo: "parent"))
      _ = try ledger.insert(.save("grandchild", referringTo: "child"))

      #expect(try free(ledger, .one, now: 0) == ["parent"])
      #expect(try names(ledger, workload(ledger).waiting(for: [parent], in: .one)) == ["child"])
      #expect(try names(ledger, workload(ledger).waiting(for: [parent, child], in: .one)) == ["child", "grandchild"])
      #expect(try names(ledger, workload(ledger).waiting(for: [parent], in: .two)) == [])
      #expect(try names(ledger, ledger.cycle(closedBy: child).members) == ["parent"])
    }
  }

  @Test func `a group that waits for something outside of it is not free, one within itself is`() throws {
    try write { ledger in
      for (name, target, group) in [("a", "out", "g"), ("b", "b2", "h"), ("b2", "b2", "h"), ("out", "b", nil)] {
        var operation = QueuedOperation.save(name, referringTo: target)
        operation.group = group
        _ = try ledger.insert(operation)
      }

      #expect(try free(ledger, .one, now: 0) == ["b", "b2"])
      #expect(try names(ledger, workload(ledger).readyMembers(of: "h")) == ["b", "b2"])
      #expect(try names(ledger, ledger.cycle(closedBy: 1).members) == ["b", "b2", "out"])
      #expect(try names(ledger, ledger.cycle(closedBy: 2).members) == ["b", "b2"])
    }
  }

  @Test func `zones have their turn by the last request that went to them`() throws {
    try write { ledger in
      for (name, zone) in [("a", ZoneKey.one), ("b", .two)] {
        _ = try ledger.insert(.save(name, in: zone, bisection: zone == .two ? .send(request: 7) : nil))
      }
      let turns = { try workload(ledger, now: 0).zones }

      #expect(try turns() == [.one, .two])
      try ledger.noteServed(.one)
      #expect(try turns() == [.two, .one])
      try ledger.noteServed(.two)
      #expect(try turns() == [.one, .two])
      #expect(try ledger.turn() == 2)
      #expect(try workload(ledger, now: 0, savesWait: true).zones == [])
      #expect(try names(ledger, workload(ledger).bisected(of: .one)) == [])
      #expect(try names(ledger, workload(ledger).bisected(of: .two)) == ["b"])
      #expect(try ledger.operations(of: .two, in: .send(request: 7)).map(\.key.name) == ["b"])
    }
  }
}
