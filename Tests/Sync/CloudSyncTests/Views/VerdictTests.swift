import CloudKit
import Facts
import Testing

@testable import CloudSync

/// Which verdict holds.
struct VerdictTests {
  /// Facts that each make one verdict true, in the order in which verdicts are looked for.
  private enum Fact: CaseIterable {
    case full, refused, signedOut, onHold, quota, unreadable, stalled, failed, conflict, paused, offline, silent,
      inFlight,
      sendable, throttled, changeThrottled, retrying, forApp, pausedRow, blocked
  }

  private static let zone = ZoneKey(zone: "notes")

  /// A status in which a process is syncing or not, everything was fetched, and these facts hold.
  private static func status(_ facts: [Fact], isSyncing: Bool, lastSuccessAt: Int64? = 1) -> StoreStatus {
    var status = StoreStatus(generatedAt: 10)
    status.syncingProcess = StoreStatus.SyncingProcess(pid: 1, host: "h", isLive: isSyncing)
    status.lastSuccessAt = lastSuccessAt
    status.reachedEnd = true
    status.identity = "_ana"
    for fact in facts { apply(fact, to: &status) }
    // Nothing can be sent while everything is paused.
    if facts.contains(.paused) { (status.sendableSince, status.canSendLater) = (nil, false) }
    return status
  }

  private static func apply(_ fact: Fact, to status: inout StoreStatus) {
    func add(_ state: OperationState) {
      status.queue.total += 1
      status.queue.parts.append(QueuePart(state: state, zone: zone, type: "Note", count: 1, bytes: 1))
    }
    func wait(_ scope: WaitScope, _ code: String, isOwn: Bool) {
      status.throttles.append(ScopeWait(scope: scope, until: 20, code: code, message: "", isOwn: isOwn, since: 1))
    }
    func problem(_ scope: WaitScope, _ code: String, _ message: String) -> ScopeWait {
      ScopeWait(scope: scope, until: 20, code: code, message: message, isOwn: true, since: 1)
    }
    switch fact {
    case .full: status.storageTrouble = .full
    case .stalled:
      status.syncingProcess?.isLive = false
      status.syncingProcess?.stalledSince = 5
    case .silent: status.silentSince = 5
    case .refused: status.isRefused = true
    case .signedOut: status.accountProblem = problem(.account, "AUTHENTICATION_FAILED", "no")
    case .onHold:
      status.heldDeletions.append(
        HeldDeletions(zone: zone, version: "v", records: 150, isWholeZone: false, since: .distantPast)
      )
    case .quota: status.quotaProblem = problem(.quota, "QUOTA_EXCEEDED", "full")
    case .unreadable: status.unreadable.append(Unreadable(zone: zone, type: "Note", message: "no READ", since: 1))
    case .failed:
      add(.failed)
      status.queue.failed += 1
    case .conflict:
      add(.conflict)
      status.queue.conflicts += 1
    case .paused: status.pauses.append(Pause(rule: .everything, at: 1, actor: "ana"))
    case .offline:
      add(.pending)
      status.queue.pending += 1
      status.canSendLater = true
      status.networkProblem = problem(.network, "NETWORK_ERROR", "cut")
      wait(.network, "NETWORK_ERROR", isOwn: true)
    case .inFlight:
      add(.inFlight)
      status.queue.inFlight += 1
    case .sendable:
      add(.pending)
      status.queue.pending += 1
      (status.sendableSince, status.canSendLater) = (1, true)
    case .throttled:
      add(.pending)
      status.queue.pending += 1
      status.canSendLater = true
      wait(.database, "THROTTLED", isOwn: false)
    case .changeThrottled:
      add(.waiting)
      status.queue.waiting += 1
      status.canSendLater = true
      status.changeThrottledUntil = 20
    case .retrying:
      add(.waiting)
      status.queue.waiting += 1
      status.canSendLater = true
    case .blocked:
      add(.pending)
      status.queue.pending += 1
    case .forApp:
      add(.pending)
      status.queue.pending += 1
      status.savesForApp += 1
    case .pausedRow:
      add(.paused)
      status.queue.paused += 1
    }
  }

  /// The verdict that a fact alone makes.
  private static func name(_ fact: Fact, isSyncing: Bool) -> String? {
    switch fact {
    case .full: "storeFull"
    case .stalled: "notSyncing"
    case .silent: isSyncing ? "offline" : nil
    case .refused: "wrongAccount"
    case .signedOut: "signedOut"
    case .onHold: "decisionNeeded"
    case .quota, .unreadable: "blocked"
    case .failed: "failed"
    case .conflict: "conflicts"
    case .paused: "paused"
    case .offline: isSyncing ? "offline" : "notSyncing"
    case .inFlight, .sendable: isSyncing ? "sending" : "notSyncing"
    case .throttled, .changeThrottled: isSyncing ? "throttled" : "notSyncing"
    case .retrying: isSyncing ? "retrying" : "notSyncing"
    case .forApp: "waitingForApp"
    case .pausedRow: "partlyPaused"
    // Only beside what blocks it.
    case .blocked: nil
    }
  }

