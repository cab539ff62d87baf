/// Something that holds for a store, in one word with its reason. The first that holds is the store's verdict.
///
/// The cases are in order of precedence: all that need a person to act, then those to look at, then the rest.
package enum Verdict: Hashable, Sendable {
  /// The store is damaged, was replaced, or cannot be read.
  case unreadable(String)
  /// Nothing can be written to the store, which can still be read. `isAwaited`: a process waits for that to end.
  case storeFull(StorageTrouble, isAwaited: Bool = false)
  /// The last sync was refused, since its credential belongs to another user.
  case wrongAccount(owner: String?)
  /// The server refuses the credential. `lacksCredential`: it may not, but no process syncs and this one has none.
  case signedOut(unsent: Int, lacksCredential: Bool = false)
  /// Deletions on the server are on hold until a person decides.
  case decisionNeeded(deletions: Int, zones: [String])
  /// Quota or permission stops sending or fetching.
  case blocked(Block)
  /// No process is syncing, and something could be sent now, or after the wait that is named; or the syncing process
  /// does not do its work. Times are milliseconds since 1970.
  case notSyncing(unsent: Int, wait: Wait?, stalled: Stall? = nil)
  /// This number of changes failed, most often for the cause that is given.
  case failed(Int, top: Failure? = nil)
  case conflicts(Int)
  /// Everything is paused.
  case paused(by: String?, at: Int64?, unsent: Int)
  case offline(reason: String, since: Int64?, nextTry: Int64?, unsent: Int)
  case sending(done: Int, of: Int, perSecond: Double?, secondsLeft: Double?)
  case throttled(until: Int64?, unsent: Int)
  case retrying(Int, nextTry: Int64?)
  case waitingForApp(Int)
  /// This number of changes is paused, by these rules or one by one (`single`). Rules may also hold while no change
  /// waits.
  case partlyPaused(Int, single: Int = 0, rules: [Cause.PauseScope] = [])
  /// Everything is sent and fetched. `dropped`: the local changes that were dropped and that no person has seen.
  case inSync(at: Int64?, dropped: Int = 0)
  case fetching
  /// No full sync has ended yet. `hasStore`: whether there is a store at all. `path`: where there is none, if known.
  case neverSynced(hasStore: Bool, path: String? = nil)
  case outOfDate(at: Int64?)

  /// The reason why sending or fetching stops until a person acts.
  package enum Block: Hashable, Sendable {
    case quota(String)
    case account(code: String, message: String)
    /// The server rejects the queries of polled record types, whose indexes its schema lacks: how many types.
    case queries(count: Int, type: String, message: String)
    /// The server refuses to let this user read something, or sent records that cannot be read: how many zones, record
    /// types and records.
    case unreadable(count: Int, zone: String, type: String?, record: String? = nil, message: String)
  }

  /// A wait before the next request.
  package struct Wait: Hashable, Sendable {
    package var scope: Cause.Scope
    package var code: String
    package var until: Int64

    package init(scope: Cause.Scope, code: String, until: Int64) {
      (self.scope, self.code) = (scope, code)
      self.until = until
    }
  }

  /// The most frequent cause of failed changes.
  package struct Failure: Hashable, Sendable {
    package var cause: Cause
    /// The server's message and code, without the names of records; nil where the cause has words of its own.
    package var message: String?
    /// The number of changes that failed for other causes.
    package var others: Int
    /// Whether the server rejects a field, which an edit cures.
    package var isFieldRejected: Bool

    package init(_ cause: Cause, message: String?, others: Int = 0, isFieldRejected: Bool = false) {
      (self.cause, self.message, self.others, self.isFieldRejected) = (cause, message, others, isFieldRejected)
    }
  }

  /// A syncing process that has work and does nothing.
  package struct Stall: Hashable, Sendable {
    package var pid: Int64
    package var since: Int64
    /// Whether a signal has stopped it, so that it goes on when it gets SIGCONT.
    package var isStopped: Bool
    /// Its systemd unit; nil if a person started it.
    package var unit: String?

    package init(pid: Int64, since: Int64, isStopped: Bool = false, unit: String? = nil) {
      (self.pid, self.since, self.isStopped, self.unit) = (pid, since, isStopped, unit)
    }

    /// The command that helps.
    package var remedy: String {
      if isStopped { return "kill -CONT \(pid)" }
      return unit.map { "systemctl restart \($0.asArgument)" } ?? "cktop sync"
    }
  }

  /// How much it matters, with the mark that screens show.
  package enum Urgency: String, Codable, Hashable, Sendable, CaseIterable {
    case act = "■"
    case look = "▲"
    case waits = "◆"
    case fine = "●"
  }

  /// Names of all verdicts in that order, as JSON and metrics have them.
  package static let names = VerdictState.allCases.map(\.rawValue)

  /// The verdict's name in JSON and metrics.
  package var name: String { kind.rawValue }

  package var kind: VerdictState {
    switch self {
    case .unreadable: .unreadable
    case .storeFull: .storeFull
    case .wrongAccount: .wrongAccount
    case .signedOut: .signedOut
    case .decisionNeeded: .decisionNeeded
    case .blocked: .blocked
    case .failed: .failed
    case .conflicts: .conflicts
    case .paused: .paused
    case .notSyncing: .notSyncing
    case .offline: .offline
    case .sending: .sending
    case .throttled: .throttled
    case .retrying: .retrying
    case .waitingForApp: .waitingForApp
    case .partlyPaused: .partlyPaused
    case .inSync: .inSync
    case .fetching: .fetching
    case .neverSynced: .neverSynced
    case .outOfDate: .outOfDate
    }
  }

  package var urgency: Urgency {
    switch self {
    case .unreadable, .storeFull, .wrongAccount, .signedOut, .decisionNeeded, .blocked, .notSyncing: .act
    case .failed, .conflicts: .look
    case .paused, .offline, .throttled, .retrying, .waitingForApp, .partlyPaused, .neverSynced, .outOfDate: .waits
    case .inSync(_, let dropped): dropped > 0 ? .look : .fine
    case .sending, .fetching: .fine
    }
  }
}

