import CloudKit
import TestSupport
import Testing

@testable import CloudSync

/// What waits in a cycle always goes, and what the planner asks for is what the server takes.
@Suite(.serialized) struct CycleTests: PlanningTests {
  @Test func `members of a cycle go together`() {
    let candidates = [save(1, after: [2]), save(2, after: [3]), save(3, after: [1]), save(4, after: [3])]

    #expect(plan(candidates) == .send(zone, [1, 3, 2], atomic: false))
  }

  @Test func `several cycles go in one request`() {
    let candidates = [save(1, after: [2]), save(2, after: [1]), save(3, after: [4]), save(4, after: [3])]

    #expect(plan(candidates) == .send(zone, [1, 2, 3, 4], atomic: false))
  }

  @Test func `a cycle with a member that is held stays`() {
    #expect(plan([save(1, after: [2]), save(2, after: [1, 9])]) == .rest(until: nil))
    #expect(plan([save(1, after: [2], group: "g"), save(2, after: [1])], sizes: ["g": 2]) == .rest(until: nil))
  }

  @Test func `of a cycle across zones the oldest goes without the link that closes it`() {
    let candidates = [save(1, after: [2]), save(2, zone: other, after: [1])]

    #expect(plan(candidates) == .send(zone, [1], atomic: false, deferring: [1: [2]]))
  }

  @Test func `a cycle longer than a request is opened at one link`() {
    let cycle = (1...300).map { save($0, after: [$0 % 300 + 1]) }

    guard case .send(_, let ids, false, let deferring) = plan(cycle) else { return #expect(Bool(false)) }
    #expect(ids.count == 200)
    #expect(deferring == [1: [2]])
  }

  @Test(.timeLimit(.minutes(40)))
  func `a cycle as long as the queue is planned in no time`() {
    let count: Int64 = 50_000
    // Each waits for both of its neighbours, as in a list that is linked both ways.
    let cycle = (1...count).map { save($0, after: [$0 % count + 1, ($0 + count - 2) % count + 1]) }

    guard case .send(_, let ids, false, let deferring) = plan(cycle) else { return #expect(Bool(false)) }
    #expect(ids == (1...200).map { $0 } && deferring == [1: [count], 200: [201]])
  }

  @Test(.timeLimit(.minutes(40)))
  func `very many groups that wait for something else are planned in no time`() {
    let groups = (1...20_000 as ClosedRange<Int64>).flatMap { group in
      [save(2 * group, group: "g\(group)"), save(2 * group + 1, after: [1], group: "g\(group)")]
    }

    #expect(plan(groups) == .rest(until: nil))
  }

  @Test func `a cycle with too many bytes for a request is opened`() {
    let cycle = (1...3).map { save($0, bytes: 700_000, after: [$0 % 3 + 1]) }

    #expect(plan(cycle) == .send(zone, [1, 3], atomic: false, deferring: [1: [2]]))
  }

  @Test func `a group keeps all its links where a single record can let go of one`() {
    let candidates = [save(1, after: [3], group: "g"), save(2, group: "g"), save(3, after: [2])]

    #expect(plan(candidates) == .send(zone, [3], atomic: false, deferring: [3: [2]]))
  }

  @Test func `of groups that wait for each other the first goes whole without its links to the other`() {
    let candidates = [
      save(1, after: [3], group: "g"), save(2, group: "g"), save(3, after: [2], group: "h"), save(4, group: "h"),
    ]

    #expect(plan(candidates) == .send(zone, [1, 2], atomic: true, deferring: [1: [3]]))
  }

  @Test func `a change of a cycle that is in bisection goes alone`() {
    let candidates = [save(1, after: [2]), save(2, after: [1], bisection: 1)]

    #expect(plan(candidates) == .send(zone, [2], atomic: false, deferring: [2: [1]]))
  }

  // MARK: - Any queue at all

  /// Operations with random links and groups in several zones. Some are no candidates: something holds them.
  private func randomQueue(_ random: inout SplitMix64) -> (candidates: [Candidate], held: Set<Int64>) {
    let zones = (0..<(1 + random.next() % 4)).map { ZoneKey(zone: "zone\($0)") }
    let count = Int64(1 + random.next() % 500)
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
  func `everything goes that nothing holds, in requests that the server takes`(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let (all, held) = randomQueue(&random)
    var queue = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
    var onServer: Set<Int64> = []
    var requests = 0
    while true {
      var workload = SampleWorkload()
      // What the server holds is nothing to wait for.
      workload.candidates = queue.values.filter { !held.contains($0.id) }.map { candidate in
        var candidate = candidate
        candidate.blockers.subtract(onServer)
        return candidate
      }.sorted { $0.id < $1.id }
      for candidate in queue.values { candidate.group.map { workload.groupSizes[$0, default: 0] += 1 } }
      guard case .send(let zone, let ids, let atomic, let deferring) = workload.step() else { break }
      requests += 1
      let sent = ids.compactMap { queue[$0] }
      #expect(sent.count == ids.count && Set(ids).count == ids.count && !ids.isEmpty)
      #expect(sent.allSatisfy { $0.zone == zone })
      #expect(atomic || ids.count <= 200)
      #expect(atomic || ids.count == 1 || sent.reduce(0) { $0 + $1.bytes } <= Planner.byteLimit)
      let groups = Set(sent.map(\.group))
      #expect(groups.count == 1, "a request is of single records or of one group")
      if let group = groups.first ?? nil {
        #expect(atomic && queue.values.filter { $0.group == group }.count == ids.count)
      }
      for operation in sent {
        let waitsFor = operation.blockers.subtracting(onServer).subtracting(ids)
        #expect(waitsFor == deferring[operation.id] ?? [])
      }
      onServer.formUnion(ids)
      for id in ids {
        // The links that were left out remain to be sent.
        guard let later = deferring[id] else {
          queue[id] = nil
          continue
        }
        queue[id]?.blockers = later
        queue[id]?.bytes = 300
      }
      guard requests < 3000 else { break }
    }

    #expect(Set(queue.keys) == stuck(all, held))
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
    if random.next() % 2 == 0 { workload.readBacks = Array(all.shuffled(using: &random).prefix(9)) }
    if random.next() % 2 == 0 { workload.scope.missingZones = Set(zones.prefix(2)) }
    if random.next() % 2 == 0, let zone = zones.last {
      workload.scope.zoneOperations = [Candidate(id: 999, kind: .zoneSave, zone: zone, bytes: 0)]
    }
    let isOpen = { (zone: ZoneKey) in workload.scope.waits[.zone(zone)] == nil }

    let step = workload.step()

    if workload.scope.waits.keys.contains(where: \.stopsAll) { #expect(step == .held(until: 70)) }
    switch step {
    case .makeZones(let zones): #expect(zones.allSatisfy(isOpen))
    case .sendZoneOperation, .lookUpZone: #expect(workload.scope.zoneOperations.allSatisfy { isOpen($0.zone) })
    case .readBack(let zone, _): #expect(isOpen(zone))
    case .send(let zone, let ids, _, _):
      #expect(isOpen(zone) && !workload.scope.missingZones.contains(zone))
      let kinds = workload.candidates.filter { ids.contains($0.id) }.map(\.kind)
      #expect(workload.scope.waits[.quota] == nil || !kinds.contains(.save))
    case .supplyAssets, .noteBlockers, .rest, .held: break
    }
  }
}