  @Test func `every combination of facts has the first verdict of the table`() throws {
    let facts = Fact.allCases
    for bits in 0..<(1 << facts.count) {
      let held = facts.indices.filter { bits & (1 << $0) != 0 }.map { facts[$0] }
      for isSyncing in [true, false] {
        let verdict = Self.status(held, isSyncing: isSyncing).verdict(hasCredential: true)
        let syncs = isSyncing && !held.contains(.stalled)
        // While everything is paused, nobody has to sync for what waits.
        let isPaused = held.contains(.paused)
        let names = Set(
          held.compactMap { fact -> String? in
            let name = Self.name(fact, isSyncing: syncs)
            return isPaused && name == "notSyncing" && fact != .stalled ? nil : name
          }
        )
        let isFine = held.allSatisfy { $0 == .silent && !syncs }
        let wanted = Verdict.names.first(where: names.contains) ?? (isFine ? "inSync" : "outOfDate")
        guard verdict.name != wanted else { continue }
        return #expect(verdict.name == wanted, "\(held) \(isSyncing)")
      }
    }
  }

  @Test func `without trouble it is in sync, fetching, never synced or out of date`() {
    func verdict(_ change: (inout StoreStatus) -> Void) -> String {
      var status = Self.status([], isSyncing: true)
      change(&status)
      return status.verdict(hasCredential: true).name
    }
    #expect(verdict { _ in } == "inSync")
    // A poll of a store that is in sync does not change the verdict.
    #expect(verdict { $0.activity = .fetching } == "inSync")
    #expect(verdict { ($0.activity, $0.reachedEnd) = (.fetching, false) } == "fetching")
    #expect(verdict { $0.reachedEnd = false } == "outOfDate")
    #expect(verdict { ($0.reachedEnd, $0.lastSuccessAt) = (false, nil) } == "neverSynced")
  }

  @Test(arguments: [
    (Verdict.unreadable("damaged"), StoreStatus.State?.some(.error)), (.storeFull(.full), .error),
    (.wrongAccount(owner: nil), .error), (.signedOut(unsent: 1), .error),
    (.signedOut(unsent: 1, lacksCredential: true), nil), (.decisionNeeded(deletions: 1, zones: ["a"]), nil),
    (.blocked(.quota("full")), .error), (.notSyncing(unsent: 1, wait: nil), nil), (.failed(1), nil),
    (.conflicts(1), nil), (.paused(by: nil, at: nil, unsent: 1), .paused),
    (.offline(reason: "", since: nil, nextTry: nil, unsent: 1), .offline),
    (.sending(done: 1, of: 2, perSecond: nil, secondsLeft: nil), .sending),
    (.throttled(until: nil, unsent: 1), .waiting),
    (.retrying(1, nextTry: nil), .waiting), (.waitingForApp(1), nil), (.partlyPaused(1), nil), (.inSync(at: 1), nil),
    (.fetching, .fetching), (.neverSynced(hasStore: true), nil), (.outOfDate(at: nil), nil),
  ])
  func `a verdict says what syncing is at, unless it may be doing anything`(
    _ verdict: Verdict,
    _ state: StoreStatus.State?
  ) {
    #expect(verdict.state == state)
  }

  @Test(arguments: [true, false])
  func `the state is that of the first verdict that has one, else what is done or was met`(isSyncing: Bool) {
    func state(_ facts: [Fact], _ change: (inout StoreStatus) -> Void = { _ in }) -> StoreStatus.State {
      var status = Self.status(facts, isSyncing: isSyncing)
      change(&status)
      return status.state
    }
    #expect(state([]) == .idle)
    #expect(state([.failed, .conflict]) == .idle)
    #expect(state([.failed], { $0.activity = .fetching }) == .fetching)
    #expect(state([.failed, .paused, .throttled]) == .paused)
    #expect(state([.signedOut, .paused]) == .error)
    #expect(state([.failed, .offline]) == .offline)
    #expect(state([.throttled]) == .waiting)
    #expect(state([.retrying]) == .waiting)
    #expect(state([.retrying], { $0.errorStands = true }) == .error)
    #expect(state([.sendable]) == (isSyncing ? .sending : .idle))
    #expect(state([.pausedRow]) == .paused)
    #expect(state([], { ($0.errorStands, $0.reachedEnd) = (true, false) }) == .error)
  }