/// Verdicts in words.
extension Verdict {
  /// The verdict in a word or two.
  package var label: String {
    switch self {
    case .unreadable: "unreadable"
    case .storeFull(.full, _): "disk full"
    case .storeFull(.readOnly, _): "disk read-only"
    case .storeFull(.failing, _): "disk failing"
    case .wrongAccount: "wrong account"
    case .signedOut(_, true): "no credential here"
    case .signedOut: "signed out"
    case .decisionNeeded: "decision needed"
    case .blocked: "blocked"
    case .failed(let count, _): "\(Format.number(count)) failed"
    case .conflicts(let count): Words.count(count, "conflict")
    case .paused: "paused"
    case .notSyncing(_, _, nil): "not syncing"
    case .notSyncing(_, _, let stall?): stall.isStopped ? "syncing process stopped" : "syncing process hangs"
    case .offline: "offline"
    case .sending: "sending"
    case .throttled: "throttled"
    case .retrying: "retrying"
    case .waitingForApp: "waiting for the app"
    case .partlyPaused(0, _, let rules): rules.count == 1 ? "\(rules[0].text) paused" : "\(rules.count) pause rules"
    case .partlyPaused: "partly paused"
    case .inSync: "in sync"
    case .fetching: "fetching"
    case .neverSynced(true, _): "never synced"
    case .neverSynced(false, _): "no store"
    case .outOfDate: "out of date"
    }
  }

