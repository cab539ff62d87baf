import Foundation
import TestSupport
import Testing

@testable import Facts

/// Every message that causes, events and obstacles become, in one file, so that wording is reviewed like a screen.
struct MessageTests {
  private static let causes: [Cause] =
    [
      .ready,
      .readyAgain(.edited), .readyAgain(.editedWhileSent), .readyAgain(.merged), .readyAgain(.retried(by: "ana")),
      .readyAgain(.resumed(by: "ana")), .readyAgain(.flushed), .readyAgain(.resolved(by: .person)),
      .readyAgain(.resolved(by: .app)), .readyAgain(.resolved(by: .policy)), .readyAgain(.repairedByApp),
      .readyAgain(.takenOver(by: "_ben")), .readyAgain(.recreates), .readyAgain(.zoneStillThere),
      .comparesFile, .deletesUnconfirmedSave, .basedOnOldVersion, .serverChanged,
      .unconfirmed(code: "NETWORK_ERROR"), .unconfirmed(code: "CONFLICT"), .checkRefused(code: "BAD_REQUEST"),
      .checkWaits(.database, code: "THROTTLED"), .sentBeforeRestart(isRepeated: false),
      .sentBeforeRestart(isRepeated: true),
      .waits(.network, code: "NETWORK_ERROR"), .waits(.account, code: "AUTHENTICATION_FAILED"),
      .waits(.network, code: "NETWORK_ERROR", until: 1_700_000_000_000),
      .waits(.account, code: "AUTHENTICATION_FAILED", until: 1_700_000_000_000),
      .waits(.quota, code: "QUOTA_EXCEEDED"), .waits(.database, code: "THROTTLED", until: 1_700_000_000_000),
      .waits(.zone("notes"), code: "TRY_AGAIN_LATER"),
      .waits(.database, code: "INTERNAL_ERROR"), .waits(.fetch(zone: nil, type: nil), code: "INTERNAL_ERROR"),
      .waits(.fetch(zone: "notes", type: nil), code: "INTERNAL_ERROR"),
      .waits(.fetch(zone: nil, type: "Task"), code: "ACCESS_DENIED"),
      .waits(.fetch(zone: "notes", type: "Task"), code: "ACCESS_DENIED"),
      .groupRejected, .requestTooLarge(code: "LIMIT_EXCEEDED"), .bisection(code: "BAD_REQUEST", count: 200),
      .inCycle([7], .size, names: ["Country/DE"]), .inCycle([7, 8], .zones), .zoneFirst(zone: "notes"), .filesFirst,
      .recordDeleted, .recordDeletedWhileFetching, .zoneMissing(zone: "notes", isDeleted: false),
      .zoneMissing(zone: "notes", isDeleted: true), .waitsFor([7], isGroup: false),
      .waitsFor(Array(1...12), isGroup: true), .waitsFor([7, 8], isGroup: false, hasMore: true),
      .waitsFor([7], isGroup: false, names: ["Country/DE"]),
      .waitsFor([7, 8, 9], isGroup: true, names: ["Country/DE", "Country/FR"]),
      .waitsFor([7, 8], isGroup: false, hasMore: true, names: ["Country/DE"]), .waitsForZoneDelete(7),
      .deletionsOnHold(zone: "notes", isWholeZone: true),
      .deletionsOnHold(zone: "notes", isWholeZone: false), .waitsForApp, .sending, .senderEnded,
      .backOff(code: "TRY_AGAIN_LATER", attempt: 3, of: 8), .backOff(code: "NEW_CODE", attempt: 1, of: 8),
      .stillReferredTo(code: "VALIDATING_REFERENCE_ERROR", attempt: 1, of: 8),
      .stillReferredTo(
        code: "VALIDATING_REFERENCE_ERROR",
        attempt: 8,
        of: 8,
        by: Referrers(first: "Task/t1", more: 1, isWhole: true)
      ),
      .appSilent("no answer within 30 s"), .pausedByRule(.everything, by: "ana"),
      .pausedByRule(.zone("notes"), by: nil), .pausedByRule(.zone("lists", owner: "_ben"), by: "ana"),
      .pausedByRule(.type("Task"), by: "ana"), .paused(by: "ana"), .paused(by: nil),
    ]
    + conflicts.map { .conflict($0) } + [.conflict(.fields(["title"]), rounds: 9)] + failures.map { .failed($0) }
    + [
      .noted(.paused(by: nil), .serverRecordChanged), .noted(.paused(by: nil), .recordDeleted),
      .noted(.paused(by: nil), .serverChanged), .noted(.conflict(.fields(["title"])), .waitsForApp),
      .onServer(), .onServer(isDeletion: true), .zoneDone, .editedBack, .deletedBeforeSent, .zoneDeleteEnqueued,
      .zoneKept, .serverKept(), .serverKept(fields: ["note", "title"]), .serverSideKept(.deletedHere),
      .serverSideKept(.deletedOnServer), .serverSideKept(.recreatedHere), .localKept(fields: ["note", "title"]),
      .localSideKept(.deletedHere), .localSideKept(.deletedOnServer), .localSideKept(.recreatedHere),
      .undone(by: "ana"), .resolved(by: .person), .discarded(by: "ana"),
      .discarded(by: nil), .withdrawnByApp, .moved(to: "/var/lib/ana.sqlite"),
      .inWords("as a list shortens…", isUnconfirmed: true),
    ]