  @Test func `changes without a syncing process and without a credential mean signed out`() {
    let status = Self.status([.inFlight], isSyncing: false)

    #expect(status.verdict(hasCredential: false) == .signedOut(unsent: 1, lacksCredential: true))
    #expect(status.verdict(hasCredential: true).name == "notSyncing")
    #expect(Self.status([], isSyncing: false).verdict(hasCredential: false).name == "inSync")
  }

  @Test func `a conflict that the app decides waits for the app`() {
    var status = Self.status([.conflict], isSyncing: true)
    status.conflictsForApp = 1

    #expect(status.verdict(hasCredential: true) == .waitingForApp(1))
  }

  @Test func `a zone rule makes its changes partly paused, and others are sent`() {
    var status = Self.status([.inFlight], isSyncing: true)
    status.pauses = [Pause(rule: .zone(Self.zone), at: 1, actor: "ana")]
    #expect(status.verdict(hasCredential: true) == .partlyPaused(1, rules: [.zone("notes")]))

    status.queue.parts.append(
      QueuePart(state: .pending, zone: ZoneKey(zone: "b"), type: "Note", count: 1, bytes: 1)
    )
    status.queue.total += 1
    status.sendableSince = 1
    #expect(status.verdict(hasCredential: true).name == "sending")
  }

  @Test func `all that holds is listed, the worst first`() {
    var status = Self.status([.failed, .conflict, .pausedRow, .sendable], isSyncing: false)
    #expect(status.verdicts(hasCredential: true).all.map(\.kind) == [.notSyncing, .failed, .conflicts, .partlyPaused])

    status.syncingProcess?.isLive = true
    #expect(
      status.verdicts(hasCredential: true).all.map(\.kind) == [.failed, .conflicts, .sending, .partlyPaused]
    )
    #expect(status.verdicts(hasCredential: true).problems.map(\.kind) == [.failed, .conflicts, .partlyPaused])
  }

  @Test func `what waits for a person is not retrying or throttled besides`() {
    let waits: [(Fact, scope: WaitScope, code: String, VerdictState)] = [
      (.quota, .quota, "QUOTA_EXCEEDED", .blocked), (.signedOut, .account, "AUTHENTICATION_FAILED", .signedOut),
      (.sendable, .zone(Self.zone), "QUOTA_EXCEEDED", .blocked),
    ]
    for (fact, scope, code, verdict) in waits {
      for isOwn in [true, false] {
        var status = Self.status([fact], isSyncing: true)
        status.throttles = [ScopeWait(scope: scope, until: 20, code: code, message: "", isOwn: isOwn, since: 1)]
        #expect(status.verdicts(hasCredential: true).all.map(\.kind).filter { $0 != .sending } == [verdict])

        // Another wait is news of its own.
        status.throttles.append(
          ScopeWait(scope: .zone(ZoneKey(zone: "b")), until: 30, code: "THROTTLED", message: "", isOwn: isOwn, since: 1)
        )
        #expect(status.verdicts(hasCredential: true).all.map(\.kind).contains(isOwn ? .retrying : .throttled))
      }
    }
  }

  @Test func `a sync is held up by the account, then by the server, then by a back-off`() {
    func wait(_ scope: WaitScope, until: Int64, isOwn: Bool) -> ScopeWait {
      ScopeWait(scope: scope, until: until, code: "THROTTLED", message: "", isOwn: isOwn, since: 1)
    }
    var status = StoreStatus(generatedAt: 10)
    status.throttles = [wait(.network, until: 40, isOwn: true)]
    let backOff = status.standingWait
    status.throttles += [wait(.database, until: 20, isOwn: false), wait(.zone(Self.zone), until: 30, isOwn: false)]
    let server = status.standingWait
    status.accountProblem = wait(.account, until: 5, isOwn: true)

    #expect([backOff, server, status.standingWait].map(\.?.scope) == [.network, .zone(Self.zone), .account])
  }

  @Test func `no sync is asked for while nothing can be written`() {
    for trouble in StorageTrouble.allCases {
      var status = Self.status([.sendable], isSyncing: false)
      #expect(status.verdicts(hasCredential: true).all.map(\.kind) == [.notSyncing])

      (status.storageTrouble, status.isStorageAwaited) = (trouble, true)

      #expect(status.verdicts(hasCredential: true).all == [.storeFull(trouble, isAwaited: true)])
    }
  }

  @Test func `the account of another user is not called signed out`() {
    let status = Self.status([.refused, .signedOut], isSyncing: true)

    #expect(status.verdicts(hasCredential: true).all == [.wrongAccount(owner: "_ana")])
  }

  @Test func `record types whose queries are rejected are blocked, with the way to their indexes`() {
    var status = Self.status([.retrying], isSyncing: true)
    status.rejectedQueries = [
      RejectedQuery(type: "Note", message: "no index"), RejectedQuery(type: "Task", message: ""),
    ]

    let verdict = status.verdict(hasCredential: true)

    #expect(verdict == .blocked(.queries(count: 2, type: "Note", message: "no index")))
    #expect(verdict.nextStep == "cktop schema infer --type Note")
  }

  @Test func `verdicts stand in the order of their marks`() {
    let kinds = VerdictState.allCases
    let marks = kinds.prefix { $0 != .paused }.compactMap { kind in
      switch kind {
      case .failed, .conflicts: Verdict.Urgency.look
      default: .act
      }
    }
    #expect(marks == marks.sorted { $0 == .act && $1 == .look })
  }

  @Test func `a rule is shown although nothing waits for it`() {
    var status = Self.status([], isSyncing: true)
    status.pauses = [Pause(rule: .type("Note"), at: 1, actor: nil)]

    let verdicts = status.verdicts(hasCredential: true)

    #expect(verdicts.all == [.inSync(at: 1), .partlyPaused(0, rules: [.type("Note")])])
    #expect(verdicts.problems.map(\.nextStep) == ["cktop queue resume --type Note"])
  }

  @Test func `dropped changes that no person has seen never stand under a green mark`() {
    for facts in [[], [.sendable]] as [[Fact]] {
      var status = Self.status(facts, isSyncing: true)
      #expect(status.verdicts(hasCredential: true).urgency == .fine)

      status.dropped = StoreStatus.Dropped(unseen: 5, total: 5)

      #expect(status.verdicts(hasCredential: true).urgency == .look)
    }
  }

  @Test func `in sync has an age`() {
    func kinds(isSyncing: Bool, interval: Int64?, age: Int64) -> [VerdictState] {
      var status = Self.status([], isSyncing: isSyncing)
      (status.pollInterval, status.generatedAt) = (interval, 1 + age)
      return status.verdicts(hasCredential: true).all.map(\.kind)
    }
    #expect(kinds(isSyncing: true, interval: 30_000, age: 90_000) == [.inSync])
    #expect(kinds(isSyncing: true, interval: 30_000, age: 90_001) == [.outOfDate])
    #expect(kinds(isSyncing: true, interval: nil, age: 90_001) == [.inSync])
    #expect(kinds(isSyncing: false, interval: 30_000, age: 86_400_000) == [.inSync])
    #expect(kinds(isSyncing: false, interval: 30_000, age: 86_400_001) == [.outOfDate])

    var failed = Self.status([.failed], isSyncing: false)
    failed.generatedAt = 90_000_000
    #expect(failed.verdicts(hasCredential: true).all.map(\.kind) == [.failed, .outOfDate])
  }

  @Test func `the verdict is looked at again when it may change by itself`() {
    var status = Self.status([], isSyncing: true)
    status.pollInterval = 30_000
    #expect(status.changesAt == 90_002)

    status.looksAgainAt = 8_000
    #expect(status.changesAt == 8_000)
  }

  @Test func `a sync of another user is noted until the store's user syncs again`() async throws {
    let world = try World()
    let ana = try world.device("store")
    try await ana.sync()
    let ben = try world.device("store", user: "ben")

    await #expect(throws: StoreError.self) { try await ben.engine.syncOnce() }
    #expect(try ana.store.status().verdict(hasCredential: true).name == "wrongAccount")
    try await ana.sync()

    #expect(try ana.store.status().verdict(hasCredential: true).name == "inSync")
  }
}

