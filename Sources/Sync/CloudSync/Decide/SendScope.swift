package import Facts

/// A queued change, as far as it matters when and in which request it is sent.
package struct Candidate: Hashable, Sendable {
  package var id: Int64 = 0
  package var kind: OperationKind
  package var zone: ZoneKey
  package var type: String?
  package var bytes = 0
  /// The number of references in the request.
  package var references = 0
  /// The number of assets in the request.
  package var assets = 0
  /// The operations that block it.
  package var blockers: Set<Int64> = []
  package var group: String?
  /// Identifies a request with this operation that was rejected as a whole, for one record that the server did not
  /// name. Negative for a re-fetch.
  package var bisection: Int64?
  package var state = OperationState.pending
  package var nextAttemptAt: Int64?
  /// Whether the server's record or zone must be fetched before anything is sent.
  package var needsCheck = false
  /// Whether files must be uploaded first.
  package var needsUpload = false
  /// Whether the server deleted its record and that is not applied yet.
  package var isGone = false
  /// Whether it is noted to wait for itself, through its blockers.
  package var closesCycle = false
  /// Why the cycle that it closes cannot be sent.
  package var cycleObstacle: Cause.CycleObstacle?
  /// The other members of its atomic group that cannot be sent.
  package var holders: Set<Int64> = []
  /// Operations that should preferably be sent before this one.
  package var precedents: Set<Int64> = []

  /// Whether bisection applies. The members of an atomic group cannot be separated.
  var isBisected: Bool { bisection != nil && group == nil }
}

/// Whether a change may go now, and if not, why.
package enum Eligibility: Hashable, Sendable {
  case now
  /// Nothing but time holds it. The cause is nil where the change's own cause says it.
  case at(Int64, Cause?)
  /// It waits for something without a known end. The cause is nil where the change's own cause says it.
  case waits(Cause?)

  /// Whether nothing holds the change: the engine sends it now, or does first what it needs.
  var isDue: Bool {
    switch self {
    case .now, .waits(.zoneFirst), .waits(.filesFirst): true
    case .at, .waits: false
    }
  }
}

