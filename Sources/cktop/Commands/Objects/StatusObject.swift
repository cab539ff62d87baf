import CloudKit
import CloudSync
import Facts
import Foundation
import JSONText

/// The output of `status --json`.
struct StatusObject {
  let status: StoreStatus
  let storePath: String?
  let scope: SyncStore.Scope
  let account: AccountState

  var verdicts: Verdicts { status.verdicts(hasCredential: account.credential != nil) }
  var verdict: Verdict { verdicts.first }

  /// The whole object.
  var json: JSONObject {
    [
      "store": .optional(storePath), "container": .text(scope.container),
      "environment": .text(scope.environment), "database": .text(scope.database.rawValue),
      "generatedAt": .time(status.generatedAt), "sync": sync, "queue": queue, "records": records,
      "account": .object(account.json), "policy": .optional(status.settings.policy?.rawValue), "throttles": throttles,
      "lastError": lastError,
      "pauses": .array(status.pauses.map { .object($0.json) }), "lastDay": lastDay, "problems": problems,
      "dropped": [
        "unseen": .integer(Int64(status.dropped.unseen)), "total": .integer(Int64(status.dropped.total)),
      ],
    ]
  }

  /// Everything that is wrong or waits, the worst first. Times are as in the other texts, local.
  private var problems: OutputJSON {
    .array(
      verdicts.problems.map { verdict in
        [
          "verdict": .text(verdict.name), "text": .text(verdict.sentence(Format(), now: status.generatedAt)),
          "nextStep": .optional(verdict.nextStep),
        ]
      }
    )
  }

  /// The sums of the last 24 hours.
  private var lastDay: OutputJSON {
    let day = status.lastDay
    return [
      "sent": .integer(Int64(day.sent)), "fetched": .integer(Int64(day.fetched)), "failed": .integer(Int64(day.failed)),
      "bytes": .integer(Int64(day.bytes)),
    ]
  }

  private var sync: OutputJSON {
    [
      "state": .text(status.state.rawValue),
      "reason": .text(verdict.sentence(Format(), now: status.generatedAt)), "inSync": .bool(status.isInSync),
      "verdict": .text(verdict.name), "nextStep": .optional(verdict.nextStep),
      "lastSuccessAt": .time(status.lastSuccessAt), "nextActionAt": .time(status.nextActionAt),
      "nextAction": .optional(status.nextActionAt.map { _ in "try again" }), "driver": syncingProcess,
      "progress": progress,
      "ageSeconds": .optional(status.age), "delivery": delivery,
      "heldDeletions": .array(
        status.heldDeletions.map { held in
          [
            "zone": .text(held.zoneID.zoneName), "records": .integer(Int64(held.records)),
            "wholeZone": .bool(held.isWholeZone), "since": .time(Int64(held.since.timeIntervalSince1970 * 1000)),
          ]
        }
      ),
      "unreadable": .array(
        status.unreadable.map { unreadable in
          [
            "zone": .text(unreadable.zone.zone), "owner": .unlessEmpty(unreadable.zone.owner),
            "recordType": .optional(unreadable.type), "recordName": .optional(unreadable.record),
            "message": .text(unreadable.message),
            "since": .time(unreadable.since),
          ]
        }
      ),
    ]
  }

  private var delivery: OutputJSON {
    ["waiting": .integer(Int64(status.undelivered)), "problem": .optional(status.deliveryProblem?.message)]
  }

  private var syncingProcess: OutputJSON {
    guard let process = status.syncingProcess else { return .null }
    return [
      "pid": .integer(process.pid), "host": .text(process.host), "live": .bool(process.isLive),
      "program": .optional(process.program), "since": .time(process.since), "stalledSince": .time(process.stalledSince),
    ]
  }

  private var progress: OutputJSON {
    guard let progress = status.progress else { return .null }
    return [
      "phase": .text(progress.phase.rawValue), "done": .integer(Int64(progress.done)),
      "total": .integer(Int64(progress.total)), "perSecond": .optional(progress.perSecond),
      "etaSeconds": .optional(progress.etaSeconds),
    ]
  }

  private var queue: OutputJSON {
    let queue = status.queue
    return [
      "total": .integer(Int64(queue.total)), "pending": .integer(Int64(queue.pending)),
      "inFlight": .integer(Int64(queue.inFlight)), "waiting": .integer(Int64(queue.waiting)),
      "failed": .integer(Int64(queue.failed)), "paused": .integer(Int64(queue.paused)),
      "conflicts": .integer(Int64(queue.conflicts)), "retryable": .integer(Int64(queue.retryable)),
      "bytes": .integer(Int64(queue.bytes)), "oldestPendingAt": .time(queue.oldestPendingAt),
      "parts": .array(
        queue.parts.map { part in
          [
            "state": .text(part.state.rawValue), "zone": .text(part.zone.zone),
            "owner": .unlessEmpty(part.zone.owner),
            "recordType": .unlessEmpty(part.type), "count": .integer(Int64(part.count)),
            "bytes": .integer(Int64(part.bytes)),
          ]
        }
      ),
    ]
  }

  private var records: OutputJSON {
    [
      "total": .integer(Int64(status.recordCount)), "byType": .counts(status.recordsByType),
      "byZone": .counts(status.recordsByZone),
    ]
  }

  private var throttles: OutputJSON {
    .array(
      status.throttles.map {
        [
          "scope": .text($0.scope.name), "until": .time($0.until), "error": .text($0.code),
          "message": .text($0.message),
          "since": .time($0.since),
        ]
      }
    )
  }

  private var lastError: OutputJSON {
    guard let error = status.lastError else { return .null }
    return ["code": .text(error.code), "message": .text(error.message), "at": .time(error.at)]
  }
}

extension Pause {
  /// The rule as JSON: a zone, a type, or neither for everything.
  var json: JSONObject {
    let (zone, type): (ZoneKey?, String?) =
      switch rule {
      case .everything: (nil, nil)
      case .zone(let zone): (zone, nil)
      case .type(let type): (nil, type)
      }
    return [
      "zone": .optional(zone?.zone), "owner": .optional(zone?.owner), "type": .optional(type), "at": .time(at),
      "by": .optional(actor),
    ]
  }
}
