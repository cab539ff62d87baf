import CloudKit
import Testing

@testable import CloudSync

@Suite(.serialized) struct PlannerTests: PlanningTests {
  private func delete(_ id: Int64, after blockers: Set<Int64> = []) -> Candidate {
    Candidate(id: id, kind: .delete, zone: zone, bytes: 200, blockers: blockers)
  }

  @Test func `an empty queue rests without end`() {
    #expect(plan([]) == .rest(until: nil))
  }

  @Test func `what waits for nothing goes oldest first`() {
    #expect(plan([save(1), delete(2), save(3)]) == .send(zone, [1, 2, 3], atomic: false))
  }

  @Test func `parents go before their children in one request`() {
    let candidates = [save(3), save(2, after: [3]), save(1, after: [2])]

    #expect(plan(candidates) == .send(zone, [3, 2, 1], atomic: false))
  }

  @Test func `a delete goes after the deletes of what referred to it`() {
    let candidates = [delete(2), delete(3), delete(1, after: [2, 3])]

    #expect(plan(candidates) == .send(zone, [2, 3, 1], atomic: false))
  }

  @Test func `a child whose parent is not ready stays, its neighbours go`() {
    #expect(plan([save(1), save(2, after: [99])]) == .send(zone, [1], atomic: false))
    #expect(plan([save(2, after: [99])]) == .rest(until: nil))
  }

  @Test func `a request holds 200 operations`() {
    let candidates = (1...450).map { save($0) }

    #expect(plan(candidates) == .send(zone, Array(1...200), atomic: false))
    #expect(plan(candidates, limit: 50) == .send(zone, Array(1...50), atomic: false))
    #expect(Planner(operationLimit: 0).operationLimit == 1)
    #expect(Planner(operationLimit: 999).operationLimit == 200)
  }

  @Test func `a chain longer than a request goes in order`() {
    let candidates = (1...300).map { save($0, after: $0 == 1 ? [] : [$0 - 1]) }

    #expect(plan(candidates) == .send(zone, Array(1...200), atomic: false))
  }

  @Test func `a request holds no more bytes than the server takes`() {
    let candidates = (1...4).map { save($0, bytes: 600_000) }

    #expect(plan(candidates) == .send(zone, [1, 2], atomic: false))
    #expect(plan([save(1, bytes: 600_000), save(2, bytes: 950_000), save(3)]) == .send(zone, [1, 3], atomic: false))
    #expect(plan([save(1, bytes: 9_000_000)]) == .send(zone, [1], atomic: false))
  }

  @Test func `a request holds no more references and assets than the server takes`() {
    let linked = [save(1, references: 700), save(2, references: 51), save(3, references: 50), save(4)]

    #expect(plan(linked) == .send(zone, [1, 3, 4], atomic: false))
    #expect(plan([save(1, references: 900), save(2, references: 1)]) == .send(zone, [1], atomic: false))
    #expect(plan((1...9).map { save($0, assets: 50) }) == .send(zone, [1, 2, 3, 4], atomic: false))
  }

  @Test func `the zone whose turn it is goes first`() {
    let candidates = [save(9, zone: other), save(1), save(2), save(10, zone: other)]

    #expect(plan(candidates) == .send(other, [9, 10], atomic: false))
  }

  @Test func `a request is of one zone`() {
    let candidates = [save(1), save(2, zone: other), save(3)]

    #expect(plan(candidates) == .send(zone, [1, 3], atomic: false))
  }

  @Test func `an atomic group goes whole, parents first, and alone`() {
    let candidates = [save(1, after: [2], group: "g"), save(2, group: "g"), save(3)]

    #expect(plan(candidates) == .send(zone, [2, 1], atomic: true))
  }

  @Test func `an atomic group with a member that is held does not go`() {
    let candidates = [save(1, group: "g"), save(2, group: "g"), save(3)]

    #expect(plan(candidates) { $0.groupSizes["g"] = 3 } == .send(zone, [3], atomic: false))
    #expect(plan([save(1, group: "g"), save(2, after: [9], group: "g")]) == .rest(until: nil))
  }

  @Test func `a full quota holds saves and lets deletes through`() {
    let step = plan([save(1), delete(2)]) { $0.wait(.quota, until: 70) }

    #expect(step == .send(zone, [2], atomic: false))
    #expect(plan([save(1)]) { $0.wait(.quota, until: 70) } == .rest(until: 70))
  }

  @Test func `a throttled zone does not hold up the others`() {
    let step = plan([save(1), save(2, zone: other)]) { $0.wait(.zone(self.zone), until: 70) }

    #expect(step == .send(other, [2], atomic: false))
  }

  @Test(arguments: [WaitScope.network, .account, .database])
  func `a wait of everything holds every request`(_ scope: WaitScope) {
    let step = plan([save(1)]) {
      $0.wait(scope, until: 70)
      $0.wait(.zone(self.zone), until: 10)
      $0.scope.zoneOperations = [save(9)]
      $0.toVerify = [save(8)]
      $0.scope.missingZones = [self.zone]
    }

    #expect(step == .held(until: 70))
  }

