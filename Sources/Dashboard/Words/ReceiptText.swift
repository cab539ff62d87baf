import CloudService
import CloudSync
import Facts

/// The result of a command as a sentence for the dashboard.
extension Receipt {
  /// Whether the command failed.
  var isError: Bool { failure != nil || summary?.error != nil }

  /// One line: what happened, and what to do if that is not obvious.
  ///
  /// - Parameter message: Returns the message of an error.
  func text(_ message: (any Error) -> String) -> String {
    if let failure { return text(of: failure, message) }
    switch command {
    case .perform: return queueText
    case .pause(let rules): return text(of: rules, isPause: true)
    case .resume(let rules): return text(of: rules, isPause: false)
    case .flush:
      return changed == 0 ? "Trying again now" : "Retrying \(Words.count(changed, "change")) now"
    case .resolveAll: return resolvedText
    case .undo, .undoAll: return undoneText
    case .markDroppedSeen: return "Marked what was dropped as seen"
    case .edit(let id, _, _):
      return isToBeSent
        ? "Edited operation \(id); it will be sent again"
        : "Edited operation \(id); nothing is left to send, it was discarded"
    case .acceptDeletions(let zone, _):
      return "Deleted \(Words.count(changed, "local copy", "local copies")) in zone \(zone.zone)"
    case .restoreDeletions(let zone, _):
      return "Restored \(Words.count(changed, "record")) in zone \(zone.zone); they will be sent"
    case .resolve: return isToBeSent ? "Resolved; the result will be sent" : "Resolved; the server's record is kept"
    case .fetchAgain: return "The next sync fetches \(Words.count(changed, "zone")) again"
    case .askForSync: return "Asked the syncing process to sync"
    case .sync: return syncText(message)
    case .keepSyncing: return "Syncing"
    }
  }

  // MARK: - Conflicts

  private var resolvedText: String {
    let rest = leftAlone.map { "; \($0)" } ?? ""
    return "Resolved \(Words.count(changed, "conflict"))\(rest)"
  }

  private var undoneText: String {
    let rest = leftAlone.map { "; \($0)" } ?? ""
    guard changed > 0 else { return "Nothing was restored\(rest)" }
    let sent = changed - reopened - failedAgain - pausedAgain - withdrawn
    let sending = sent < changed ? Format.number(sent) : sent == 1 ? "it" : "they"
    func again(_ count: Int, _ state: String) -> String? {
      count > 0 ? "\(Format.number(count)) \(count == 1 ? "is" : "are") \(state) again, as before" : nil
    }
    let effects = [
      sent > 0 ? "\(sending) will be sent" : nil,
      reopened > 0 ? "\(Words.count(reopened, "conflict")) \(reopened == 1 ? "is" : "are") open again" : nil,
      again(failedAgain, "failed"), again(pausedAgain, "paused"),
      withdrawn > 0 ? "\(Format.number(withdrawn)) \(withdrawn == 1 ? "is" : "are") no longer sent" : nil,
    ]
    return "Restored \(Words.count(changed, "change")); \(effects.compactMap(\.self).joined(separator: ", "))\(rest)"
  }

  // MARK: - The queue

  private var queueText: String {
    if changed == 0, let leftAlone { return leftAlone.sentence }
    var text = "\(did) \(Words.count(changed, "operation"))"
    if unanswered > 0 {
      let which = changed == 1 ? "it" : "\(unanswered) of them"
      text += "; the reply to \(which) was lost, so the server may have \(changed == 1 ? "it" : "them")"
    }
    if let leftAlone { text += "; \(leftAlone)" }
    if !recreated.isEmpty { text += "; \(Words.recreates(recreated))" }
    return text
  }

  /// What was done to pause rules, or that they were in that state already.
  private func text(of rules: [PauseRule], isPause: Bool) -> String {
    let already = isPause ? "paused already" : "not paused"
    let left = rules.count - changed
    guard rules.count > 1 else {
      let name = rules.first?.text ?? "nothing"
      return left == 0 ? "\(isPause ? "Paused" : "Resumed") \(name)" : "\(name.sentence) was \(already)"
    }
    return "\(isPause ? "Paused" : "Resumed") \(Words.count(changed, "zone"))"
      + (left == 0 ? "" : "; \(Format.number(left)) \(left == 1 ? "was" : "were") \(already)")
  }

  private var did: String {
    switch verb {
    case .retry: "Retried"
    case .discard: "Discarded"
    case .pause: "Paused"
    case .resume: "Resumed"
    case nil: "Changed"
    }
  }

  /// The first operation that was left unchanged, with the reason, and the number of others.
  private var leftAlone: String? {
    let reasons =
      skipped.sorted { $0.key < $1.key }.map { (id: $0.key, text: $0.value.text) }
      + gone.sorted().map { (id: $0, text: "it is no longer in the queue") }
    guard let first = reasons.first else { return nil }
    let rest = reasons.count - 1
    return "left operation \(first.id) as it is: \(first.text)" + (rest == 0 ? "" : " (and \(rest) more)")
  }

  // MARK: - Syncs

  private func syncText(_ message: (any Error) -> String) -> String {
    guard let summary else { return "Synced" }
    if let error = summary.error { return message(error).sentence }
    var did = "\(Format.number(summary.sent)) sent, \(Format.number(summary.fetched)) fetched"
    if summary.failed > 0 { did += ", \(Format.number(summary.failed)) failed" }
    if let status, !summary.reachedEnd || !status.isInSync {
      return "Not everything is synced (\(did)): \(Self.hold(of: status))"
    }
    return "Synced: \(did)"
  }

  /// The reason why a sync sends or fetches nothing more, before what a person has to decide.
  private static func hold(of status: StoreStatus) -> String {
    if status.isPaused { return "syncing is paused" }
    if let wait = status.throttles.filter({ !$0.isOwn }).max(by: { $0.until < $1.until }) {
      let until = Format().time(wait.until, now: status.generatedAt)
      return WaitScope(name: wait.scope).asCause.wait(until: until, isOwn: false)
    }
    if let problem = status.networkProblem { return "offline: \(problem.message)" }
    return status.verdict(hasCredential: true).sentence(Format(), now: status.generatedAt)
  }

  private func text(of failure: any Error, _ message: (any Error) -> String) -> String {
    switch failure {
    case CommandRefusal.readOnly: return "Not allowed in read-only mode"
    case CommandRefusal.alreadySyncing: return "A sync is already running"
    case CommandRefusal.cannotSync: return "This dashboard cannot sync the store; run `cktop sync`"
    case is CancellationError: return "The sync was stopped before it finished; s syncs again"
    default:
      let message = message(failure)
      return command == .keepSyncing ? "Syncing stopped: \(message)" : message.sentence
    }
  }
}