/// Everything outside a change that can hold it back, as one transaction knows it.
package struct SendScope: Hashable, Sendable {
  /// Milliseconds since 1970.
  package var now: Int64
  package var pauses: [Pause] = []
  /// The waits that are not over.
  package var waits: [WaitScope: ScopeWait] = [:]
  /// The queued operations on zones, oldest first.
  package var zoneOperations: [Candidate] = []
  /// The queued zone deletes.
  package var zoneDeletes: [ZoneKey: Int64] = [:]
  /// Zones that the server deleted and whose records are not removed yet.
  package var emptiedZones: Set<ZoneKey> = []
  /// Zones with deletions on hold, and whether the deletion of the whole zone is on hold.
  package var heldZones: [ZoneKey: Bool] = [:]
  /// Zones that may not exist on the server.
  package var missingZones: Set<ZoneKey> = []
  /// Zones that a retry creates again.
  package var goneZones: Set<ZoneKey> = []
  /// Whether saves wait for the app, which no process can ask.
  package var savesWaitForApp = false

  package init(now: Int64) { self.now = now }

  package var isPaused: Bool { pauses.ofEverything != nil }

  /// The end of the waits during which no request is made; nil if there is none.
  package var stopsUntil: Int64? { waits.values.filter { $0.scope.stopsAll && $0.until > now }.map(\.until).max() }

  /// Returns whether the next step of a change can be taken now: its check where it needs one, else its request. This
  /// is the only rule: the planner, the lists and the status ask it.
  package func eligibility(of change: Candidate) -> Eligibility {
    guard change.state.isOpen else { return .waits(nil) }
    if let hold = hold(on: change) { return .waits(hold) }
    let retry = change.state == .waiting ? change.nextAttemptAt.flatMap { $0 > now ? $0 : nil } : nil
    if let wait = wait(of: change), wait.until > retry ?? .min {
      return .at(wait.until, .waits(wait.scope.asCause, code: wait.code, until: wait.until))
    }
    if let retry { return .at(retry, nil) }
    if change.kind.isOfZone || change.needsCheck { return .now }
    if missingZones.contains(change.zone) { return .waits(.zoneFirst(zone: change.zone.zone)) }
    return change.needsUpload ? .waits(.filesFirst) : .now
  }

  /// Returns why a change cannot go whatever the time; nil if only waits, or a step before its own, hold it.
  private func hold(on change: Candidate) -> Cause? {
    if let pause = pauses.first(where: { $0.rule.holds(change.zone, type: change.type) }) {
      return .pausedByRule(pause.rule.asCause, by: pause.actor)
    }
    // A check waits for no other change.
    let isSent = !change.needsCheck
    let blockers = change.blockers.sorted()
    if isSent, let obstacle = change.cycleObstacle { return .inCycle(blockers, obstacle) }
    if isSent, !blockers.isEmpty { return .waitsFor(blockers, isGroup: false) }
    guard !change.kind.isOfZone else { return nil }
    if let delete = zoneDeletes[change.zone] { return .waitsForZoneDelete(delete) }
    if emptiedZones.contains(change.zone) { return .waitsForZoneDelete(0) }
    let isWholeZone = heldZones[change.zone]
    if isWholeZone == true { return .deletionsOnHold(zone: change.zone.title, isWholeZone: true) }
    if change.isGone {
      guard isWholeZone != nil else { return .recordDeletedWhileFetching }
      return .deletionsOnHold(zone: change.zone.title, isWholeZone: false)
    }
    guard isSent else { return nil }
    if savesWaitForApp, change.kind == .save { return .waitsForApp }
    return change.holders.isEmpty ? nil : .waitsFor(change.holders.sorted(), isGroup: true)
  }

  /// The longest wait of the scopes that hold a change.
  private func wait(of change: Candidate) -> ScopeWait? {
    waits.values.filter { wait in
      guard wait.until > now else { return false }
      return switch wait.scope {
      case .zone(let zone): zone == change.zone
      case .quota: change.kind == .save && !change.needsCheck
      default: wait.scope.stopsAll
      }
    }.max { $0.until < $1.until }
  }

  /// Whether a change is ready by itself. Its blockers may go in the same request.
  func isReady(_ change: Candidate) -> Bool { eligibility(of: change.alone) == .now }

  /// Whether a change only waits for its files to be uploaded.
  func needsFiles(_ change: Candidate) -> Bool { eligibility(of: change.alone) == .waits(.filesFirst) }

  /// Whether neither time nor a step before its own makes a change ready.
  func isHeld(_ change: Candidate) -> Bool {
    let eligibility = eligibility(of: change.alone)
    if case .waits = eligibility { return !eligibility.isDue }
    return false
  }

  /// Whether a member of an atomic group holds the others, beyond what holds all of them alike.
  ///
  /// - Parameter blockers: the member's blockers outside the group.
  func isHolder(_ member: Candidate, blockers: Set<Int64>) -> Bool {
    guard member.state != .inFlight, !member.needsCheck else { return member.needsCheck }
    var member = member.alone
    member.blockers = blockers
    switch eligibility(of: member) {
    case .now, .waits(.zoneFirst): return false
    case .at(_, .waits(let scope, _, _)): return scope == .quota
    case .at, .waits: return true
    }
  }
}

extension Candidate {
  /// The change without what other operations do to it.
  fileprivate var alone: Candidate {
    var change = self
    (change.blockers, change.holders, change.cycleObstacle) = ([], [], nil)
    return change
  }

  /// Whether it would cascade to other records if one of these saves, which remove the references to its record, were
  /// rejected while the rest of the request is carried out.
  func mayTakeAlong(_ saves: Set<Int64>) -> Bool { kind == .delete && !blockers.isDisjoint(with: saves) }
}
