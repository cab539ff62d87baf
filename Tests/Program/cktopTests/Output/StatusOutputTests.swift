import CloudKit
import CloudService
import Facts
import Testing

@testable import CloudSync
@testable import cktop

/// What `status` says of the queue's parts.
@Suite(.serialized) struct StatusOutputTests {
  private func object(_ parts: [QueuePart], _ status: StoreStatus = StoreStatus(generatedAt: 0)) -> StatusObject {
    var status = status
    status.queue.parts = parts
    let scope = SyncStore.Scope(container: "iCloud.a", environment: "development", database: .shared)
    return StatusObject(
      status: status,
      storePath: "/s",
      scope: scope,
      account: AccountState(status, credential: "apiToken")
    )
  }

  private static let mine = ZoneKey(zone: "Notes")
  private static let hers = ZoneKey(zone: "Notes", owner: "_ana")

  @Test func `the bar of a sync names a reply that does not come, whatever else is in progress`() {
    var status = StoreStatus(generatedAt: 10_000)
    status.progress = Progress(phase: .send, done: 1, total: 4)
    let bar = ProgressBar.line(status, width: 80)
    status.silentSince = 1_000
    let waiting = ProgressBar.line(status, width: 80)

    #expect(bar.hasPrefix("[") && !waiting.hasPrefix("["))
    #expect(waiting.contains(Format().time(1_000, now: 10_000)))
  }

  @Test func `the answer to a request for the account is one of five states`() {
    let codes: [(ServerErrorCode, AccountState.Status)] = [
      (.authenticationRequired, .noAccount), (.accessDenied, .restricted), (.throttled, .temporarilyUnavailable),
      (.badRequest, .couldNotDetermine),
    ]
    for (code, status) in codes {
      let refused = AccountState(.failure(WebServicesError(code, "no")), credential: "webAuth", database: .private)
      #expect(refused.status == status && refused.user == nil)
    }
    let accepted = AccountState(.success("_ana"), credential: "webAuth", database: .private)
    #expect(accepted.status == .available && accepted.user == "_ana")
  }

  @Test func `a sync that stopped an endless list of changes ends with 5 and says so`() {
    var status = StoreStatus(generatedAt: 10_000)
    let error = WebServicesError.endless(pages: 1_000)
    status.throttles = [
      ScopeWait(
        scope: .feed(""),
        until: 12_000,
        code: error.code.name,
        message: error.reason,
        isOwn: true,
        since: 9_000
      )
    ]

    let report = SyncReport(SyncSummary(), status, startedAt: 1_000, failedForPerson: 0, waitForCloud: 0)

    #expect(report.status == .cloudUnreachable && report.error?.reason == error.reason)
  }

