import CloudKit

/// Planning what is sent next.
extension SyncStore {
  /// The number of operations of a zone that are read for one request: enough to fill it.
  static let window = 400

  /// The number of notes that one transaction follows to find cycles.
  private static let stepsAtOnce = 4000

  /// Returns the next step of the engine.
  ///
  /// - Parameters:
  ///   - typeOrder: the order of record types that no reference determines.
  ///   - savesMayGo: whether to send saves that need the app's approval: it is asked, or an operator released them.
  package func plan(typeOrder: TypeOrder = TypeOrder(), savesMayGo: Bool = false) throws(StoreError) -> Step {
    let now = now()
    return try read { try Self.plan(typeOrder: typeOrder, savesMayGo: savesMayGo, now: now, $0) }
  }

  static func plan(typeOrder: TypeOrder = TypeOrder(), savesMayGo: Bool, now: Int64, _ ledger: Ledger) throws -> Step {
    let facts = try ledger.planFacts()
    let savesWait = try !savesMayGo && ledger.settings(stored: facts.settings).asksBeforeSending == true
    let pause = facts.pauseOfEverything
    let scope = try ledger.sendScope(now: now, savesWaitForApp: savesWait, pauseOfEverything: pause)
    return try Planner(operationLimit: facts.operationLimit).plan(StoredWorkload(scope, facts, typeOrder, ledger))
  }

  /// The age of the operations that the plan for a scope sends or verifies, once missing zones are created; nil if it
  /// does neither.
  static func sendable(_ scope: SendScope, _ ledger: Ledger) throws -> StoreStatus.Sendability? {
    var scope = scope
    scope.missingZones = []
    let step = try Planner().plan(StoredWorkload(scope, ledger.planFacts(), window: 50, ledger))
    if case .rest = step { return nil }
    // A step that names no operation renews notes after a write of this moment.
    return try ledger.sendability(of: step.operations) ?? .init(oldestAt: scope.now, since: scope.now)
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
    try ledger.noteFormerBlockers(limit: Planner.notesAtOnce)
    try ledger.checkCycles(limit: stepsAtOnce)
  }
}

/// The work that a store has, read as the planner asks for it.
final class StoredWorkload: Workload {
  let scope: SendScope
  private let facts: PlanFacts
  private let ledger: Ledger
  private let typeOrder: TypeOrder
  private let window: Int
  /// The parts of the queue, once they were read.
  private var knownParts: [SendPart]?

  init(
    _ scope: SendScope,
    _ facts: PlanFacts,
    _ typeOrder: TypeOrder = TypeOrder(),
    window: Int = SyncStore.window,
    _ ledger: Ledger
  ) {
    (self.scope, self.facts, self.typeOrder, self.ledger) = (scope, facts, typeOrder, ledger)
    self.window = window
  }

  var turn: Int64 { facts.turn }

  private func parts() throws -> [SendPart] {
    if let knownParts { return knownParts }
    let parts = try ledger.sendParts()
    knownParts = parts
    return parts
  }

  var missingZones: [ZoneKey] {
    get throws {
      guard !scope.missingZones.isEmpty else { return [] }
      let needed = try parts().filter { part in
        let isMissing = scope.eligibility(of: part.candidate) == .waits(.zoneFirst(zone: part.zone.zone))
        return try isMissing && (part.state == .pending || ledger.hasDue(part, now: scope.now))
      }
      return Set(needed.map(\.zone)).sorted()
    }
  }

  var readBacks: [Candidate] { get throws { try candidates(.readBacks, limit: window) } }

  var uploads: [Candidate] { get throws { try candidates(.uploads, limit: window) } }

  var zones: [ZoneKey] {
    get throws {
      var known: Set<ZoneKey> = []
      return try parts().filter { scope.isReady($0.candidate) }.map(\.zone).filter { known.insert($0).inserted }
    }
  }

  var cycles: [Candidate] {
    get throws {
      let cycles = try ledger.cycles()
      return cycles.isEmpty ? [] : try blocked(candidates(.dependencies(cycles)))
    }
  }

  var hasOldNotes: Bool { get throws { try facts.hasFormerBlockers || ledger.hasCycleChecks() } }

  var nextBackOffEnd: Int64? { get throws { try ledger.nextBackOffEnd(after: scope.now) } }

  func groupSizes(of candidates: [Candidate]) throws -> [String: Int] {
    try Set(candidates.compactMap(\.group)).reduce(into: [:]) { $0[$1] = try ledger.groupSize($1) }
  }

  private func candidates(_ kind: CandidateQuery.Kind, limit: Int = .max) throws -> [Candidate] {
    try ledger.candidates(CandidateQuery(kind: kind, scope: scope, limit: limit))
  }

  /// Returns candidates with their blockers.
  ///
  /// - Parameter limit: the number of blockers that are enough.
  private func blocked(_ candidates: [Candidate], limit: Int = -1) throws -> [Candidate] {
    guard !candidates.isEmpty else { return [] }
    let blockers = try ledger.blockers(ofEach: candidates.map(\.id), limit: limit)
    return candidates.map { candidate in
      var candidate = candidate
      candidate.blockers = blockers[candidate.id, default: []]
      return candidate
    }
  }

  /// Returns operations under suspicion, the oldest unblocked operations, their groups, then the operations that they
  /// block, level by level.
  func candidates(of zone: ZoneKey, toNote: inout [Int64]) throws -> [Candidate]? {
    let parts = try parts().filter { $0.zone == zone && scope.isReady($0.candidate) }
    let operations = try ledger.free(parts, scope, typeOrder, limit: window)
    let free = operations.free
    toNote += operations.toNote
    // Update the notes first rather than send a request that is not full.
    if free.count < min(window, Planner.requestLimit), !operations.toNote.isEmpty || facts.hasFormerBlockers {
      toNote = operations.toNote
      return nil
    }
    // A request takes at most one group, the oldest, so only its blocked members are read.
    let groups = Array(free.lazy.compactMap(\.group).prefix(1))
    var known: Set<Int64> = []
    let suspects = facts.hasSuspects ? try candidates(.suspects(zone), limit: window) : []
    var found = suspects.filter { known.insert($0.id).inserted }
    found += (free + operations.blocked).filter { known.insert($0.id).inserted }
    if !groups.isEmpty {
      found += try candidates(.members(groups), limit: window).filter { known.insert($0.id).inserted }
    }
    var frontier = free.prefix(Planner.requestLimit).map(\.id)
    while !frontier.isEmpty, found.count < Planner.requestLimit {
      let next = try candidates(.waitingFor(zone, frontier), limit: window).filter { known.insert($0.id).inserted }
      found += next
      frontier = next.map(\.id)
    }
    let freeIDs = Set(free.map(\.id))
    // With more blockers than a request takes, an operation cannot be in this one.
    let waiting = try blocked(found.filter { !freeIDs.contains($0.id) }, limit: Planner.requestLimit)
    let blockers = Dictionary(uniqueKeysWithValues: waiting.map { ($0.id, $0.blockers) })
    // Only unblocked operations count: nothing is sent later because of an operation that cannot be sent.
    let isLinked = found.contains { $0.kind == .delete || $0.references > 0 }
    let precedents = isLinked ? try ledger.precedents(among: found.map(\.id)).mapValues(freeIDs.intersection) : [:]
    return found.map { candidate in
      var candidate = candidate
      candidate.blockers = blockers[candidate.id, default: []]
      candidate.precedents = precedents[candidate.id, default: []]
      return candidate
    }
  }
}
