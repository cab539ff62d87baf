import CloudKit

/// Reading the operations that can be sent now.
extension SyncStore {
  /// The number of operations of a zone that are read for one request: enough to fill it.
  static let window = 400

  /// Every this many requests, operations in reference cycles come before unblocked ones, and half-way in between
  /// assets are uploaded first.
  private static let cycleTurns: Int64 = 32

  /// The maximum number of notes that one transaction updates, and of notes that it follows to find cycles.
  private static let notesAtOnce = 250
  private static let stepsAtOnce = 4000

  /// Reads what can be sent now, with the planner that decides about it.
  ///
  /// - Parameters:
  ///   - typeOrder: the order of record types that no reference determines.
  ///   - savesMayGo: whether to send saves that need the app's approval: it is asked, or an operator released them.
  package func workload(typeOrder: TypeOrder = TypeOrder(), savesMayGo: Bool = false) throws(StoreError) -> (
    Workload, Planner
  ) {
    let now = now()
    return try read { try Self.workload(typeOrder: typeOrder, savesMayGo: savesMayGo, now: now, $0) }
  }

  static func workload(typeOrder: TypeOrder = TypeOrder(), savesMayGo: Bool, now: Int64, _ ledger: Ledger) throws -> (
    Workload, Planner
  ) {
    let planner = Planner(operationLimit: try ledger.value("operationLimit").flatMap { Int($0) } ?? 200)
    let savesWaitForApp = try !savesMayGo && ledger.settings().asksBeforeSending == true
    return (try workload(for: planner, typeOrder, savesWaitForApp, now: now, ledger), planner)
  }

  /// What the plan for a time sends or verifies; nil if that is nothing.
  static func sendable(savesWaitForApp: Bool, now: Int64, _ ledger: Ledger) throws -> StoreStatus.Sendability? {
    let planner = Planner()
    let workload = try workload(
      for: planner,
      TypeOrder(),
      savesWaitForApp,
      makesZones: false,
      window: 50,
      now: now,
      ledger
    )
    let step = planner.plan(workload)
    if case .rest = step { return nil }
    // A step that names no operation renews notes after a write of this moment.
    return try ledger.sendability(of: step.operations) ?? .init(oldestAt: now, since: now)
  }

  /// Reads what the planner needs to decide, but no more of a long queue.
  private static func workload(
    for planner: Planner,
    _ typeOrder: TypeOrder,
    _ savesWaitForApp: Bool,
    makesZones: Bool = true,
    window: Int = window,
    now: Int64,
    _ ledger: Ledger
  ) throws -> Workload {
    var workload = Workload()
    workload.savesWaitForApp = savesWaitForApp
    workload.isPaused = try ledger.isPaused()
    for wait in try ledger.waits(after: now) { workload.waits[wait.scope] = wait.until }
    workload.nextBackOffEnd = try ledger.nextBackOffEnd(after: now)
    guard !workload.isPaused, !workload.waits.keys.contains(where: \.stopsAll) else { return workload }
    workload.zoneOperations = try ledger.candidates(CandidateQuery(kind: .zoneOperations, now: now, limit: 1))
    for candidate in workload.zoneOperations where try ledger.operation(candidate.id)?.needsReadBack == true {
      workload.unansweredZoneOperations.insert(candidate.id)
    }
    if makesZones { workload.missingZones = try ledger.zonesToMake(now: now) }
    workload.readBacks = try ledger.candidates(CandidateQuery(kind: .readBacks, now: now, limit: window))
    guard case .rest = planner.plan(workload) else { return workload }
    let uploads = CandidateQuery(kind: .uploads, now: now, limit: window)
    if try ledger.turn() % cycleTurns == cycleTurns / 2 {
      workload.uploads = try ledger.candidates(uploads)
      guard case .rest = planner.plan(workload) else { return workload }
    }
    try addCandidates(to: &workload, for: planner, typeOrder, window: window, now: now, ledger)
    if workload.uploads.isEmpty, !planner.plan(workload).isRequest { workload.uploads = try ledger.candidates(uploads) }
    return workload
  }

