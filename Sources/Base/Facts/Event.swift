/// Something that happened to a store, as data.
///
/// `kind` is its word in filters and JSON; `text` puts it into words.
package enum Event: Hashable, Sendable, Codable {
  /// A command of an operator. `count`: how many changes, or what else it is about, it changed.
  case command(Command, count: Int)
  /// A request failed. `scope`: what waits because of it; nil: the whole sync.
  case error(code: String, message: String, scope: String? = nil)
  /// The server refuses to let this user read a zone, or a record type of it.
  case unreadable(zone: String, type: String?, message: String)
  case zoneCannotBeCreated(zone: String, code: String, message: String)
  case damagedOperation(Int64, reason: String)
  /// Its row was damaged, but its change can be read.
  case mendedOperation(Int64, reason: String)
  case damagedRecord(String, reason: String)
  /// A sync that runs once began.
  case syncStarted(by: SyncingProcess)
  /// It ended. `stop`: what stopped it before it had done everything.
  case syncEnded(by: SyncingProcess, SyncResults, seconds: Double, stop: SyncStop? = nil)
  /// Syncs of a process that keeps syncing changed something. Times are in seconds.
  case synced(sent: Int, fetched: Int, deleted: Int, failed: Int, seconds: Double)
  /// Requests get through again.
  case recovered(Cause.Scope, seconds: Int)
  case failed(record: String, FailureCause)
  case conflict(record: String, ConflictCause)
  /// Merged with the server's record; the result is sent.
  case merged(record: String)
  /// A part of a change was dropped.
  case dropped(record: String, Cause)
  case conflictResolved(record: String, by: Cause.Decider)
  case repaired(record: String)
  case deliveryFailed(String)
  case deletionsOnHold(zone: String, deleted: Int, of: Int)
  case zoneOnHold(zone: String, records: Int)
  case zoneDeleted(zone: String)
  /// The server no longer takes the zone's change token.
  case zoneRestarted(zone: String)
  case signedOut
  case takenOver(by: String, from: String?, count: Int)
  /// A process began to sync continuously. `insteadOf`: the one whose place it takes, which has not stopped by itself.
  case syncingStarted(by: SyncingProcess, insteadOf: SyncingProcess? = nil)
  case syncingStopped(by: SyncingProcess)
  case settingsReplaced([SettingChange])
  case clockMovedBack(seconds: Int64)
  case subscribed(count: Int)
  case subscriptionsRefused(code: String, message: String)
  /// Something that another device of the demo did.
  case simulated(String)
  /// In words alone: with a secret masked, or as a damaged row has it.
  case inWords(kind: String, String)

  /// A stored setting that was replaced.
  package enum SettingChange: Hashable, Sendable, Codable {
    case policy(String, before: String)
    case mergeRules, deletionGuard
    case appNotAskedBeforeSending, appNotAskedAboutConflicts
  }

  /// How many records a sync changed, on either side, and how many changes failed.
  package struct SyncResults: Hashable, Sendable, Codable {
    package var sent: Int
    package var fetched: Int
    package var deleted: Int
    package var failed: Int

    package init(sent: Int = 0, fetched: Int = 0, deleted: Int = 0, failed: Int = 0) {
      (self.sent, self.fetched, self.deleted, self.failed) = (sent, fetched, deleted, failed)
    }

    fileprivate var text: String {
      let parts = [("sent", sent), ("fetched", fetched), ("deleted on the server", deleted), ("failed", failed)]
        .filter { $0.1 > 0 }.map { "\(Format.number($0.1)) \($0.0)" }
      return parts.isEmpty ? "no changes" : parts.joined(separator: ", ")
    }
  }

  /// The reason why a sync stopped before its end.
  package enum SyncStop: Hashable, Sendable, Codable {
    case error(code: String, message: String)
    /// It was cancelled, or the store could not be written.
    case interrupted
  }

  /// A process that syncs a store, and the user who runs it.
  package struct SyncingProcess: Hashable, Sendable, Codable {
    package var program: String
    package var pid: Int64
    package var user: String
    package var host: String

    package init(program: String, pid: Int64, user: String, host: String) {
      (self.program, self.pid, self.user, self.host) = (program, pid, user, host)
    }

    fileprivate var text: String { "\(program) (PID \(pid)) of \(user)@\(host)" }
  }

  package var kind: String {
    switch self {
    case .command: "command"
    case .error, .unreadable, .zoneCannotBeCreated, .damagedOperation, .mendedOperation,
      .damagedRecord:
      "error"
    case .failed: "failed"
    case .syncStarted, .syncEnded, .synced: "sync"
    case .recovered: "recovered"
    case .conflict: "conflict"
    case .merged, .dropped, .conflictResolved: "merge"
    case .repaired: "repair"
    case .deliveryFailed: "delivery"
    case .deletionsOnHold, .zoneOnHold, .zoneDeleted, .zoneRestarted: "zone"
    case .signedOut, .takenOver: "account"
    case .syncingStarted, .syncingStopped: "syncing"
    case .settingsReplaced: "settings"
    case .clockMovedBack: "clock"
    case .subscribed, .subscriptionsRefused: "push"
    case .simulated: "demo"
    case .inWords(let kind, _): kind
    }
  }

  /// The words that `kind` can have, for filters.
  package static let kinds = [
    "account", "clock", "command", "conflict", "delivery", "demo", "error", "failed", "merge", "push", "recovered",
    "repair",
    "settings", "sync", "syncing", "zone",
  ]

  /// The event as the store keeps it, beside its kind.
  package var stored: String { Stored.encoded(self) }

  package init(kind: String, stored: String) { self = Stored.decoded(stored) ?? .inWords(kind: kind, stored) }
}