  /// Causes that differ in more than a name or a number.
  private static let kinds: [Cause] =
    [
      .ready, .readyAgain(.edited), .readyAgain(.merged), .readyAgain(.flushed), .comparesFile,
      .deletesUnconfirmedSave, .basedOnOldVersion, .unconfirmed(code: "NETWORK_ERROR"),
      .checkRefused(code: "BAD_REQUEST"), .checkWaits(.database, code: "THROTTLED"),
      .sentBeforeRestart(isRepeated: false), .sentBeforeRestart(isRepeated: true),
      .waits(.network, code: "NETWORK_ERROR"), .waits(.account, code: "AUTHENTICATION_FAILED"),
      .waits(.quota, code: "QUOTA_EXCEEDED"), .waits(.database, code: "THROTTLED"),
      .waits(.zone("notes"), code: "TRY_AGAIN_LATER"), .groupRejected, .requestTooLarge(code: "LIMIT_EXCEEDED"),
      .bisection(code: "BAD_REQUEST", count: 200), .inCycle([7], .size), .zoneFirst(zone: "notes"), .filesFirst,
      .recordDeleted, .recordDeletedWhileFetching, .zoneMissing(zone: "notes", isDeleted: false),
      .zoneMissing(zone: "notes", isDeleted: true), .waitsFor([7], isGroup: false), .waitsForZoneDelete(7),
      .deletionsOnHold(zone: "notes", isWholeZone: true), .deletionsOnHold(zone: "notes", isWholeZone: false),
      .waitsForApp, .sending, .senderEnded, .backOff(code: "INTERNAL_ERROR", attempt: 3, of: 8),
      .stillReferredTo(code: "VALIDATING_REFERENCE_ERROR", attempt: 1, of: 8), .appSilent("no answer within 30 s"),
      .pausedByRule(.everything, by: "ana"), .pausedByRule(.zone("notes"), by: "ana"),
      .pausedByRule(.type("Task"), by: "ana"), .paused(by: "ana"), .conflict(.fields(["title"]), rounds: 9),
    ]
    + conflictKinds.map { .conflict($0) } + failureKinds.map { .failed($0) }

  private static let conflictKinds: [ConflictCause] = [
    .fields(["note", "title"]), .recreatedHere, .deletedHere, .deletedOnServer, .existsUnseen,
    .undecidedByApp(.leftToPerson("too close to call")),
  ]