  @Test func `of two waits of everything the longer counts, of two others the shorter`() {
    let ends = { (waits: [WaitScope: Int64]) in plan([]) { for (scope, end) in waits { $0.wait(scope, until: end) } } }
    #expect(ends([.network: 70, .database: 90]) == .held(until: 90))
    #expect(ends([.quota: 70, .zone(zone): 90]) == .rest(until: 70))
    #expect(
      plan([]) {
        $0.wait(.quota, until: 70)
        $0.nextBackOffEnd = 30
      } == .rest(until: 30)
    )
  }

  @Test func `nothing goes while an operator has paused everything`() {
    #expect(plan([save(1)]) { $0.scope.pauses = [Pause(rule: .everything, at: 0)] } == .held(until: nil))
  }

  @Test func `zone operations go first, then missing zones, then read-backs`() {
    let zoneOperation = Candidate(id: 7, kind: .zoneSave, zone: other, bytes: 0)
    var workload = SampleWorkload()
    workload.candidates = [save(1)]
    workload.toVerify = [save(2), save(3, zone: other), save(4)]
    workload.scope.missingZones = [other]
    workload.scope.zoneOperations = [zoneOperation]

    #expect(workload.step() == .sendZoneOperation(7))
    workload.scope.zoneOperations = []
    #expect(workload.step() == .makeZones([other]))
    workload.scope.missingZones = []
    #expect(workload.step() == .verify(zone, [2, 4]))
    workload.toVerify = []
    #expect(workload.step() == .send(zone, [1], atomic: false))
  }

  @Test func `a zone that waits gets nothing at all`() {
    let step = plan([save(1)]) {
      $0.wait(.zone(self.zone), until: 70)
      $0.scope.zoneOperations = [Candidate(id: 7, kind: .zoneDelete, zone: self.zone, bytes: 0)]
      $0.scope.missingZones = [self.zone]
      $0.toVerify = [save(2)]
    }

    #expect(step == .rest(until: 70))
  }

  @Test func `changes of a missing zone wait for the zone, others go`() {
    let step = plan([save(1), save(2, zone: other)]) {
      $0.scope.missingZones = [self.zone]
      $0.wait(.zone(self.zone), until: 70)
    }

    #expect(step == .send(other, [2], atomic: false))
  }

  @Test(arguments: [
    WaitScope.network, .account, .quota, .database, .zone(ZoneKey(zone: "a")), .zone(ZoneKey(zone: "a", owner: "_b")),
    .zone(ZoneKey(zone: "a:b")), .zone(ZoneKey(zone: "a%3Ab", owner: "c:d")), .zone(ZoneKey(zone: "%%:/")),
    .feed(of: ZoneKey(zone: "a:b"), type: "Note"),
    // What combines with the colon before it, or stands behind what is spelled otherwise.
    .zone(ZoneKey(zone: "\u{301}a", owner: "\u{FE0F}b")), .zone(ZoneKey(zone: "a:\u{301}/\u{200D}%\u{20E3}")),
    .feed(of: ZoneKey(zone: "\u{301}a")),
  ])
  func `a scope survives its name`(_ scope: WaitScope) {
    #expect(WaitScope(name: scope.name) == scope)
  }

  @Test func `no two zones, and no two feeds, have one name`() {
    let zones = [ZoneKey(zone: "a:b"), ZoneKey(zone: "a", owner: "b"), ZoneKey(zone: "a%3Ab"), ZoneKey(zone: "a/N")]
    let feeds = zones.map { WaitScope.feed(of: $0) } + [WaitScope.feed(of: ZoneKey(zone: "a"), type: "N")]

    #expect(Set(zones.map { WaitScope.zone($0).name }).count == zones.count)
    #expect(Set(feeds.map(\.name)).count == feeds.count)
  }

  @Test func `a zone's deletion that was not answered is looked up first`() {
    let step = plan([]) {
      $0.scope.zoneOperations = [Candidate(id: 7, kind: .zoneDelete, zone: self.zone, bytes: 0)]
      $0.scope.zoneOperations[0].needsCheck = true
    }

    #expect(step == .verifyZone(7))
  }

  // MARK: - One that makes a request fail

  @Test func `what was refused whole goes by halves, and nothing else with it`() {
    let range = (1...7).map { save($0, bisection: 1) }

    #expect(plan(range + [save(8)]) == .send(zone, [1, 2, 3, 4], atomic: false))
    #expect(plan([save(1, after: [2], bisection: 1), save(2, bisection: 1)]) == .send(zone, [2], atomic: false))
    #expect(plan([save(1, after: [9], bisection: 1), save(8)]) == .send(zone, [8], atomic: false))
  }

  @Test func `a refused look-up goes by halves, one before a refused request does not`() {
    let toVerify = { (bisection: Int64) in
      self.plan([]) { $0.toVerify = (1...4).map { self.save($0, bisection: bisection) } }
    }

    #expect(toVerify(-1) == .verify(zone, [1, 2]))
    #expect(toVerify(1) == .verify(zone, [1, 2, 3, 4]))
  }

  @Test(arguments: [2, 3, 50, 199, 200])
  func `whichever of the records it is, it is alone after eight halves at most`(_ count: Int64) {
    for culprit in 1...count {
      var candidates = Set(1...count)
      var requests = 1
      while candidates.count > 1 {
        guard case .send(_, let half, _, _) = plan(candidates.sorted().map({ save($0, bisection: 1) })) else { break }
        requests += 1
        candidates = half.contains(culprit) ? Set(half) : candidates.subtracting(half)
      }

      #expect(candidates == [culprit])
      #expect(requests <= 9)
    }
  }
}