  /// The verdict as a sentence without a full stop.
  ///
  /// - Parameter now: the current time; a time of another day is written with its date.
  package func sentence(_ format: Format, now: Int64) -> String {
    func time(_ milliseconds: Int64) -> String { format.time(milliseconds, now: now) }
    func follow(_ unsent: Int) -> String { unsent == 0 ? "" : "; \(Words.changes(unsent, "wait"))" }
    switch self {
    case .unreadable(let reason): return reason
    case .storeFull(let trouble, let isAwaited):
      return trouble.sentence + (isAwaited ? "; a process waits for that and then syncs" : "")
    case .wrongAccount(let owner):
      return "The last sync was refused: this store belongs to \(owner ?? "another user")"
    case .signedOut(let unsent, true):
      return "No process is syncing this store, and this one has no credential for it\(follow(unsent))"
    case .signedOut(let unsent, false):
      return unsent == 0
        ? "Signed out; the server refuses the credential" : "Signed out; \(Words.changes(unsent, "wait"))"
    case .decisionNeeded(let deletions, let zones):
      let place = zones.count == 1 ? "zone \(zones[0])" : "\(zones.count) zones"
      return "\(Words.deletions(of: deletions, in: place).sentence); local copies are kept"
    case .blocked(.quota(let message)):
      return "The storage quota is full; saves wait\(message.isEmpty ? "" : " (\(message))")"
    case .blocked(.account(let code, let message)):
      return "The server refuses this account: \(Words.joined(message, code))"
    case .blocked(.queries(let count, let type, let message)):
      let more = count > 1 ? " and \(Words.count(count - 1, "more type"))" : ""
      let reason = Words.joined(message, "BAD_REQUEST")
      return "The server rejects queries of record type \(type)\(more): \(reason); its schema lacks their indexes"
    case .blocked(.unreadable(let count, let zone, let type, let record, let message)):
      let more = count > 1 ? ", and \(count - 1) more" : ""
      return Words.unreadable(zone: zone, type: type, record: record, message: message).sentence + more
    case .failed(let count, nil):
      return "\(Words.changes(count, "failed")) and \(count == 1 ? "waits" : "wait") for a decision"
    case .failed(let count, let top?) where top.others == 0 && top.cause.schemaCommand != nil:
      return "\(top.cause.text.sentence): \(Words.changes(count, "wait"))"
    case .failed(let count, let top?):
      let isRejected = if case .failed(.rejected) = top.cause { true } else { false }
      let reason = isRejected ? top.message ?? top.cause.text : top.cause.text
      if top.others > 0 { return "\(Words.changes(count, "failed")), most often: \(reason)" }
      return isRejected
        ? "The server rejected \(Words.count(count, "change")): \(reason)"
        : "\(Words.changes(count, "failed")): \(reason)"
    case .conflicts(let count): return "\(Words.count(count, "record")) changed here and on the server"
    case .paused(let actor, let at, let unsent):
      return "Paused\(Words.by(actor))\(at.map { " at \(time($0))" } ?? "")\(follow(unsent))"
    case .notSyncing(let unsent, _, let stall?):
      let what = stall.isStopped ? "is stopped, has not moved since" : "has not moved since"
      return "Process \(stall.pid) \(what) \(time(stall.since)) and syncs nothing\(follow(unsent))"
    case .notSyncing(let unsent, let wait, nil):
      let reason = wait.map { "; the server asked to wait until \(time($0.until)) (\($0.code))" } ?? ""
      return "No process is syncing this store\(follow(unsent))\(reason)"
    case .offline(let reason, let since, let next, let unsent):
      let since = since.map { " since \(time($0))" } ?? ""
      let next = next.map { "; next try \(time($0))" } ?? ""
      return "Offline\(since)\(reason.isEmpty ? "" : ": \(reason.withoutFullStop)")\(next)\(follow(unsent))"
    case .sending(let done, let total, let rate, let left):
      let count = total > 0 ? " \(Format.number(done)) of \(Words.count(total, "change"))" : " changes"
      let speed = rate.map { ", \(Format.number(Int(clamping: $0)))/s" } ?? ""
      return "Sending\(count)\(speed)\(left.map { ", \(Format.duration($0)) left" } ?? "")"
    case .throttled(let until, let unsent):
      let end = until.map { " until \(time($0))" } ?? ""
      return
        "The server asked to wait\(end)\(unsent == 0 ? "" : "; \(Words.changes(unsent, "wait")), nothing to do")"
    case .retrying(let count, let next):
      let what = count == 0 ? "A request failed" : "\(Words.changes(count, "wait")) to be tried again"
      return what + (next.map { "; next try \(time($0))" } ?? "")
    case .waitingForApp(let count): return "\(Words.changes(count, "wait")) for the app's decision"
    case .partlyPaused(let count, _, let rules):
      let places = Words.list(rules.map(\.text))
      guard count > 0 else { return "No change waits, but \(places) \(rules.count == 1 ? "is" : "are") paused" }
      let what = "\(Words.count(count, "change")) \(count == 1 ? "is" : "are") paused"
      return rules.isEmpty ? what : "\(what): \(places)"
    case .inSync(let at, let dropped):
      let time = at.map { "; last full sync \(time($0))" } ?? ""
      let lost =
        dropped == 0 ? "" : "; \(Words.count(dropped, "local change")) \(dropped == 1 ? "was" : "were") dropped"
      return "Everything is on the server\(time)\(lost)"
    case .fetching: return "Fetching the server's changes"
    case .neverSynced(true, _): return "No full sync has ended yet"
    case .neverSynced(false, let path):
      return "There is no store \(path.map { "at \($0)" } ?? "yet"); the first sync creates it"
    case .outOfDate(let at):
      return "The local copy may be out of date\(at.map { "; last full sync \(time($0))" } ?? "")"
    }
  }