  private static let failureKinds: [FailureCause] = [
    .rejected(code: "BAD_REQUEST", message: "field 'done' must be INT64"),
    .schemaLacks(type: "Task", field: "due", code: "BAD_REQUEST"), .tooLarge(code: "LIMIT_EXCEEDED", message: "1 MB"),
    .otherType(server: "Task", local: "Note"), .zoneChanged(zone: "notes"),
    .cannotVerify(code: "ACCESS_DENIED", message: "no READ"),
    .referenceMissing(field: "list", name: "l1", code: "VALIDATING_REFERENCE_ERROR"),
    .zoneDeleted(zone: "notes", code: "ZONE_NOT_FOUND"),
    .zoneCannotBeCreated(zone: "notes", code: "BAD_REQUEST", message: "no"), .fileNotOnServer(field: "shot"),
    .file(.missing, path: "/var/lib/importer/shots/1.jpg", field: "shot"),
    .file(.changed, path: "/var/lib/importer/shots/1.jpg", field: "shot"),
    .file(.unreadable("permission denied"), path: "/var/lib/importer/shots/1.jpg", field: "shot"),
    .fileTooLarge(field: "shot", code: "LIMIT_EXCEEDED", message: "more than 50 MB"),
    .uploadExpired(code: "NOT_FOUND"), .refusedByApp("not allowed"),
    .damaged(code: "UNREADABLE", reason: "no JSON"),
  ]

  @Test func `the first 24 characters of a cause in a list tell it from the others`() {
    let shown = Dictionary(grouping: Self.kinds) { $0.brief.prefix(24) }

    for (text, causes) in shown where causes.count > 1 { Issue.record("\(text): \(causes.map(\.brief))") }
  }

  private static let conflicts: [ConflictCause] = [
    .fields(["note", "title"]), .fields([]), .recreatedHere, .deletedHere, .deletedOnServer,
    .existsUnseen, .undecidedByApp(.leftToPerson("too close to call")), .undecidedByApp(.otherRecord),
    .undecidedByApp(.invalidRecord("no name")), .undecidedByApp(.failed("no idea")), .undecidedByApp(.silent("5 s")),
  ]

  private static let failures: [FailureCause] = [
    .rejected(code: "BAD_REQUEST", message: "field 'done' must be INT64"), .rejected(code: "BAD_REQUEST", message: ""),
    .rejected(code: "BAD_REQUEST", message: "no such field", group: 5),
    .schemaLacks(type: "Task", field: "due", code: "BAD_REQUEST"),
    .schemaLacks(type: "Task", field: nil, code: "BAD_REQUEST"),
    .tooLarge(code: "LIMIT_EXCEEDED", message: "more than 1 MB"), .otherType(server: "Task", local: "Note"),
    .zoneChanged(zone: "notes"), .cannotVerify(code: "ACCESS_DENIED", message: "no READ"),
    .cannotVerifyZone(zone: "notes", code: "ACCESS_DENIED", message: "no READ"),
    .referenceMissing(field: "list", name: "l1", code: "VALIDATING_REFERENCE_ERROR"),
    .stillReferredTo(code: "VALIDATING_REFERENCE_ERROR"),
    .stillReferredTo(code: "VALIDATING_REFERENCE_ERROR", by: Referrers(first: "Task/t1", more: 0, isWhole: true)),
    .stillReferredTo(code: "VALIDATING_REFERENCE_ERROR", by: Referrers(first: "Task/t1", more: 2, isWhole: true)),
    .stillReferredTo(code: "VALIDATING_REFERENCE_ERROR", by: Referrers(first: "Task/t1", more: 2, isWhole: false)),
    .stillReferredTo(code: "VALIDATING_REFERENCE_ERROR", by: Referrers(first: "Task/t1", more: 0, isWhole: false)),
    .zoneCannotBeCreated(zone: "notes", code: "ACCESS_DENIED", message: "no WRITE"),
    .zoneDeleted(zone: "notes", code: "ZONE_NOT_FOUND"),
    .zoneUnavailable(zone: "lists", code: "ZONE_NOT_FOUND"), .fileNotOnServer(field: "photo"),
    .file(.missing, path: "/tmp/milk.jpg", field: "photo"), .file(.changed, path: "/tmp/milk.jpg", field: "photo"),
    .file(.unreadable("permission denied"), path: "/tmp/milk.jpg", field: "photo"),
    .fileTooLarge(field: "photo", code: "LIMIT_EXCEEDED", message: "more than 50 MB"),
    .uploadExpired(code: "ASSET_UPLOAD_EXPIRED"), .refusedByApp("not on Sundays"),
    .damaged(code: "UNREADABLE", reason: "not JSON"),
  ]

