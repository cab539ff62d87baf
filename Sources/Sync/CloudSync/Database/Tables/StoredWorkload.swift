import GRDB

/// The work that a store has, read as the planner asks for it. SQL finds operations by partial indexes and passes over
/// what is surely held, because that would only fill the window; `SendScope` decides.
struct StoredWorkload: Workload {
  /// The number of operations of a zone that are read for one request: enough to fill it.
  static let window = 400

  let scope: SendScope
  private let ledger: Ledger
  private let typeOrder: TypeOrder
  private let window: Int
  /// The parts of the queue, those of the zone served longest ago first.
  private let parts: [SendPart]
  private let facts: PlanFacts
  /// The parts that are held, as `Ledger.sendable` reads them.
  private let held: String

  init(
    _ scope: SendScope,
    _ facts: PlanFacts,
    _ typeOrder: TypeOrder = TypeOrder(),
    window: Int = Self.window,
    _ ledger: Ledger
  ) throws {
    (self.scope, self.facts, self.typeOrder, self.window, self.ledger) = (scope, facts, typeOrder, window, ledger)
    parts = try ledger.sendParts()
    held = try Self.json(parts) { !scope.isReady($0) }
  }

  private static func json(_ parts: [SendPart], where isHeld: (Candidate) -> Bool) throws -> String {
    try Ledger.json(
      parts.filter { isHeld($0.candidate) }.map { [$0.zone.zone, $0.zone.owner, $0.kind.rawValue, $0.type ?? ""] }
    )
  }

  var turn: Int64 { facts.turn ?? 0 }

  var missingZones: [ZoneKey] {
    get throws {
      let needed = try parts.filter { part in
        let isMissing = scope.eligibility(of: part.candidate) == .waits(.zoneFirst(zone: part.zone.zone))
        return try isMissing && (part.state == .pending || ledger.hasDue(part, now: scope.now))
      }
      return Set(needed.map(\.zone)).sorted()
    }
  }

  var zones: [ZoneKey] {
    var known: Set<ZoneKey> = []
    return parts.filter { scope.isReady($0.candidate) }.map(\.zone).filter { known.insert($0).inserted }
  }

  var toVerify: [Candidate] {
    get throws {
      let held = try Self.json(parts) { change in
        var change = change
        change.needsCheck = true
        return !scope.isReady(change)
      }
      let condition = "\(Ledger.isOpen) AND needsVerification = 1 AND \(Ledger.sendable)"
      return try found("operationsToVerify", condition, ["held": held])
    }
  }

  var uploads: [Candidate] {
    get throws {
      let condition = "\(Ledger.isOpen) AND needsVerification = 0 AND needsUpload = 1 AND \(Ledger.sendable)"
      return try found("operationsToUpload", condition, ["held": held])
    }
  }

  var closers: [Int64] {
    get throws {
      try found("operationsInCycle", "waitsFor = id AND \(Ledger.ready)", ["held": held]).map(\.id)
    }
  }

  func cycle(closedBy closer: Int64) throws -> ReferenceCycle { try ledger.cycle(closedBy: closer) }

  var hasOldNotes: Bool { facts.hasEndedBlockers }

  var nextBackOffEnd: Int64? { get throws { try ledger.nextBackOffEnd(after: scope.now) } }

  func groupSizes(of candidates: [Candidate]) throws -> [String: Int] {
    try Set(candidates.compactMap(\.group)).reduce(into: [:]) { $0[$1] = try ledger.groupSize($1) }
  }

