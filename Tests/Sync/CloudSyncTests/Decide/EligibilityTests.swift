import CloudKit
import Facts
import Testing

@testable import CloudSync

/// Whether a change may go, and why not: one rule for the planner, the lists and the status.
@Suite(.serialized) struct EligibilityTests {
  private static let zone = ZoneKey(zone: "notes")

  /// Everything that can hold a change back, in the order in which it is shown.
  private enum Reason: CaseIterable {
    case paused, inCycle, blocked, zoneDelete, zoneHold, gone, app, group, throttled, backOff, missingZone, upload

    func apply(to change: inout Candidate, _ scope: inout SendScope) {
      switch self {
      case .paused: scope.pauses = [Pause(rule: .type("Note"), at: 0, actor: "ana")]
      case .inCycle: (change.blockers, change.cycleObstacle) = ([7], .size)
      case .blocked: change.blockers = [7]
      case .zoneDelete: scope.zoneDeletes = [zone: 8]
      case .zoneHold: scope.heldZones = [zone: true]
      case .gone: change.isGone = true
      case .group: (change.group, change.holders) = ("g", [9])
      case .app: scope.savesWaitForApp = true
      case .throttled:
        scope.waits[.zone(zone)] = ScopeWait(
          scope: .zone(zone),
          until: 70,
          seconds: 1,
          code: "THROTTLED",
          message: "",
          isOwn: false,
          since: 0
        )
      case .backOff: (change.state, change.nextAttemptAt) = (.waiting, 60)
      case .missingZone: scope.missingZones = [zone]
      case .upload: change.needsUpload = true
      }
    }

    var eligibility: Eligibility {
      switch self {
      case .paused: .waits(.pausedByRule(.type("Note"), by: "ana"))
      case .inCycle: .waits(.inCycle([7], .size))
      case .blocked: .waits(.waitsFor([7], isGroup: false))
      case .zoneDelete: .waits(.waitsForZoneDelete(8))
      case .zoneHold: .waits(.deletionsOnHold(zone: "notes", isWholeZone: true))
      case .gone: .waits(.recordDeletedWhileFetching)
      case .group: .waits(.waitsFor([9], isGroup: true))
      case .app: .waits(.waitsForApp)
      case .throttled: .at(70, .waits(.zone("notes"), code: "THROTTLED", until: 70))
      case .backOff: .at(60, nil)
      case .missingZone: .waits(.zoneFirst(zone: "notes"))
      case .upload: .waits(.filesFirst)
      }
    }
  }

  private static let combinations = (0..<(1 << Reason.allCases.count)).map { set in
    Reason.allCases.enumerated().filter { set & (1 << $0.offset) != 0 }.map(\.element)
  }

  private let save = Candidate(id: 1, kind: .save, zone: zone, type: "Note", bytes: 1)

  @Test func `of all combinations of reasons the first is shown, and only a change without one goes`() {
    for reasons in Self.combinations {
      var (change, scope) = (save, SendScope(now: 50))
      for reason in reasons { reason.apply(to: &change, &scope) }
      #expect(scope.eligibility(of: change) == reasons.first?.eligibility ?? .now, "\(reasons)")
    }
  }

  @Test func `for all combinations of reasons the planner sends exactly the changes that may go`() throws {
    // In a plan of this one change nothing unblocks it.
    for reasons in Self.combinations {
      var (change, workload) = (save, SampleWorkload())
      workload.scope.now = 50
      for reason in reasons { reason.apply(to: &change, &workload.scope) }
      workload.candidates = [change]
      // A member that is held is not among the candidates of its group.
      if let group = change.group { workload.groupSizes[group] = 1 + change.holders.count }

      let isSent = workload.step() == .send(Self.zone, [1], atomic: change.group != nil)

      #expect(isSent == (workload.scope.eligibility(of: change) == .now), "\(reasons)")
    }
  }

  @Test(arguments: OperationState.allCases)
  func `only a pending or waiting change goes, others tell why themselves`(state: OperationState) {
    var change = save
    change.state = state
    let goes = state == .pending || state == .waiting
    #expect(SendScope(now: 50).eligibility(of: change) == (goes ? .now : .waits(nil)))
  }

  @Test func `a check waits for no other change, no app, no quota and no upload`() {
    for reason in [Reason.blocked, .inCycle, .group, .app, .missingZone, .upload] {
      var (change, scope) = (save, SendScope(now: 50))
      change.needsCheck = true
      reason.apply(to: &change, &scope)
      #expect(scope.eligibility(of: change) == .now, "\(reason)")
    }
    for reason in [Reason.paused, .zoneDelete, .zoneHold, .gone, .throttled, .backOff] {
      var (change, scope) = (save, SendScope(now: 50))
      change.needsCheck = true
      reason.apply(to: &change, &scope)
      #expect(scope.eligibility(of: change) == reason.eligibility, "\(reason)")
    }
  }

