import CloudKit
import CloudSync
import Facts
import Foundation

/// The output of `status --json`.
struct StatusObject: PrintedObject {
  let status: StoreStatus
  let storePath: String?
  let scope: SyncStore.Scope
  let account: AccountState

  var verdicts: Verdicts { status.verdicts(hasCredential: status.accepts(account.credential)) }
  var verdict: Verdict { verdicts.first }

  static let jsonFields: JSONFields<Self> = [
    "store": .text(\.storePath), "container": .text(\.scope.container), "environment": .text(\.scope.environment),
    "database": .text(\.scope.database.rawValue), "generatedAt": .time(\.status.generatedAt),
    "sync": .object(sync, \.self), "queue": .object(\.status.queue), "records": .object(records, \.status),
    "account": .object(\.account), "policy": .text(\.status.settings.policy?.rawValue),
    "throttles": .list(throttle, \.status.throttles), "lastError": .object(\.status.lastError),
    "pauses": .list(\.status.pauses), "lastDay": .object(\.status.lastDay), "problems": .list(\.problems),
    "dropped": .object(dropped, \.status.dropped),
  ]

  private static let sync: JSONFields<Self> = [
    "state": .text(\.status.state.rawValue), "reason": .text(\.firstProblem.text), "inSync": .bool(\.status.isInSync),
    "verdict": .text(\.verdict.name), "nextStep": .text(\.verdict.nextStep),
    "lastSuccessAt": .time(\.status.lastSuccessAt), "nextActionAt": .time(\.status.nextActionAt),
    "nextAction": .text { $0.status.nextActionAt.map { _ in "try again" } },
    "driver": .object(syncingProcess, \.status.syncingProcess), "progress": .object(progress, \.status.progress),
    "ageSeconds": .number(\.status.age), "delivery": .object(delivery, \.status),
    "heldDeletions": .list(held, \.status.heldDeletions), "unreadable": .list(unreadable, \.status.unreadable),
  ]

  private static let syncingProcess: JSONFields<StoreStatus.SyncingProcess> = [
    "pid": .integer(\.pid), "host": .text(\.host), "live": .bool(\.isLive), "program": .text(\.program),
    "since": .time(\.since), "stalledSince": .time(\.stalledSince),
  ]

  private static let progress: JSONFields<CloudSync.Progress> = [
    "phase": .text(\.phase.rawValue), "done": .integer(\.done), "total": .integer(\.total),
    "perSecond": .number(\.perSecond), "etaSeconds": .number(\.etaSeconds),
  ]

  private static let delivery: JSONFields<StoreStatus> = [
    "waiting": .integer(\.undelivered), "problem": .text(\.deliveryProblem?.message),
  ]

  private static let held: JSONFields<HeldDeletions> = [
    "zone": .text(\.zoneID.zoneName), "records": .integer(\.records), "wholeZone": .bool(\.isWholeZone),
    "since": .time { Int64($0.since.timeIntervalSince1970 * 1000) },
  ]

  private static let unreadable: JSONFields<Unreadable> = [
    "zone": .text(\.zone.zone), "owner": .unlessEmpty(\.zone.owner), "recordType": .text(\.type),
    "recordName": .text(\.record), "message": .text(\.message), "since": .time(\.since),
  ]

  private static let records: JSONFields<StoreStatus> = [
    "total": .integer(\.recordCount), "byType": .counts(\.recordsByType), "byZone": .counts(\.recordsByZone),
  ]

  private static let throttle: JSONFields<ScopeWait> = [
    "scope": .text(\.scope.name), "until": .time(\.until), "error": .text(\.code), "message": .text(\.message),
    "since": .time(\.since),
  ]

  private static let dropped: JSONFields<StoreStatus.Dropped> = [
    "unseen": .integer(\.unseen), "total": .integer(\.total),
  ]

  /// Everything that is wrong or waits, the worst first. Times are as in the other texts, local.
  private var problems: [Problem] { verdicts.problems.map { Problem(verdict: $0, now: status.generatedAt) } }

  private var firstProblem: Problem { Problem(verdict: verdict, now: status.generatedAt) }
}

/// A verdict with its sentence.
private struct Problem: PrintedObject {
  let verdict: Verdict
  let now: Int64

  var text: String { verdict.sentence(Format(), now: now) }

  static let jsonFields: JSONFields<Self> = [
    "verdict": .text(\.verdict.name), "text": .text(\.text), "nextStep": .text(\.verdict.nextStep),
  ]
}

extension StoreStatus.Queue: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "total": .integer(\.total), "pending": .integer(\.pending), "inFlight": .integer(\.inFlight),
    "waiting": .integer(\.waiting), "failed": .integer(\.failed), "paused": .integer(\.paused),
    "conflicts": .integer(\.conflicts), "retryable": .integer(\.retryable), "bytes": .integer(\.bytes),
    "oldestPendingAt": .time(\.oldestPendingAt), "parts": .list(part, \.parts),
  ]

  private static let part: JSONFields<QueuePart> = [
    "state": .text(\.state.rawValue), "zone": .text(\.zone.zone), "owner": .unlessEmpty(\.zone.owner),
    "recordType": .unlessEmpty(\.type), "count": .integer(\.count), "bytes": .integer(\.bytes),
  ]
}

extension StoreStatus.Failure: PrintedObject {
  static let jsonFields: JSONFields<Self> = ["code": .text(\.code), "message": .text(\.message), "at": .time(\.at)]
}

extension Throughput: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "sent": .integer(\.sent), "fetched": .integer(\.fetched), "failed": .integer(\.failed), "bytes": .integer(\.bytes),
  ]
}

extension Pause: PrintedObject {
  /// The rule: a zone, a type, or neither for everything.
  static let jsonFields: JSONFields<Self> = [
    "zone": .text(\.zone?.zone), "owner": .text(\.zone?.owner), "type": .text(\.type), "at": .time(\.at),
    "by": .text(\.actor),
  ]

  private var zone: ZoneKey? { if case .zone(let zone) = rule { zone } else { nil } }

  private var type: String? { if case .type(let type) = rule { type } else { nil } }
}