  private typealias SyncingProcess = Event.SyncingProcess
  private typealias SyncResults = Event.SyncResults
  private static let importer = SyncingProcess(program: "importer", pid: 3321, user: "ana", host: "mail")

  private static let events: [Event] = [
    .command(.retry(.matching("state = 'failed'")), count: 3), .command(.retry(.all), count: 3),
    .command(.flush(throttles: false), count: 2), .command(.flush(throttles: false, waits: 2), count: 0),
    .command(.flush(throttles: true, waits: 1), count: 1), .command(.discard(.operations([7, 8])), count: 2),
    .command(.pauseRules([.everything]), count: 1), .command(.resumeRules([.zone("notes"), .type("Task")]), count: 2),
    .command(.pause(.matching("type = 'Note'")), count: 2), .command(.resume(.operations([7], more: 20)), count: 21),
    .command(.resolve(operation: 12, take: "local", fields: ["title": "server"]), count: 1),
    .command(.undo(.operations([12])), count: 1), .command(.seeDropped, count: 5),
    .command(.edit(operation: 12, fields: ["done", "due"]), count: 1), .simulated("the phone moved Ru to shelf S3"),
    .command(.acceptDeletions(zone: "notes"), count: 150), .command(.restoreDeletions(zone: "notes"), count: 1),
    .command(.setPolicy("manual"), count: 1), .command(.releaseFromApp, count: 2),
    .command(.fetchAgain(zones: ["notes", "cktop"]), count: 2), .command(.adopt(by: "_ben", from: "_ana"), count: 2),
    .syncStarted(by: importer),
    .syncEnded(by: importer, SyncResults(sent: 412, fetched: 38), seconds: 2.1),
    .syncEnded(by: importer, SyncResults(), seconds: 10, stop: .error(code: "NETWORK_ERROR", message: "refused")),
    .syncEnded(by: importer, SyncResults(sent: 200), seconds: 1, stop: .interrupted),
    .synced(sent: 412, fetched: 38, deleted: 0, failed: 0, seconds: 2.1),
    .synced(sent: 0, fetched: 0, deleted: 2, failed: 1, seconds: 90),
    .recovered(.network, seconds: 252), .recovered(.account, seconds: 5),
    .failed(record: "Task/t1", .rejected(code: "BAD_REQUEST", message: "'done' must be INT64")),
    .conflict(record: "Task/t1", .fields(["title"])), .merged(record: "Task/t1"),
    .error(code: "NETWORK_ERROR", message: "connection refused"),
    .error(code: "BAD_REQUEST", message: "no index", scope: "fetching records of type Task"),
    .unreadable(zone: "notes", type: nil, message: "no READ"), .unreadable(zone: "", type: "Task", message: ""),
    .zoneCannotBeCreated(zone: "notes", code: "INTERNAL_ERROR", message: "oops"),
    .damagedOperation(7, reason: "not JSON"), .mendedOperation(7, reason: "not JSON"),
    .damagedRecord("t1", reason: "not JSON"),
    .dropped(record: "t1", .serverKept(fields: ["title"])), .conflictResolved(record: "t1", by: .policy),
    .repaired(record: "t1"), .deliveryFailed("the app did not take 3 changes: disk full"),
    .deletionsOnHold(zone: "notes", deleted: 150, of: 200), .zoneOnHold(zone: "notes", records: 1),
    .zoneDeleted(zone: "notes"), .zoneRestarted(zone: "notes"), .signedOut,
    .takenOver(by: "_ben", from: "_ana", count: 2), .takenOver(by: "_ben", from: nil, count: 1),
    .syncingStarted(by: importer),
    .syncingStarted(by: SyncingProcess(program: "cktop", pid: 4711, user: "root", host: "mail"), insteadOf: importer),
    .syncingStopped(by: importer),
    .settingsReplaced([
      .policy("manual", before: "server"), .mergeRules, .deletionGuard, .appNotAskedBeforeSending,
      .appNotAskedAboutConflicts,
    ]),
    .clockMovedBack(seconds: 60), .subscribed(count: 1), .subscriptionsRefused(code: "BAD_REQUEST", message: "no"),
    .inWords(kind: "error", "a secret is masked: ********"),
  ]

