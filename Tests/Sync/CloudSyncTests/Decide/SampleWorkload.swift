@testable import CloudSync

/// A workload of values, of which every part is known.
struct SampleWorkload: Workload {
  var scope = SendScope(now: 0)
  var turn: Int64 = 0
  var candidates: [Candidate] = []
  var uploads: [Candidate] = []
  var toVerify: [Candidate] = [] {
    didSet { for index in toVerify.indices { toVerify[index].needsCheck = true } }
  }
  var groupSizes: [String: Int] = [:]
  var hasOldNotes = false
  var nextBackOffEnd: Int64?

  var missingZones: [ZoneKey] {
    scope.missingZones.filter { zone in
      scope.eligibility(of: Candidate(kind: .delete, zone: zone)) == .waits(.zoneFirst(zone: zone.zone))
    }.sorted()
  }

  var zones: [ZoneKey] {
    var known: Set<ZoneKey> = []
    return candidates.map(\.zone).filter { known.insert($0).inserted }
  }

  var closers: [Int64] {
    let graph = Graph(self)
    return candidates.filter { !$0.blockers.isEmpty && graph.cycle(closedBy: $0.id).isClosed }.map(\.id)
  }

  func cycle(closedBy closer: Int64) -> ReferenceCycle { Graph(self).cycle(closedBy: closer) }

  func candidates(of zone: ZoneKey, toNote: inout [Int64]) -> [Candidate]? { candidates.filter { $0.zone == zone } }

  func groupSizes(of candidates: [Candidate]) -> [String: Int] { groupSizes }

  /// The next step. Nothing here throws.
  func step(limit: Int = Planner.requestLimit) -> Step {
    guard let step = try? Planner(operationLimit: limit).plan(self) else { preconditionFailure("a value threw") }
    return step
  }

  mutating func wait(_ wait: WaitScope, until end: Int64) {
    scope.waits[wait] = ScopeWait(
      scope: wait,
      until: end,
      seconds: 1,
      code: "THROTTLED",
      message: "",
      isOwn: false,
      since: 0
    )
  }
}

/// What the candidates wait for. Blockers and members of groups that are no candidates are held.
private struct Graph {
  private let known: [Int64: Candidate]
  private let groups: [String: [Int64]]

  init(_ workload: SampleWorkload) {
    known = Dictionary(uniqueKeysWithValues: workload.candidates.map { ($0.id, $0) })
    let groups = Dictionary(grouping: workload.candidates) { $0.group ?? "" }.mapValues { $0.map(\.id) }
    // The identifiers of members that are no candidates do not matter.
    self.groups = groups.reduce(into: [:]) { all, group in
      all[group.key] = group.value + (group.value.count == workload.groupSizes[group.key] ? [] : [-1])
    }
  }

  func cycle(closedBy closer: Int64) -> ReferenceCycle {
    var found: [Int64: Candidate] = [:]
    var next = Array(known[closer]?.blockers ?? [])
    while let id = next.popLast(), found.count <= Planner.requestLimit {
      guard found[id] == nil else { continue }
      let held = Candidate(id: id, kind: .save, zone: known[closer]?.zone ?? .defaultZone, state: .failed)
      let member = known[id] ?? held
      found[id] = member
      next += member.blockers
      if let group = member.group { next += groups[group] ?? [] }
    }
    return ReferenceCycle(closer: closer, members: found.values.sorted { $0.id < $1.id })
  }
}

/// Tests that plan values.
protocol PlanningTests {}

extension PlanningTests {
  var zone: ZoneKey { ZoneKey(zone: "notes") }
  var other: ZoneKey { ZoneKey(zone: "other") }

  func save(
    _ id: Int64,
    zone: ZoneKey? = nil,
    bytes: Int = 300,
    references: Int = 0,
    assets: Int = 0,
    after blockers: Set<Int64> = [],
    group: String? = nil,
    bisection: Int64? = nil
  ) -> Candidate {
    Candidate(
      id: id,
      kind: .save,
      zone: zone ?? self.zone,
      bytes: bytes,
      references: references,
      assets: assets,
      blockers: blockers,
      group: group,
      bisection: bisection
    )
  }

  /// - Parameter sizes: the sizes of groups of which not all members are candidates.
  func plan(
    _ candidates: [Candidate],
    sizes: [String: Int] = [:],
    limit: Int = Planner.requestLimit,
    _ change: (inout SampleWorkload) -> Void = { _ in }
  ) -> Step {
    var workload = SampleWorkload()
    workload.candidates = candidates
    for candidate in candidates { candidate.group.map { workload.groupSizes[$0, default: 0] += 1 } }
    workload.groupSizes.merge(sizes) { $1 }
    change(&workload)
    return workload.step(limit: limit)
  }
}
