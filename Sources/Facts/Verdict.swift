/// The state of a store in one word, with its reason. Exactly one verdict holds at a time.
///
/// The cases are in order of precedence: the first that is true is the verdict.
package enum Verdict: Hashable, Sendable {
  /// The store is damaged, was replaced, or cannot be read.
  case unreadable(String)
  /// The last sync was refused, since its credential belongs to another user.
  case wrongAccount(owner: String?)
  case signedOut(unsent: Int)
  /// Deletions on the server are on hold until a person decides.
  case decisionNeeded(deletions: Int, zones: [String])
  /// Quota or permission stops sending or fetching.
  case blocked(Block)
  case failed(Int)
  case conflicts(Int)
  /// Everything is paused. Times are milliseconds since 1970.
  case paused(by: String?, at: Int64?, unsent: Int)
  /// No process is syncing, and something could be sent now, or after the wait that is named.
  case notSyncing(unsent: Int, wait: Wait?)
  case offline(reason: String, since: Int64?, nextTry: Int64?, unsent: Int)
  case sending(done: Int, of: Int, perSecond: Double?, secondsLeft: Double?)
  case throttled(until: Int64?, unsent: Int)
  case retrying(Int, nextTry: Int64?)
  case waitingForApp(Int)
  case partlyPaused(Int)
  case inSync(at: Int64?)
  case fetching
  /// No full sync has ended yet. `hasStore`: whether there is a store at all.
  case neverSynced(hasStore: Bool)
  case outOfDate(at: Int64?)

  /// The reason why sending or fetching stops until a person acts.
  package enum Block: Hashable, Sendable {
    case quota(String)
    case account(code: String, message: String)
    /// The server refuses to let this user read something: how many zones and record types.
    case unreadable(count: Int, zone: String, type: String?, message: String)
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

  /// How much it matters, with the mark that screens show.
  package enum Urgency: String, Hashable, Sendable {
    case act = "■"
    case look = "▲"
    case waits = "◆"
    case fine = "●"
  }

  /// The names of the verdicts, in the order in which they are looked for.
  package enum Name: String, Hashable, Sendable, CaseIterable {
    case unreadable, wrongAccount, signedOut, decisionNeeded, blocked, failed, conflicts, paused, notSyncing, offline,
      sending, throttled, retrying, waitingForApp, partlyPaused, inSync, fetching, neverSynced, outOfDate
  }

  /// Names of all verdicts in that order, as JSON and metrics have them.
  package static let names = Name.allCases.map(\.rawValue)

  /// The verdict's name in JSON and metrics.
  package var name: String { kind.rawValue }

  package var kind: Name {
    switch self {
    case .unreadable: .unreadable
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
    case .unreadable, .wrongAccount, .signedOut, .decisionNeeded, .blocked, .notSyncing: .act
    case .failed, .conflicts: .look
    case .paused, .offline, .throttled, .retrying, .waitingForApp, .partlyPaused, .neverSynced, .outOfDate: .waits
    case .sending, .inSync, .fetching: .fine
    }
  }
}

/// Verdicts in words.
extension Verdict {
  /// The verdict in a word or two.
  package var label: String {
    switch self {
    case .unreadable: "unreadable"
    case .wrongAccount: "wrong account"
    case .signedOut: "signed out"
    case .decisionNeeded: "decision needed"
    case .blocked: "blocked"
    case .failed(let count): "\(Format.number(count)) failed"
    case .conflicts(let count): Words.count(count, "conflict")
    case .paused: "paused"
    case .notSyncing: "not syncing"
    case .offline: "offline"
    case .sending: "sending"
    case .throttled: "throttled"
    case .retrying: "retrying"
    case .waitingForApp: "waiting for the app"
    case .partlyPaused: "partly paused"
    case .inSync: "in sync"
    case .fetching: "fetching"
    case .neverSynced: "never synced"
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
    case .wrongAccount(let owner):
      return "The last sync was refused: this store belongs to \(owner ?? "another user")"
    case .signedOut(let unsent):
      return unsent == 0
        ? "Signed out; the server refuses the credential" : "Signed out; \(Words.changes(unsent, "wait"))"
    case .decisionNeeded(let deletions, let zones):
      let place = zones.count == 1 ? "zone \(zones[0])" : "\(zones.count) zones"
      return "The server deleted \(Words.count(deletions, "record")) in \(place); local copies are kept"
    case .blocked(.quota(let message)):
      return "The storage quota is full; saves wait\(message.isEmpty ? "" : " (\(message))")"
    case .blocked(.account(let code, let message)):
      return "The server refuses this account: \(Words.joined(message, code))"
    case .blocked(.unreadable(let count, let zone, let type, let message)):
      let more = count > 1 ? ", and \(count - 1) more" : ""
      return Words.unreadable(zone: zone, type: type, message: message).sentence + more
    case .failed(let count):
      return "\(Words.changes(count, "failed")) and \(count == 1 ? "waits" : "wait") for a decision"
    case .conflicts(let count): return "\(Words.count(count, "record")) changed here and on the server"
    case .paused(let actor, let at, let unsent):
      return "Paused\(Words.by(actor))\(at.map { " at \(time($0))" } ?? "")\(follow(unsent))"
    case .notSyncing(let unsent, let wait):
      let reason = wait.map { "; the server asked to wait until \(time($0.until)) (\($0.code))" } ?? ""
      return "No process is syncing this store\(follow(unsent))\(reason)"
    case .offline(let reason, let since, let next, let unsent):
      let since = since.map { " since \(time($0))" } ?? ""
      let next = next.map { "; next try \(time($0))" } ?? ""
      return "Offline\(since)\(reason.isEmpty ? "" : ": \(reason.withoutFullStop)")\(next)\(follow(unsent))"
    case .sending(let done, let total, let rate, let left):
      let count = total > 0 ? " \(Format.number(done)) of \(Words.count(total, "change"))" : " changes"
      let speed = rate.map { ", \(Int(clamping: $0))/s" } ?? ""
      return "Sending\(count)\(speed)\(left.map { ", \(Format.duration($0)) left" } ?? "")"
    case .throttled(let until, let unsent):
      let end = until.map { " until \(time($0))" } ?? ""
      return
        "The server asked to wait\(end)\(unsent == 0 ? "" : "; \(Words.changes(unsent, "wait")), nothing to do")"
    case .retrying(let count, let next):
      let what = count == 0 ? "A request failed" : "\(Words.changes(count, "wait")) to be tried again"
      return what + (next.map { "; next try \(time($0))" } ?? "")
    case .waitingForApp(let count): return "\(Words.changes(count, "wait")) for the app's decision"
    case .partlyPaused(let count):
      return "\(Words.count(count, "change")) \(count == 1 ? "is" : "are") paused"
    case .inSync(let at): return "Everything is on the server\(at.map { "; last full sync \(time($0))" } ?? "")"
    case .fetching: return "Fetching the server's changes"
    case .neverSynced(true): return "No full sync has ended yet"
    case .neverSynced(false): return "There is no store yet; the first sync creates it"
    case .outOfDate(let at):
      return "The local copy may be out of date\(at.map { "; last full sync \(time($0))" } ?? "")"
    }
  }

  /// The command that helps; nil where nothing has to be done.
  package var nextStep: String? {
    switch self {
    case .unreadable: nil
    case .wrongAccount, .signedOut, .blocked: "cktop account"
    case .decisionNeeded(_, let zones) where zones.count == 1:
      "cktop zones restore \(zones[0].asArgument) or cktop zones accept \(zones[0].asArgument)"
    case .decisionNeeded: "cktop zones list"
    case .failed: "cktop queue causes"
    case .conflicts: "cktop conflicts list"
    case .paused: "cktop queue resume --all"
    case .notSyncing, .neverSynced, .outOfDate: "cktop sync"
    case .offline, .retrying: "cktop queue flush"
    case .waitingForApp: "cktop sync --without-app"
    case .partlyPaused: "cktop queue list --where \"state = 'paused'\", cktop zones list"
    case .sending, .throttled, .inSync, .fetching: nil
    }
  }
}