  private static let obstacles: [Obstacle] = [
    .beingSent, .damaged, .inState("waiting"), .inState("conflict"), .changed(state: "inFlight"), .unchanged,
  ]

  private static let verdicts: [Verdict] = [
    .unreadable("the store is damaged"), .storeFull(.full), .storeFull(.readOnly), .storeFull(.failing),
    .storeFull(.readOnly, isAwaited: true),
    .wrongAccount(owner: "_ana"), .wrongAccount(owner: nil),
    .signedOut(unsent: 0), .signedOut(unsent: 1204), .signedOut(unsent: 2, lacksCredential: true),
    .decisionNeeded(deletions: 150, zones: ["x; rm -rf"]),
    .decisionNeeded(deletions: 2, zones: ["notes", "tasks"]), .blocked(.quota("full")),
    .blocked(.account(code: "ACCESS_DENIED", message: "no")),
    .blocked(.queries(count: 1, type: "Task", message: "Field 'recordName' is not marked queryable")),
    .blocked(.queries(count: 3, type: "My Task", message: "no index")),
    .blocked(.unreadable(count: 2, zone: "notes", type: nil, message: "no READ")),
    .blocked(.unreadable(count: 1, zone: "notes", type: nil, record: "t1", message: "'d' is no TIMESTAMP")),
    .notSyncing(unsent: 1, wait: nil),
    .notSyncing(unsent: 2, wait: Verdict.Wait(scope: .database, code: "INTERNAL_ERROR", until: 1_700_000_000_000)),
    .notSyncing(unsent: 2, wait: nil, stalled: Verdict.Stall(pid: 4711, since: 1_699_999_000_000)),
    .notSyncing(unsent: 0, wait: nil, stalled: Verdict.Stall(pid: 4711, since: 1_699_999_000_000)),
    .notSyncing(
      unsent: 1,
      wait: nil,
      stalled: Verdict.Stall(pid: 4711, since: 1_699_999_000_000, isStopped: true, unit: "cktop.service")
    ),
    .notSyncing(
      unsent: 0,
      wait: nil,
      stalled: Verdict.Stall(pid: 4711, since: 1_699_999_000_000, unit: "cktop.service")
    ), .failed(1),
    .failed(3),
    .failed(
      1,
      top: Verdict.Failure(
        .failed(.rejected(code: "BAD_REQUEST", message: "…")),
        message: "field 'done' must be INT64 (BAD_REQUEST)"
      )
    ),
    .failed(
      20,
      top: Verdict.Failure(
        .failed(.referenceMissing(field: "list", name: "l1", code: "VALIDATING_REFERENCE_ERROR")),
        message: nil,
        others: 3
      )
    ),
    .failed(
      214,
      top: Verdict.Failure(.failed(.schemaLacks(type: "Task", field: "due", code: "BAD_REQUEST")), message: nil)
    ),
    .conflicts(1), .paused(by: "root", at: 1_700_000_000_000, unsent: 12),
    .paused(by: nil, at: nil, unsent: 0),
    .offline(reason: "connection refused.", since: 1_699_999_000_000, nextTry: 1_700_000_000_000, unsent: 371),
    .offline(reason: "", since: nil, nextTry: nil, unsent: 0),
    .sending(done: 412, of: 1204, perSecond: 210, secondsLeft: 3.2),
    .sending(done: 0, of: 0, perSecond: nil, secondsLeft: nil), .throttled(until: 1_700_000_000_000, unsent: 371),
    .retrying(0, nextTry: nil), .retrying(2, nextTry: 1_700_000_000_000), .waitingForApp(1), .partlyPaused(2),
    .partlyPaused(1, rules: [.zone("notes")]), .partlyPaused(1, rules: [.zone("lists", owner: "_ben")]),
    .partlyPaused(0, rules: [.zone("my notes"), .type("Task")]),
    .inSync(at: 1_700_000_000_000), .inSync(at: 1_700_000_000_000, dropped: 5), .fetching, .neverSynced(hasStore: true),
    .neverSynced(hasStore: false), .neverSynced(hasStore: false, path: "/var/lib/cktop/shop.sqlite"),
    .outOfDate(at: 1_700_000_000_000),
  ]

