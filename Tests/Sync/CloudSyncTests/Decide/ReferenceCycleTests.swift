import CloudKit
import Facts
import TestSupport
import Testing

@testable import CloudSync

/// A cycle of references that fits into a request is sent in one, and the server accepts every request of the planner.
@Suite(.serialized) struct ReferenceCycleTests: PlanningTests {
  /// Why the cycle of these candidates, closed by the first one, cannot be sent.
  private func obstacle(_ candidates: [Candidate]) -> Cause.CycleObstacle? {
    var workload = SampleWorkload()
    workload.candidates = candidates
    return workload.cycle(closedBy: 1).obstacle
  }

  @Test func `members of a cycle go together`() {
    let candidates = [save(1, after: [2]), save(2, after: [3]), save(3, after: [1]), save(4, after: [3])]

    #expect(plan(candidates) == .send(zone, [1, 3, 2], atomic: false, isCycle: true))
  }

  @Test func `each cycle goes in a request of its own`() {
    let candidates = [save(1, after: [2]), save(2, after: [1]), save(3, after: [4]), save(4, after: [3])]

    #expect(plan(candidates) == .send(zone, [1, 2], atomic: false, isCycle: true))
    #expect(plan(Array(candidates[2...])) == .send(zone, [3, 4], atomic: false, isCycle: true))
  }

  @Test func `a cycle with a member that is held stays`() {
    #expect(plan([save(1, after: [2]), save(2, after: [1, 9])]) == .rest(until: nil))
    #expect(plan([save(1, after: [2], group: "g"), save(2, after: [1])], sizes: ["g": 2]) == .rest(until: nil))
  }

  @Test func `a cycle across zones stays, and the next one goes`() {
    let candidates = [save(1, after: [2]), save(2, zone: other, after: [1])]

    #expect(plan(candidates) == .rest(until: nil))
    #expect(obstacle(candidates) == .zones)
    let next = [save(3, after: [4]), save(4, after: [3])]
    #expect(plan(candidates + next) == .send(zone, [3, 4], atomic: false, isCycle: true))
  }

  @Test(arguments: [200, 201, 300])
  func `a cycle of more changes than a request takes stays`(_ count: Int64) {
    let cycle = (1...count).map { save($0, after: [$0 % count + 1]) }

    guard case .send(_, let ids, false, true) = plan(cycle) else {
      #expect(count > 200 && obstacle(cycle) == .size)
      return
    }
    #expect(count == 200 && ids.count == 200)
  }

  @Test func `a cycle with too many bytes for a request stays`() {
    let cycle = (1...3).map { save($0, bytes: 700_000, after: [$0 % 3 + 1]) }

    #expect(plan(cycle) == .rest(until: nil))
    #expect(obstacle(cycle) == .size)
  }

  @Test func `a group goes in one atomic request with what waits for a member and blocks another`() {
    let candidates = [save(1, after: [3], group: "g"), save(2, group: "g"), save(3, after: [2])]

    #expect(plan(candidates) == .send(zone, [2, 3, 1], atomic: true, isCycle: true))
  }

  @Test func `groups that wait for each other go in one atomic request`() {
    let candidates = [
      save(1, after: [3], group: "g"), save(2, group: "g"), save(3, after: [2], group: "h"), save(4, group: "h"),
    ]

    #expect(plan(candidates) == .send(zone, [2, 4, 3, 1], atomic: true, isCycle: true))
  }

  @Test func `a cycle with a change in bisection goes whole`() {
    let candidates = [save(1, after: [2]), save(2, after: [1], bisection: 1)]

    #expect(plan(candidates) == .send(zone, [1, 2], atomic: false, isCycle: true))
  }

  // MARK: - Any queue at all

  /// Operations with random links and groups in several zones. Some are no candidates: something holds them.
  private func randomQueue(_ random: inout SplitMix64) -> (candidates: [Candidate], held: Set<Int64>) {
    let zones = (0..<(1 + random.next() % 4)).map { ZoneKey(zone: "zone\($0)") }
    let count = Int64(1 + random.next() % 250)
    let linkRate = random.next() % 4
    var candidates: [Candidate] = []
    for id in 1...count {
      var candidate = save(id, zone: zones[Int(random.next() % UInt64(zones.count))])
      candidate.bytes = random.next() % 20 == 0 ? Int(random.next() % 1_000_000) : 300
      for _ in 0..<(random.next() % (linkRate + 1)) {
        let target = 1 + Int64(random.next() % UInt64(count))
        if target != id { candidate.blockers.insert(target) }
      }
      candidate.references = candidate.blockers.count
      if random.next() % 10 == 0 { candidate.group = "\(candidate.zone.zone)-\(random.next() % 6)" }
      candidates.append(candidate)
    }
    let held = Set((0..<(random.next() % 3)).map { _ in 1 + Int64(random.next() % UInt64(count)) })
    return (candidates, held)
  }