/// The badge and the sentence of several verdicts.
struct VerdictsTests {
  @Test(arguments: [
    (45, "■ not syncing  20 failed  3 conflicts  paused"), (24, "■ not syncing  20 failed"), (9, "■ not syncing"),
  ])
  func `the badge names what fits, the worst first, and leaves out what goes on by itself`(width: Int, text: String) {
    let verdicts = Verdicts([
      .notSyncing(unsent: 50_000, wait: nil), .failed(20), .conflicts(3), .paused(by: nil, at: nil, unsent: 1),
      .retrying(2, nextTry: nil),
    ])

    #expect(verdicts.badge(width: width) == text)
  }

  @Test func `dropped changes are counted once`() {
    let format = Format(timeZone: .gmt)
    let inSync = Verdicts([.inSync(at: nil, dropped: 5)], dropped: 5)
    let sending = Verdicts([.sending(done: 1, of: 2, perSecond: nil, secondsLeft: nil)], dropped: 5)

    #expect(inSync.badge(width: 40) == "▲ in sync  5 dropped")
    #expect(inSync.sentence(format, now: 0).matches(of: /5/).count == 1)
    #expect(sending.badge(width: 40) == "▲ sending  5 dropped")
    #expect(sending.sentence(format, now: 0).matches(of: /5/).count == 1)
  }
}