  /// A verdict as `status` prints it.
  private static func line(_ verdict: Verdict) -> String {
    let sentence = verdict.sentence(Format(timeZone: .gmt), now: 1_700_000_000_000)
    return "\(verdict.urgency.rawValue) \(verdict.label): \(sentence)\(verdict.nextStep.map { "; run \($0)" } ?? "")"
  }

  @Test func `every verdict is among the messages`() {
    #expect(Set(Self.verdicts.map(\.name)) == Set(Verdict.names))
  }

  @Test func `every message is as it was reviewed`() throws {
    let text = """
      # Verdicts

      \(Self.verdicts.map(Self.line).joined(separator: "\n"))

      # Causes

      \(Self.causes.map(\.text).joined(separator: "\n"))

      # What to do about a cause

      \(Self.causes.compactMap(\.remedy).joined(separator: "\n"))

      # Events

      \(Self.events.map { "\($0.kind): \($0.text)" }.joined(separator: "\n"))

      # Why a command leaves an operation alone

      \(Self.obstacles.map(\.text).joined(separator: "\n"))

      """
    #expect(try text == recorded("Tests/Base/FactsTests/Messages.txt", text))
  }

  @Test func `no case is missing among the messages`() throws {
    let used = Self.causes.map { String(describing: $0) } + Self.events.map { String(describing: $0) }
    let words = Set(used.flatMap { $0.split { !$0.isLetter && !$0.isNumber } }.map(String.init))
    for file in ["Cause.swift", "Event.swift", "Event+Command.swift"] {
      for line in try packageText("Sources/Base/Facts/\(file)").split(separator: "\n") {
        guard let cases = line.firstMatch(of: /^ +case ([a-z].*)$/)?.1 else { continue }
        let names = cases.replacing(/\([^)]*\)/, with: "").split(separator: ",")
        for name in names.map({ $0.trimmingCharacters(in: .whitespaces) }) { #expect(words.contains(name), "\(name)") }
      }
    }
  }

  @Test(arguments: causes)
  func `a cause is stored and read again`(cause: Cause) { #expect(Cause(stored: cause.stored) == cause) }

  @Test(arguments: events)
  func `an event is stored and read again`(event: Event) {
    #expect(Event(kind: event.kind, stored: event.stored) == event)
  }

  @Test(
    arguments: [
      .failed(record: "n5", .refusedByApp("no")), .conflict(record: "n5", .deletedHere), .merged(record: "n5"),
      .dropped(record: "n5", .editedBack), .conflictResolved(record: "n5", by: .app), .repaired(record: "n5"),
      .takenOver(by: "n5", from: nil, count: 1), .inWords(kind: "failed", "n5: no"),
      .inWords(kind: "merge", "n5: merged"),
    ] as [Event]
  )
  func `a name at the start of an event keeps its letters`(event: Event) {
    #expect(event.sentence.hasPrefix("n5"))
  }

  @Test(
    arguments: [
      (.signedOut, "The store's user"), (.error(code: "BAD_REQUEST", message: "no index"), "No index"),
      (.syncingStopped(by: importer), "Syncing stopped by importer"), (.inWords(kind: "error", "no index"), "No index"),
    ] as [(Event, String)]
  )
  func `any other event begins with a capital letter`(event: Event, start: String) {
    #expect(event.sentence.hasPrefix(start))
  }

  @Test(arguments: ["", "ready to send", "{", "{not a cause}", #"{"ready":1}"#])
  func `a damaged cause or event is shown as it is stored`(text: String) {
    #expect(Cause(stored: text) == .inWords(text, isUnconfirmed: false))
    #expect(Event(kind: "error", stored: text) == .inWords(kind: "error", text))
  }
}
