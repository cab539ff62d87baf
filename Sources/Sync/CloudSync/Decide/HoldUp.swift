import CloudKit
import Facts

/// Explains why operations are not sent, by the rule that the planner follows. The rows are not rewritten for this; the
/// reason is computed when they are read, in one transaction.
struct HoldUp {
  private(set) var scope: SendScope
  private let ledger: Ledger
  private let hasEngine: Bool
  /// Whether conflicts that the app has not been asked about wait for it.
  private let conflictsWaitForApp: Bool
  /// The members of each atomic group that hold the others, once a row of the group was explained.
  private var holders: [String: Set<Int64>] = [:]
  /// The records of operations that others wait for, once a row that waits for them was explained.
  private var titles: [Int64: String] = [:]

  init(hasEngine: Bool, now: Int64, _ ledger: Ledger) throws {
    (self.ledger, self.hasEngine) = (ledger, hasEngine)
    let settings = try ledger.settings()
    let isForApp = try !ledger.isAppSyncing(hasEngine: hasEngine)
    scope = try ledger.sendScope(now: now, savesWaitForApp: isForApp && settings.asksBeforeSending == true)
    conflictsWaitForApp = isForApp && settings.asksAboutConflicts == true
  }

  /// Explains rows in another scope.
  init(_ scope: SendScope, _ ledger: Ledger) {
    (self.scope, self.ledger, hasEngine, conflictsWaitForApp) = (scope, ledger, false, false)
  }

  /// Returns the row with the actual reason for its wait as its cause, and the end of that wait: the latest of the
  /// waits that hold it, or nil if something without an end does.
  mutating func explained(_ row: QueueRow) throws -> QueueRow {
    var row = row
    row.recreatesZone = QueueVerb.retry.states.contains(row.state) && scope.goneZones.contains(row.key.zoneKey)
    if row.state == .inFlight, !hasEngine { row.cause = .senderEnded }
    if row.state == .conflict, conflictsWaitForApp, try ledger.isForApp(row.id) {
      row.cause = .noted(row.cause, .waitsForApp)
    }
    guard row.state.isOpen, let change = try ledger.candidate(row.id) else { return row }
    let eligibility = try eligibility(of: change, blockers: Set(row.blockedBy))
    // A cause that names who released the change says more than the engine's own next step.
    if eligibility.isDue, row.cause != .ready { return row }
    switch eligibility {
    case .now, .at(_, nil), .waits(nil): break
    case .at(let time, let cause?): (row.cause, row.nextAttemptAt) = (cause, time)
    case .waits(let cause?):
      (row.cause, row.nextAttemptAt) = (try named(cause), nil)
      if case .waitsFor(let ids, _, _, _) = cause { row.blockedBy = ids }
    }
    return row
  }

  /// The scope's rule for an operation with everything that other operations do to it.
  ///
  /// - Parameter blockers: the operations that block it; nil: they are read.
  mutating func eligibility(of change: Candidate, blockers: Set<Int64>? = nil) throws -> Eligibility {
    var change = change
    change.blockers = try blockers ?? Set(ledger.blockers(of: change.id, limit: Words.named + 1))
    change.holders = try change.group.map { try holders(in: $0) }?.subtracting([change.id]) ?? []
    return scope.eligibility(of: try joined(change))
  }

  /// Returns an operation blocked only by what holds the reference cycle that it closes, if it closes one: the cycle is
  /// sent as a whole.
  private func joined(_ change: Candidate) throws -> Candidate {
    guard change.closesCycle else { return change }
    let cycle = try ledger.cycle(closedBy: change.id)
    guard cycle.isClosed else { return change }
    var change = change
    let holders = cycle.holders(in: scope)
    change.cycleObstacle = holders.isEmpty ? cycle.obstacle : nil
    if change.cycleObstacle == nil { change.blockers = holders }
    return change
  }

  /// The earliest end of a back-off that leads to a request: nothing but time holds the operation.
  ///
  /// - Returns: nil if there is none among the next thousand, to bound the cost: any number may be paused or blocked.
  static func nextRetry(_ scope: SendScope, _ ledger: Ledger) throws -> Int64? {
    if scope.isPaused { return nil }
    var holdUp = HoldUp(scope, ledger)
    var end: Int64?
    try ledger.eachBackOff(after: scope.now) { change in
      // At its end; another wait may last longer.
      holdUp.scope.now = change.nextAttemptAt ?? scope.now
      // Most that are held are so by themselves.
      if holdUp.scope.eligibility(of: change).isDue, try holdUp.eligibility(of: change).isDue {
        end = change.nextAttemptAt
      }
      return end == nil
    }
    return end
  }

  /// A row names so many of the operations that it waits for.
  private static let mostNames = 3

  /// Returns a cause with the records of the first operations that it names.
  private mutating func named(_ cause: Cause) throws -> Cause {
    switch cause {
    case .waitsFor(let ids, let isGroup, _, _):
      .waitsFor(ids, isGroup: isGroup, names: try ids.prefix(Self.mostNames).map { try title(of: $0) })
    case .inCycle(let ids, let obstacle, _):
      .inCycle(ids, obstacle, names: try ids.prefix(Self.mostNames).map { try title(of: $0) })
    default: cause
    }
  }

  private mutating func title(of id: Int64) throws -> String {
    if let known = titles[id] { return known }
    let title = try ledger.title(of: id)?.shortened(to: 60) ?? "a change"
    titles[id] = title
    return title
  }

  private mutating func holders(in group: String) throws -> Set<Int64> {
    if let known = holders[group] { return known }
    let members = try ledger.members(of: group)
    let ids = Set(members.map(\.id))
    let blockers = try ledger.blockers(ofEach: members.map(\.id), limit: -1)
    let found = try members.filter { member in
      var member = member
      member.blockers = blockers[member.id, default: []].subtracting(ids)
      return scope.isHolder(member, blockers: try joined(member).blockers)
    }
    holders[group] = Set(found.map(\.id))
    return holders[group] ?? []
  }
}