  /// What can never go: what is held, and whatever waits for that.
  private func stuck(_ candidates: [Candidate], _ held: Set<Int64>) -> Set<Int64> {
    var stuck = held
    while true {
      let groups = Set(candidates.filter { stuck.contains($0.id) }.compactMap(\.group))
      let more = candidates.filter { candidate in
        !stuck.contains(candidate.id)
          && (!candidate.blockers.isDisjoint(with: stuck) || candidate.group.map(groups.contains) == true)
      }
      if more.isEmpty { return stuck }
      stuck.formUnion(more.map(\.id))
    }
  }

  @Test(arguments: 0..<60 as Range<UInt64>)
  func `everything goes that nothing holds but a cycle, in requests that the server takes`(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let (all, held) = randomQueue(&random)
    var queue = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
    var onServer: Set<Int64> = []
    var workload = SampleWorkload()
    while true {
      workload = SampleWorkload()
      // What the server holds is nothing to wait for.
      workload.candidates = queue.values.filter { !held.contains($0.id) }.map { candidate in
        var candidate = candidate
        candidate.blockers.subtract(onServer)
        return candidate
      }.sorted { $0.id < $1.id }
      for candidate in queue.values { candidate.group.map { workload.groupSizes[$0, default: 0] += 1 } }
      guard case .send(let zone, let ids, let atomic, let isCycle) = workload.step() else { break }
      let sent = ids.compactMap { queue[$0] }
      #expect(sent.count == ids.count && Set(ids).count == ids.count && !ids.isEmpty)
      #expect(sent.allSatisfy { $0.zone == zone })
      #expect(atomic && !isCycle || ids.count <= 200)
      #expect(atomic && !isCycle || ids.count == 1 || sent.reduce(0) { $0 + $1.bytes } <= Planner.byteLimit)
      let groups = Set(sent.map(\.group))
      #expect(isCycle || groups.count == 1, "a request is of single records, of one group or of a cycle")
      for group in groups.compactMap(\.self) {
        let size = queue.values.filter { $0.group == group }.count
        #expect(atomic && sent.filter { $0.group == group }.count == size)
      }
      #expect(sent.allSatisfy { $0.blockers.isSubset(of: onServer.union(ids)) })
      onServer.formUnion(ids)
      for id in ids { queue[id] = nil }
    }

    let stuck = stuck(all, held)
    #expect(stuck.isSubset(of: queue.keys))
    for left in queue.values where !stuck.contains(left.id) {
      let members = queue.values.filter { $0.id == left.id || $0.group != nil && $0.group == left.group }
      #expect(members.contains { workload.cycle(closedBy: $0.id).obstacle != nil })
    }
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `nothing is asked of what has to wait`(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let (all, _) = randomQueue(&random)
    var workload = SampleWorkload()
    let zones = Set(all.map(\.zone)).sorted()
    for zone in zones where random.next() % 2 == 0 { workload.wait(.zone(zone), until: 1 + Int64(random.next() % 100)) }
    if random.next() % 3 == 0 { workload.wait(.quota, until: 50) }
    if random.next() % 4 == 0 { workload.wait([.network, .account, .database][Int(random.next() % 3)], until: 70) }
    workload.wait(.feed("notes"), until: 60)
    workload.candidates = all.map { candidate in
      var candidate = candidate
      if random.next() % 3 == 0 { candidate.kind = .delete }
      return candidate
    }
    for candidate in all { candidate.group.map { workload.groupSizes[$0, default: 0] += 1 } }
    if random.next() % 2 == 0 { workload.toVerify = Array(all.shuffled(using: &random).prefix(9)) }
    if random.next() % 2 == 0 { workload.scope.missingZones = Set(zones.prefix(2)) }
    if random.next() % 2 == 0, let zone = zones.last {
      workload.scope.zoneOperations = [Candidate(id: 999, kind: .zoneSave, zone: zone, bytes: 0)]
    }
    let isOpen = { (zone: ZoneKey) in workload.scope.waits[.zone(zone)] == nil }

    let step = workload.step()

    if workload.scope.waits.keys.contains(where: \.stopsAll) { #expect(step == .held(until: 70)) }
    switch step {
    case .makeZones(let zones): #expect(zones.allSatisfy(isOpen))
    case .sendZoneOperation, .verifyZone: #expect(workload.scope.zoneOperations.allSatisfy { isOpen($0.zone) })
    case .verify(let zone, _): #expect(isOpen(zone))
    case .send(let zone, let ids, _, _):
      #expect(isOpen(zone) && !workload.scope.missingZones.contains(zone))
      let kinds = workload.candidates.filter { ids.contains($0.id) }.map(\.kind)
      #expect(workload.scope.waits[.quota] == nil || !kinds.contains(.save))
    case .supplyAssets, .noteBlockers, .rest, .held: break
    }
  }
}