extension Event {
  /// The event as screens show it: with a capital letter at its start, unless it begins with a name.
  package var sentence: String { beginsWithName ? text : text.sentence }

  private var beginsWithName: Bool {
    switch self {
    case .failed, .conflict, .merged, .dropped, .conflictResolved, .repaired, .takenOver: true
    case .inWords(let kind, _): ["conflict", "failed", "merge", "repair"].contains(kind)
    default: false
    }
  }

  package var text: String {
    switch self {
    case .command(let command, let count): command.text(count)
    case .synced(let sent, let fetched, let deleted, let failed, let seconds):
      "\(SyncResults(sent: sent, fetched: fetched, deleted: deleted, failed: failed).text) in \(Format.seconds(seconds))"
    case .syncStarted(let process): "sync started by \(process.text)"
    case .syncEnded(let process, let results, let seconds, let stop):
      "sync ended by \(process.text): \(results.text) in \(Format.seconds(seconds))\(stop?.text ?? "")"
    case .recovered(.account, let seconds): "signed in again after \(Format.duration(Double(seconds)))"
    case .recovered(_, let seconds): "back online after \(Format.duration(Double(seconds)))"
    case .failed(let record, let failure): "\(record): \(failure.text)"
    case .conflict(let record, let conflict): "\(record): \(conflict.text)"
    case .merged(let record): "\(record): merged with the server's record"
    case .error(let code, let message, nil): Words.joined(message, code)
    case .error(let code, let message, let scope?): "\(scope): \(Words.joined(message, code))"
    case .unreadable(let zone, let type, let message): Words.unreadable(zone: zone, type: type, message: message)
    case .zoneCannotBeCreated(let zone, let code, let message):
      "zone \(zone) cannot be created yet: \(Words.joined(message, code))"
    case .damagedOperation(let id, let reason):
      "operation \(id) is damaged in the store (\(reason)); its content is kept: discard it, or edit the record again"
    case .mendedOperation(let id, let reason):
      "operation \(id) was damaged in the store (\(reason)); its change can be read and goes on"
    case .damagedRecord(let name, let reason):
      "the local copy of record \(name) is damaged (\(reason)); it is fetched again"
    case .dropped(let record, let cause): "\(record): \(cause.text)"
    case .conflictResolved(let record, let decider): "\(record): conflict \(Cause.resolved(by: decider).text)"
    case .repaired(let record): "\(record) was repaired by the app"
    case .deliveryFailed(let reason): reason
    case .deletionsOnHold(let zone, let deleted, let total):
      "the server deleted \(deleted) of the \(total) records of zone \(zone); local copies are kept until a person decides"
    case .zoneOnHold(let zone, let records):
      "\(Words.deletions(of: records, in: "zone \(zone)", isWholeZone: true)); local copies are kept until a person decides"
    case .zoneDeleted(let zone): "the server deleted zone \(zone)"
    case .zoneRestarted(let zone):
      "the change token of zone \(zone) can no longer be used; the zone is fetched from the start"
    case .signedOut: "the store's user is signed out; unsent changes wait"
    case .takenOver(let user, let before, let count):
      "\(user) took over the store of \(before ?? "another sign-in") with \(Words.count(count, "unsent change"))"
    case .syncingStarted(let process, nil): "syncing started by \(process.text)"
    case .syncingStarted(let process, let former?):
      "syncing taken over by \(process.text); \(former.text) has not stopped by itself"
    case .syncingStopped(let process): "syncing stopped by \(process.text)"
    case .settingsReplaced(let changes): changes.map(\.text).joined(separator: ", ")
    case .clockMovedBack(let seconds): "the system clock moved back \(seconds) s; back-offs were restarted"
    case .subscribed(let count): "made \(Words.count(count, "subscription"))"
    case .subscriptionsRefused(let code, let message): "no subscriptions: \(Words.joined(message, code))"
    case .simulated(let text): text
    case .inWords(_, let text): text
    }
  }
}

extension Event.SyncStop {
  fileprivate var text: String {
    switch self {
    case .error(let code, let message): "; stopped: \(Words.joined(message, code))"
    case .interrupted: "; interrupted"
    }
  }
}

extension Event.SettingChange {
  fileprivate var text: String {
    switch self {
    case .policy(let policy, let before): "the conflict policy is now \(policy), it was \(before)"
    case .mergeRules: "the merge rules were replaced"
    case .deletionGuard: "the deletion guard was replaced"
    case .appNotAskedBeforeSending: "the app is no longer asked before sending"
    case .appNotAskedAboutConflicts: "the app is no longer asked about conflicts"
    }
  }
}
