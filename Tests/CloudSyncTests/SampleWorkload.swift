@testable import CloudSync

/// A workload of values, of which every part is known.
struct SampleWorkload: Workload {
  var scope = SendScope(now: 0)
  var turn: Int64 = 0
  var candidates: [Candidate] = []
  var uploads: [Candidate] = []
  var readBacks: [Candidate] = [] {
    didSet { for index in readBacks.indices { readBacks[index].needsCheck = true } }
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

  var cycles: [Candidate] { candidates }

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
