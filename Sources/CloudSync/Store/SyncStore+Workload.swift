import CloudKit

/// Reading what could be done now.
extension SyncStore {
  /// How many candidates are looked at for one request: enough to fill it from several zones.
  private static let window = 800

  func workload() throws(StoreError) -> (Workload, Planner) {
    let now = now()
    return try read { ledger in
      let limit = try ledger.value("operationLimit").flatMap { Int($0) } ?? 200
      return (try Self.workload(now: now, ledger), Planner(operationLimit: limit))
    }
  }

  private static func workload(now: Int64, _ ledger: any Ledger) throws -> Workload {
    var workload = Workload()
    workload.isPaused = try ledger.isPaused()
    for wait in try ledger.waits(after: now) { workload.waits[wait.scope] = wait.until }
    workload.zoneOperations = try ledger.candidates(CandidateQuery(kind: .zoneOperations, now: now, limit: 1))
    workload.missingZones = try ledger.zonesToMake(now: now)
    workload.readBacks = try ledger.candidates(CandidateQuery(kind: .readBacks, now: now, limit: 400))
    workload.uploads = try ledger.candidates(CandidateQuery(kind: .uploads, now: now, limit: 400))
    workload.candidates = try candidates(now: now, savesAreHeld: workload.waits[.quota] != nil, ledger)
    workload.nextBackOffEnd = try ledger.nextBackOffEnd(after: now)
    for group in Set(workload.candidates.compactMap(\.group)) {
      workload.groupSizes[group] = try ledger.groupSize(group)
    }
    return workload
  }

  /// The oldest operations that wait for nothing, then those that wait for these, level by level. Where everything waits
  /// for something, the oldest that do: there may be a ring among them.
  private static func candidates(now: Int64, savesAreHeld: Bool, _ ledger: any Ledger) throws -> [Workload.Candidate] {
    let query = { (kind: CandidateQuery.Kind, limit: Int) in
      CandidateQuery(kind: kind, now: now, savesAreHeld: savesAreHeld, limit: limit)
    }
    var found = try ledger.candidates(query(.free, window))
    var frontier = found.prefix(200).map(\.id)
    var known = Set(found.map(\.id))
    while !frontier.isEmpty, found.count < 200 {
      var next = try ledger.candidates(query(.waitingFor(frontier), 400)).filter { known.insert($0.id).inserted }
      try addBlockers(&next, ledger)
      found += next
      frontier = next.map(\.id)
    }
    if found.count < 200 {
      // The rest is blocked: by a dead letter, or by each other in a ring, which has to go in one request.
      var blocked = try ledger.candidates(query(.blocked, window)).filter { known.insert($0.id).inserted }
      try addBlockers(&blocked, ledger)
      found += blocked
    }
    return found
  }

  private static func addBlockers(_ candidates: inout [Workload.Candidate], _ ledger: any Ledger) throws {
    for index in candidates.indices {
      candidates[index].blockers = Set(try ledger.blockers(of: candidates[index].id))
    }
  }
}