  /// Returns operations in bisection, the oldest unblocked operations, their groups, then the operations that they
  /// block, level by level.
  func candidates(of zone: ZoneKey, toNote: inout [Int64]) throws -> [Candidate]? {
    let (free, unnoted, ids) = try oldest(of: zone)
    toNote += ids
    // Update the notes first rather than send a request that is not full.
    if free.count < min(window, Planner.requestLimit), !ids.isEmpty || facts.hasEndedBlockers {
      toNote = ids
      return nil
    }
    var found = facts.hasBisections ? try bisected(of: zone) : []
    found += free + unnoted
    // A request takes at most one group, the oldest, so only its blocked members are read.
    if let group = free.lazy.compactMap(\.group).first { found += try readyMembers(of: group) }
    var known: Set<Int64> = []
    found = found.filter { known.insert($0.id).inserted }
    var frontier = free.prefix(Planner.requestLimit).map(\.id)
    while !frontier.isEmpty, found.count < Planner.requestLimit {
      let next = try waiting(for: frontier, in: zone).filter { known.insert($0.id).inserted }
      found += next
      frontier = next.map(\.id)
    }
    let freeIDs = Set(free.map(\.id))
    // With more blockers than a request takes, an operation cannot be in this one. Only a group's own members may block
    // a free operation.
    let others = found.filter { $0.group != nil || !freeIDs.contains($0.id) }.map(\.id)
    let blockers = try ledger.blockers(ofEach: others, limit: Planner.requestLimit)
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

  // MARK: - Queries

  /// Operations that an index finds, the oldest first.
  private func found(_ index: String, _ condition: String, _ arguments: StatementArguments) throws -> [Candidate] {
    try ledger.candidates(
      "FROM operations o INDEXED BY \(index) WHERE \(condition) ORDER BY id LIMIT :limit",
      arguments + ["now": scope.now, "limit": window]
    )
  }

  /// Operations of a zone that were in a request that was rejected as a whole.
  func bisected(of zone: ZoneKey) throws -> [Candidate] {
    let condition = "zone = :zone AND owner = :owner AND bisection IS NOT NULL AND \(Ledger.ready)"
    return try found("operationsInBisection", condition, ["zone": zone.zone, "owner": zone.owner, "held": held])
  }

  func readyMembers(of group: String) throws -> [Candidate] {
    try found("operationsByGroup", "atomicGroup = :group AND \(Ledger.ready)", ["group": group, "held": held])
  }

  /// Operations of a zone whose noted blocker is one of these.
  func waiting(for ids: [Int64], in zone: ZoneKey) throws -> [Candidate] {
    // Without an order, the index returns the first rows without reading all that wait for one operation.
    try ledger.candidates(
      """
      FROM operations o INDEXED BY operationsByBlocker WHERE waitsFor IN (SELECT value FROM json_each(:ids))
        AND zone = :zone AND owner = :owner AND \(Ledger.ready) LIMIT :limit
      """,
      [
        "ids": Ledger.json(ids), "zone": zone.zone, "owner": zone.owner, "now": scope.now, "held": held,
        "limit": window,
      ]
    )
  }

  /// The oldest unblocked operations of a zone, by the order of types first if there is one; blocked ones without a
  /// note, which can be sent in one request with their blockers; and those that need a note.
  ///
  /// Each part of the queue (a type's saves or deletes) is read from an index of operations without a noted blocker, so
  /// dead letters, blocked operations and paused types cost nothing.
  func oldest(of zone: ZoneKey) throws -> (free: [Candidate], unnoted: [Candidate], toNote: [Int64]) {
    let open = parts.filter { $0.zone == zone && scope.isReady($0.candidate) }
    var (free, unnoted, groups) = ([Candidate](), [Candidate](), Set<String>())
    let byRank = Dictionary(grouping: open) { typeOrder.rank($0.kind, $0.type) }
    for (_, parts) in byRank.sorted(by: { $0.key < $1.key }) where free.count < window {
      for (candidate, isBlocked, isOfBlockedGroup) in try oldest(of: parts) {
        if isBlocked {
          unnoted.append(candidate)
        } else if let group = candidate.group, isOfBlockedGroup {
          groups.insert(group)
        } else {
          free.append(candidate)
        }
      }
    }
    let toNote = try unnoted.map(\.id) + groups.flatMap(ledger.blockedFromOutside)
    return (Array(free.prefix(window)), unnoted, toNote)
  }

  private typealias Oldest = (candidate: Candidate, isBlocked: Bool, isOfBlockedGroup: Bool)

  /// The oldest operations of some parts of a zone's queue.
  private func oldest(of parts: [SendPart]) throws -> [Oldest] {
    // Many types share the rows that are read.
    let limit = min(window, max(50, 8 * Self.window / parts.count))
    // Beyond the last row of a part that was cut off, that part may have older rows than the others.
    var end = Int64.max
    var found: [Oldest] = []
    for part in parts {
      let isPending = part.state == .pending
      let rows = try ledger.rows(
        """
        \(Ledger.selection),
          atomicGroup IS NULL AND EXISTS (SELECT 1 FROM blockers b WHERE b.operation = o.id) AS isBlocked,
          atomicGroup IS NOT NULL AND EXISTS
            (SELECT 1 FROM operations m JOIN blockers b ON b.operation = m.id JOIN operations p ON p.id = b.blocker
              WHERE m.atomicGroup = o.atomicGroup AND p.atomicGroup IS NOT o.atomicGroup) AS isOfBlockedGroup
        FROM operations o INDEXED BY \(isPending ? "operationsFree" : "operationsDue")
        WHERE zone = :zone AND owner = :owner AND operation = :kind AND type IS :type
          AND \(isPending ? "state = 'pending'" : "state = 'waiting' AND nextAttemptAt <= :now")
          AND waitsFor IS NULL AND needsVerification = 0 AND needsUpload = 0 AND name IS NOT NULL
          AND NOT \(Ledger.isRecordGone) AND \(Ledger.isOfReadyGroup) AND \(Ledger.isOfFreeGroup)
        ORDER BY \(isPending ? "id" : "nextAttemptAt") LIMIT :limit
        """,
        [
          "zone": part.zone.zone, "owner": part.zone.owner, "kind": part.kind.rawValue, "type": part.type,
          "now": scope.now, "held": held, "limit": limit,
        ]
      ) { (try Ledger.candidate($0), $0[16], $0[17]) as Oldest }
      if rows.count == limit, isPending, let last = rows.last { end = min(end, last.candidate.id) }
      found += rows
    }
    return found.filter { $0.candidate.id <= end }.sorted { $0.candidate.id < $1.candidate.id }
  }
}