  /// Adds the candidates of one zone after the other until they fill a request. If none is free, adds operations in
  /// reference cycles, which may span the whole queue. If there is none either, selects the notes to update.
  private static func addCandidates(
    to workload: inout Workload,
    for planner: Planner,
    _ typeOrder: TypeOrder,
    window: Int,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    let savesAreHeld = workload.savesAreHeld
    let query = { (kind: CandidateQuery.Kind) in
      CandidateQuery(kind: kind, now: now, savesAreHeld: savesAreHeld, typeOrder: typeOrder, limit: window)
    }
    func setCycles() throws {
      let cycles = try ledger.cycles()
      guard !cycles.isEmpty else { return workload.candidates = [] }
      var dependencies = query(.dependencies(cycles))
      dependencies.limit = .max
      try set(try ledger.candidates(dependencies).map { try waiting($0, ledger) }, in: &workload, ledger)
    }
    let cyclesGoFirst = try ledger.turn() % cycleTurns == cycleTurns - 1
    if cyclesGoFirst {
      try setCycles()
      if case .send = planner.plan(workload) { return }
    }
    var toNote: [Int64] = []
    for zone in try ledger.zonesToServe(now: now, savesAreHeld: savesAreHeld) {
      let free = try ledger.free(zone, query(.free(zone)))
      toNote += free.toNote
      // Update the notes first rather than send a request that is not full.
      if free.free.count < min(window, Planner.requestLimit), try !free.toNote.isEmpty || ledger.hasFormerBlockers() {
        workload.candidates = []
        workload.toNote = Array(free.toNote.prefix(notesAtOnce))
        workload.hasOldNotes = true
        return
      }
      try set(try candidates(of: zone, free, query, ledger), in: &workload, ledger)
      if case .send = planner.plan(workload) { return }
    }
    workload.candidates = []
    if !cyclesGoFirst {
      try setCycles()
      if case .send = planner.plan(workload) { return }
    }
    workload.toNote = Array(toNote.prefix(notesAtOnce))
    workload.hasOldNotes = try ledger.hasFormerBlockers() || ledger.hasCycleChecks()
  }

  /// Notes the blockers of operations and renews notes that may be out of date, so that the next plan finds those that
  /// can be sent.
  func noteBlockers(of ids: [Int64], _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, _ in
      for id in ids { try ledger.noteBlocker(of: id) }
      try Self.renewNotes(ledger)
    }
  }

  static func renewNotes(_ ledger: Ledger) throws {
    try ledger.noteFormerBlockers(limit: notesAtOnce)
    try ledger.checkCycles(limit: stepsAtOnce)
  }

  private static func set(_ candidates: [Workload.Candidate], in workload: inout Workload, _ ledger: Ledger) throws {
    workload.candidates = candidates
    for group in Set(candidates.compactMap(\.group)) { workload.groupSizes[group] = try ledger.groupSize(group) }
  }

  /// Returns the candidate with its blockers.
  ///
  /// - Parameter limit: the number of blockers that are enough.
  private static func waiting(_ candidate: Workload.Candidate, limit: Int? = nil, _ ledger: Ledger) throws
    -> Workload.Candidate
  {
    var candidate = candidate
    candidate.blockers = Set(try ledger.blockers(of: candidate.id, limit: limit))
    return candidate
  }

  /// Returns a zone's candidates: operations under suspicion, the oldest unblocked operations, their groups, then the
  /// operations that they block, level by level.
  private static func candidates(
    of zone: ZoneKey,
    _ operations: FreeOperations,
    _ query: (CandidateQuery.Kind) -> CandidateQuery,
    _ ledger: Ledger
  ) throws -> [Workload.Candidate] {
    let free = operations.free
    // A request takes at most one group, the oldest, so only its blocked members are read.
    let groups = Array(free.lazy.compactMap(\.group).prefix(1))
    var known: Set<Int64> = []
    var found = try ledger.candidates(query(.suspects(zone))).filter { known.insert($0.id).inserted }
    found += (free + operations.blocked).filter { known.insert($0.id).inserted }
    if !groups.isEmpty {
      found += try ledger.candidates(query(.members(groups))).filter { known.insert($0.id).inserted }
    }
    var frontier = free.prefix(Planner.requestLimit).map(\.id)
    while !frontier.isEmpty, found.count < Planner.requestLimit {
      let next = try ledger.candidates(query(.waitingFor(zone, frontier))).filter { known.insert($0.id).inserted }
      found += next
      frontier = next.map(\.id)
    }
    let freeIDs = Set(free.map(\.id))
    // Only unblocked operations count: nothing is sent later because of an operation that cannot be sent.
    let precedents = try ledger.precedents(among: found.map(\.id)).mapValues { $0.intersection(freeIDs) }
    return try found.map { candidate in
      // With more blockers than a request takes it cannot be in this one.
      let limit = Planner.requestLimit
      var candidate = freeIDs.contains(candidate.id) ? candidate : try waiting(candidate, limit: limit, ledger)
      candidate.precedents = precedents[candidate.id, default: []]
      return candidate
    }
  }
}