  /// The command that helps; nil where nothing has to be done.
  package var nextStep: String? {
    switch self {
    case .unreadable, .storeFull: nil
    case .blocked(.queries(_, let type, _)): "cktop schema infer --type \(type.asArgument)"
    case .blocked(.unreadable(_, _, _, _?, _)): "cktop status"
    case .wrongAccount, .signedOut, .blocked: "cktop account"
    case .decisionNeeded(_, let zones) where zones.count == 1: Words.waysOfDeciding(zone: zones[0])
    case .decisionNeeded: "cktop zones list"
    case .failed(_, let top): top?.cause.schemaCommand ?? "cktop queue causes"
    case .conflicts: "cktop conflicts list"
    case .paused: "cktop queue resume --everything"
    case .notSyncing(_, _, let stall?): stall.remedy
    case .notSyncing, .neverSynced, .outOfDate: "cktop sync"
    // A request that has no answer yet has no wait to end.
    case .offline(_, _, nil, _): nil
    case .offline, .retrying: "cktop queue flush"
    case .waitingForApp: "cktop sync --without-app"
    case .partlyPaused(let count, let single, let rules):
      Words.list(
        rules.map(\.resumeCommand)
          + (single > 0 || count > 0 && rules.isEmpty ? ["cktop queue list --where \"state = 'paused'\""] : [])
      )
    case .inSync(_, let dropped): dropped > 0 ? "cktop conflicts dropped" : nil
    case .sending, .throttled, .fetching: nil
    }
  }
}

/// Why nothing can be written to a store.
package enum StorageTrouble: String, Hashable, Sendable, CaseIterable {
  case full
  /// The file system was mounted or remounted read-only.
  case readOnly
  /// The disk reports errors.
  case failing

  /// The trouble as a sentence without a full stop: what cannot be done, and what helps.
  package var sentence: String {
    let effect = "nothing is sent, fetched or accepted until then"
    return switch self {
    case .full: "The disk is full; free some space: \(effect)"
    case .readOnly: "The file system of the store is read-only; make it writable: \(effect)"
    case .failing: "The disk of the store reports errors; see to it: \(effect)"
    }
  }
}

extension Cause.PauseScope {
  /// The command that lifts this rule and no other.
  package var resumeCommand: String {
    switch self {
    case .everything: "cktop queue resume --everything"
    case .zone(let zone, let owner):
      "cktop zones resume \(zone.asArgument)\(owner.map { " --owner \($0.asArgument)" } ?? "")"
    case .type(let type): "cktop queue resume --type \(type.asArgument)"
    }
  }
}

/// All that holds for a store, the worst first.
package struct Verdicts: Hashable, Sendable {
  /// In the order of precedence; never empty.
  package let all: [Verdict]
  /// Local changes that were dropped and that no person has seen.
  package let dropped: Int

  package init(_ all: [Verdict], dropped: Int = 0) {
    precondition(!all.isEmpty, "One verdict always holds.")
    (self.all, self.dropped) = (all, dropped)
  }

  /// The verdict: the first that holds.
  package var first: Verdict { all[0] }

  /// What holds besides.
  package var others: ArraySlice<Verdict> { all.dropFirst() }

  /// How much the worst matters. Dropped changes never stand under a green mark.
  package var urgency: Verdict.Urgency { first.urgency == .fine && dropped > 0 ? .look : first.urgency }

  private var droppedLabel: [String] { dropped > 0 ? ["\(Format.number(dropped)) dropped"] : [] }

  /// The verdict in a word or two, with a mark, and what else a person has to know in as few words.
  ///
  /// - Parameter width: the number of characters for it; what has no room is left out, the least urgent first.
  package func badge(width: Int) -> String {
    // Beside something urgent, what goes on by itself is no news; that nothing is sent at all is.
    let isUrgent = first.urgency == .act || first.urgency == .look
    let shown = others.filter { other in
      !isUrgent || other.urgency == .act || other.urgency == .look || [.paused, .offline].contains(other.kind)
    }
    var text = "\(urgency.rawValue) \(first.label)"
    for label in shown.map(\.label) + droppedLabel {
      guard text.count + 2 + label.count <= width else { break }
      text += "  \(label)"
    }
    return text
  }

  /// The verdict as a sentence without a full stop, and what else holds.
  package func sentence(_ format: Format, now: Int64) -> String {
    // The sentence of `inSync` has the number of dropped changes itself.
    let also = others.map(\.label) + (first.kind == .inSync ? [] : droppedLabel)
    return first.sentence(format, now: now) + (also.isEmpty ? "" : "; also \(also.joined(separator: ", "))")
  }

  /// Everything that is wrong or waits, the worst first.
  package var problems: [Verdict] { all.filter { $0.urgency != .fine } }
}