  @Test func `the queue is told by state, zone and type, and what is unknown is null`() {
    let parts = [
      QueuePart(state: .failed, zone: Self.hers, type: "Note", count: 2, bytes: 50),
      QueuePart(state: .pending, zone: Self.mine, type: "", count: 1, bytes: 0),
    ]

    #expect(
      object(parts).json.line.contains(
        #""parts": [{"state": "failed", "zone": "Notes", "owner": "_ana", "recordType": "Note", "count": 2, "#
          + #""bytes": 50}, {"state": "pending", "zone": "Notes", "owner": null, "recordType": null, "count": 1, "#
          + #""bytes": 0}]"#
      )
    )
    #expect(object([]).json.line.contains(#""parts": []"#))
  }

  private typealias Change = @Sendable (inout StoreStatus) -> Void
  private static let problem = wait(.quota, "QUOTA_EXCEEDED", "full")

  /// A wait that is over; its problem lasts.
  private static func wait(_ scope: WaitScope, _ code: String, _ message: String) -> ScopeWait {
    ScopeWait(scope: scope, until: 1, code: code, message: message, isOwn: true, since: 1)
  }

  /// What is wrong, the verdict about it, and the exit code.
  private static let standing: [(Change, String, CommandStatus)] = [
    ({ $0.queue.pending = 1 }, "neverSynced", .done), ({ $0.canSendLater = true }, "notSyncing", .personNeeded),
    ({ $0.hasChores = true }, "notSyncing", .personNeeded),
    ({ $0.quotaProblem = problem }, "blocked", .personNeeded),
    ({ $0.accountProblem = problem }, "blocked", .personNeeded),
    (
      {
        let error = StoreStatus.Failure(code: problem.code, message: problem.message, at: 1)
        ($0.lastError, $0.errorStands) = (error, true)
      }, "blocked", .personNeeded
    ),
    (
      {
        let zone = WaitScope.zone(ZoneKey(zone: "n"))
        $0.throttles = [ScopeWait(scope: zone, until: 9, code: problem.code, message: "", isOwn: true, since: 1)]
      },
      "blocked",
      .personNeeded
    ),
    (
      {
        $0.throttles = [ScopeWait(scope: .database, until: 9, code: "THROTTLED", message: "", isOwn: false, since: 1)]
      },
      "throttled", .done
    ),
    ({ $0.isRefused = true }, "wrongAccount", .personNeeded),
    ({ $0.queue.conflicts = 1 }, "conflicts", .personNeeded), ({ $0.queue.failed = 1 }, "failed", .itemsFailed),
    ({ ($0.queue.failed, $0.queue.conflicts) = (1, 1) }, "failed", .personNeeded),
    ({ $0.savesForApp = 1 }, "waitingForApp", .personNeeded),
    ({ ($0.queue.conflicts, $0.conflictsForApp) = (1, 1) }, "waitingForApp", .personNeeded),
    ({ $0.errorStands = true }, "neverSynced", .itemsFailed),
  ]

  @Test func `the exit code is that of everything in the way, and the verdict is the first of it`() {
    for (place, (change, verdict, code)) in Self.standing.enumerated() {
      var status = StoreStatus(generatedAt: 0)
      change(&status)
      #expect(status.verdict(hasCredential: true).name == verdict, "\(place)")
      #expect(status.code(hasCredential: true, failedForPerson: 0) == code, "\(place)")
    }
  }

  /// A situation of a store, and its exit codes: without a limit, with one that everything meets, and with one that what
  /// is unsent, or a hang, exceeds.
  private struct Situation {
    var name: String
    /// Whether a change is unsent that no person holds.
    var hasUnsent = true
    var codes: [CommandStatus]
    var change: Change = { _ in }
  }

  private static let zone = QueuePart(state: .waiting, zone: mine, type: "Note", count: 1, bytes: 1)

  private static func isLive(_ status: inout StoreStatus) {
    status.syncingProcess = .init(pid: 1, host: "h", isLive: true)
  }

  private static func waits(_ scope: WaitScope, _ code: String, isOwn: Bool = true) -> Change {
    { status in
      isLive(&status)
      status.throttles = [ScopeWait(scope: scope, until: 2_000_000, code: code, message: "", isOwn: isOwn, since: 1)]
    }
  }

  private static let moving: [Situation] = [
    Situation(name: "in sync", hasUnsent: false, codes: [.done, .done, .done], change: isLive),
    Situation(name: "no store yet", hasUnsent: false, codes: [.done, .done, .done]) { $0.hasStore = false },
    Situation(name: "out of date", hasUnsent: false, codes: [.done, .done, .done]) { $0.lastSuccessAt = 1 },
    Situation(name: "all is paused", hasUnsent: false, codes: [.done, .done, .done]) {
      $0.pauses = [Pause(rule: .everything, at: 1)]
    },
    Situation(name: "sending", codes: [.done, .done, .personNeeded]) {
      isLive(&$0)
      $0.sendableSince = 1
    },
    Situation(name: "no process", codes: [.personNeeded, .done, .personNeeded]) { $0.canSendLater = true },
    Situation(name: "no process, and offline when one synced", codes: [.personNeeded, .done, .personNeeded]) {
      ($0.canSendLater, $0.networkProblem) = (true, problem)
    },
    Situation(name: "a chore is open", hasUnsent: false, codes: [.personNeeded, .done, .done]) { $0.hasChores = true },
    Situation(name: "a chore is open, and a process syncs", hasUnsent: false, codes: [.done, .done, .done]) {
      isLive(&$0)
      $0.hasChores = true
    },
    Situation(name: "offline", codes: [.done, .done, .cloudUnreachable]) {
      waits(.network, "NETWORK_ERROR")(&$0)
      $0.networkProblem = wait(.network, "NETWORK_ERROR", "cut")
    },
    Situation(name: "a silent server", codes: [.done, .done, .cloudUnreachable]) {
      isLive(&$0)
      $0.silentSince = 1
    },
    Situation(name: "throttled", codes: [.done, .done, .cloudUnreachable], change: waits(.database, "THROTTLED")),
    Situation(
      name: "a wait of the server",
      codes: [.done, .done, .cloudUnreachable],
      change: waits(.zone(ZoneKey(zone: "a")), "THROTTLED", isOwn: false)
    ),
    Situation(name: "a change throttled", codes: [.done, .done, .cloudUnreachable]) {
      isLive(&$0)
      $0.changeThrottledUntil = 2_000_000
    },
    Situation(name: "a feed waits", codes: [.done, .done, .personNeeded], change: waits(.feed("a"), "THROTTLED")),
    Situation(name: "retrying", codes: [.done, .done, .personNeeded]) {
      isLive(&$0)
      $0.queue.parts = [zone]
    },
    Situation(name: "waits for the app", codes: [.personNeeded, .done, .personNeeded]) {
      isLive(&$0)
      $0.savesForApp = 1
    },
    Situation(name: "a conflict waits for the app", codes: [.personNeeded, .done, .personNeeded]) {
      isLive(&$0)
      ($0.queue.conflicts, $0.conflictsForApp) = (1, 1)
    },
    Situation(name: "waits for the app and the server", codes: [.personNeeded, .done, .personNeeded]) {
      waits(.database, "THROTTLED")(&$0)
      $0.savesForApp = 1
    },
  ]

  private static let standingStill: [Situation] = [
    Situation(name: "disk full", codes: [.personNeeded, .personNeeded, .personNeeded]) { $0.storageTrouble = .full },
    Situation(name: "wrong account", codes: [.personNeeded, .personNeeded, .personNeeded]) { $0.isRefused = true },
    Situation(name: "signed out", codes: [.personNeeded, .personNeeded, .personNeeded]) {
      waits(.account, "AUTHENTICATION_FAILED")(&$0)
      $0.accountProblem = wait(.account, "AUTHENTICATION_FAILED", "no")
    },
    Situation(name: "deletions on hold", hasUnsent: false, codes: [.personNeeded, .personNeeded, .personNeeded]) {
      $0.heldDeletions = [.init(zone: mine, version: "v", records: 9, isWholeZone: false, since: .distantPast)]
    },
    Situation(name: "quota", codes: [.personNeeded, .personNeeded, .personNeeded]) {
      waits(.quota, "QUOTA_EXCEEDED")(&$0)
      $0.quotaProblem = problem
    },
    Situation(name: "unreadable zone", hasUnsent: false, codes: [.personNeeded, .personNeeded, .personNeeded]) {
      $0.unreadable = [Unreadable(zone: mine, type: nil, message: "no READ", since: 1)]
    },
    Situation(name: "a conflict", hasUnsent: false, codes: [.personNeeded, .personNeeded, .personNeeded]) {
      $0.queue.conflicts = 1
    },
    Situation(name: "failed", hasUnsent: false, codes: [.itemsFailed, .itemsFailed, .itemsFailed]) {
      $0.queue.failed = 1
    },
    Situation(name: "failed, and throttled", codes: [.itemsFailed, .itemsFailed, .cloudUnreachable]) {
      waits(.database, "THROTTLED")(&$0)
      $0.queue.failed = 1
    },
    Situation(name: "failed, and no process", codes: [.personNeeded, .itemsFailed, .personNeeded]) {
      ($0.queue.failed, $0.canSendLater) = (1, true)
    },
    Situation(name: "an error stands", hasUnsent: false, codes: [.itemsFailed, .itemsFailed, .itemsFailed]) {
      $0.errorStands = true
    },
  ]

  @Test func `with a limit the exit code is an alarm for what is unsent for longer, whatever holds it`() {
    for situation in Self.moving + Self.standingStill {
      var status = StoreStatus(generatedAt: 1_000_000)
      situation.change(&status)
      let limits = ([nil, 900_000, 899_999] as [Int64?]).map { time in
        time.map { AgeLimit(milliseconds: 100_000, oldestAt: situation.hasUnsent ? $0 : nil) }
      }
      let codes = limits.map { status.code(hasCredential: true, failedForPerson: 0, limit: $0) }
      #expect(codes == situation.codes, "\(situation.name)")
    }
  }

  @Test func `a hang is an alarm once it has lasted longer than the limit, also while nothing is unsent`() {
    func code(stalledSince: Int64, oldestAt: Int64?, _ limit: Int64?) -> CommandStatus {
      var status = StoreStatus(generatedAt: 1_000_000)
      status.syncingProcess = .init(pid: 1, host: "h", isLive: false, stalledSince: stalledSince)
      let limit = limit.map { AgeLimit(milliseconds: $0, oldestAt: oldestAt) }
      return status.code(hasCredential: true, failedForPerson: 0, limit: limit)
    }
    #expect(code(stalledSince: 990_000, oldestAt: nil, nil) == .personNeeded)
    #expect(code(stalledSince: 990_000, oldestAt: 980_000, 100_000) == .done)
    #expect(code(stalledSince: 990_000, oldestAt: 800_000, 100_000) == .personNeeded)
    #expect(code(stalledSince: 800_000, oldestAt: nil, 100_000) == .personNeeded)
  }

  @Test func `without a credential a limit judges by age, too`() {
    var status = StoreStatus(generatedAt: 1_000_000)
    status.canSendLater = true
    for (oldest, code) in [(990_000, CommandStatus.done), (10_000, .personNeeded)] as [(Int64, CommandStatus)] {
      let limit = AgeLimit(milliseconds: 100_000, oldestAt: oldest)
      #expect(status.code(hasCredential: false, failedForPerson: 0, limit: limit) == code)
    }
  }

  @Test func `a token of another user is said to be that`() {
    var status = StoreStatus(generatedAt: 0)
    (status.identity, status.isRefused) = ("_ana", true)
    status.accountProblem = Self.wait(.account, "AUTHENTICATION_FAILED", "not _ben's")
    let scope = SyncStore.Scope(container: "iCloud.a", environment: "development", database: .private)
    let account = AccountState(status, credential: "webAuth")

    let lines = StatusText(StatusObject(status: status, storePath: "/s", scope: scope, account: account)).lines

    let line = lines.first { $0.hasPrefix("Account") }
    #expect(line?.hasSuffix("wrong account; this store belongs to _ana, and the credential to another user") == true)
    #expect(!lines.contains { $0.lowercased().contains("signed out") })
  }

  @Test func `without a credential, unsent changes need a person`() {
    var status = StoreStatus(generatedAt: 0)
    status.canSendLater = true

    #expect(status.verdict(hasCredential: false).name == "signedOut")
    #expect(status.code(hasCredential: false, failedForPerson: 0) == .personNeeded)
    #expect(status.code(hasCredential: true, failedForPerson: 1) == .personNeeded)
  }

  @Test func `one line is whole in a pipe, and as wide as a terminal on one`() {
    let reason = Array(repeating: "the account may not do this", count: 9).joined(separator: ", ")
    var status = StoreStatus(generatedAt: 0)
    status.accountProblem = Self.wait(.account, "ACCESS_DENIED", reason)
    let text = StatusText(object([], status))

    #expect(text.line().contains(reason))
    #expect(text.line(width: 80).count <= 80)
  }

  @Test func `zones and types are summed up for people where there are several`() {
    let parts = [
      QueuePart(state: .failed, zone: Self.hers, type: "Note", count: 2, bytes: 50),
      QueuePart(state: .pending, zone: Self.hers, type: "Note", count: 3, bytes: 60),
      QueuePart(state: .pending, zone: Self.mine, type: "", count: 1, bytes: 0),
    ]
    let lines = StatusText(object(parts)).lines
    #expect(lines.contains("  by zone         Notes 1 (0 B), Notes of _ana 5 (110 B)"))
    #expect(lines.contains("  by type         (no type) 1 (0 B), Note 5 (110 B)"))

    let one = StatusText(object(Array(parts.prefix(2)))).lines
    #expect(!one.contains { $0.hasPrefix("  by") })
  }
}