  @Test func `the longer of two waits counts, and a wait that is over does not`() {
    var (change, scope) = (save, SendScope(now: 50))
    Reason.throttled.apply(to: &change, &scope)
    (change.state, change.nextAttemptAt) = (.waiting, 80)
    #expect(scope.eligibility(of: change) == .at(80, nil))
    scope.now = 75
    change.nextAttemptAt = 74
    #expect(scope.eligibility(of: change) == .now)
  }
}

/// The reasons that a list shows for changes that the engine has to prepare.
struct PreparationTests {
  private let world: World
  private let store: SyncStore

  init() throws {
    world = try World()
    store = try world.open("store")
  }

  private func causes() throws -> [String: Cause] {
    try store.operations().rows.reduce(into: [:]) { $0[$1.key.name] = $1.cause }
  }

  @Test func `a change of a zone that does not exist yet shows that the zone is created first`() throws {
    let id = try store.accept(world.put("a", [:]))
    let zone = world.scope.zoneForChangesWithoutOne.zone
    #expect(try causes() == ["a": .zoneFirst(zone: zone)])
    #expect(try store.detail(of: id)?.operation?.cause == .zoneFirst(zone: zone))
  }

  private func link(_ name: String, zone: String? = nil) -> FieldValue {
    let zone = zone.map { WireZoneID(zoneName: $0) }
    return .reference(WireReference(recordName: name, zoneID: zone, action: "VALIDATE"))
  }

  /// Notes what blocks an operation, as the engine does.
  private func note(_ id: Int64) throws {
    try store.execute("UPDATE zones SET state = 'ready'")
    try store.write { try $0.noteBlocker(of: id) }
  }

  @Test func `of a cycle that can be sent one change is ready, the others wait for what they refer to`() throws {
    let first = try store.accept(world.put("a", ["next": link("b")]))
    try store.accept(world.put("b", ["next": link("a")]))
    try store.accept(world.put("c", ["next": link("a")]))
    try note(first)
    let behind = Cause.waitsFor([first], isGroup: false, names: ["Note/a"])
    #expect(try causes() == ["a": .ready, "b": behind, "c": behind])
  }

  @Test func `a cycle that one change holds shows which one`() throws {
    let first = try store.accept(world.put("a", ["next": link("b")]))
    let second = try store.accept(world.put("b", ["next": link("c")]))
    let third = try store.accept(world.put("c", ["next": link("a")]))
    for id in [first, second, third] { try note(id) }
    _ = try store.perform(.pause, on: .ids([first]), actor: "ana")
    #expect(try causes()["b"] == .waitsFor([first], isGroup: false, names: ["Note/a"]))
  }

  @Test func `a cycle across zones shows that no request can hold it`() throws {
    let first = try store.accept(world.put("a", zone: "one", ["next": link("b", zone: "two")]))
    let second = try store.accept(world.put("b", zone: "two", ["next": link("a", zone: "one")]))
    try note(first)
    #expect(try causes()["a"] == .inCycle([second], .zones, names: ["Note/b"]))
    #expect(try causes()["b"] == .waitsFor([first], isGroup: false, names: ["Note/a"]))
    try store.execute("UPDATE zones SET state = 'ready'")
    #expect(try store.plan() == .rest(until: nil))
  }

  @Test func `a cycle that is too large for a request shows that`() throws {
    _ = try store.enqueue((0..<450).map { world.put("r\($0)", ["next": link("r\(($0 + 1) % 450)")]) })
    let closers: [Int64] = try store.write { ledger in
      for id in try ledger.operationIDs(matching: nil, now: 0) { try ledger.noteBlocker(of: id) }
      return try ledger.all("SELECT id FROM operations WHERE waitsFor = id")
    }
    let closer = try #require(closers.first)
    let cause = try store.detail(of: closer)?.operation?.cause
    guard case .inCycle(_, .size, _)? = cause, closers.count == 1 else { return #expect(cause == nil) }
    try store.execute("UPDATE zones SET state = 'ready'")
    #expect(try store.plan() == .rest(until: nil))
  }

  @Test func `a change with a file that was not uploaded shows that`() throws {
    try store.accept(world.put("a", [:]))
    try store.execute("UPDATE zones SET state = 'ready'")
    try store.execute("UPDATE operations SET needsUpload = 1")
    #expect(try causes() == ["a": .filesFirst])
  }
}
