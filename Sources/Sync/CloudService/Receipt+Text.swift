import CloudSync
import Facts

/// The result of a command as a sentence, for the dashboard and the command line.
extension Receipt {
  /// Whether the command failed.
  package var isError: Bool { failure != nil || summary?.error != nil }

  /// One line: what happened, and what to do if that is not obvious.
  ///
  /// - Parameter message: Returns the message of an error.
  package func text(_ message: (any Error) -> String) -> String {
    if let failure { return text(of: failure, message) }
    if let error = summary?.error { return message(error).sentence }
    return command.rule.sentence(self)
  }

  /// A regular verb in the past tense, or what a dry run would do: "Retried", "Would retry".
  func did(_ verb: String) -> String {
    if command.isDryRun { return "Would \(verb)" }
    return "\(verb)ed".replacing("eed", with: "ed").replacing("yed", with: "ied").sentence
  }

  // MARK: - Conflicts

  static func effect(_ conflict: Conflict, _ resolution: Resolution) -> String {
    guard let left = resolution.left else {
      return conflict.isDeletedOnServer ? "; the record stays deleted" : "; the server's record is kept"
    }
    return resolution.kind == .delete
      ? "; the deletion will be sent" : "; \(Words.count(left.names.count, "field")) will be sent"
  }

  var undoneText: String {
    guard changed > 0 else { return "Nothing was restored\(rest)" }
    let (reopened, failed, paused) = (result.reopened, result.failedAgain, result.pausedAgain)
    let sent = changed - reopened - failed - paused - result.withdrawn
    let sending = sent < changed ? Format.number(sent) : sent == 1 ? "it" : "they"
    func again(_ count: Int, _ state: String) -> String? {
      count > 0 ? "\(Format.number(count)) \(count == 1 ? "is" : "are") \(state)" : nil
    }
    let effects = [
      sent > 0 ? "\(sending) will be sent" : nil,
      reopened > 0 ? "\(Words.count(reopened, "conflict")) \(reopened == 1 ? "is" : "are") open again" : nil,
      again(failed, "failed again, as before"), again(paused, "paused again, as before"),
      again(result.withdrawn, "no longer sent"),
    ]
    return "Restored \(Words.count(changed, "change")); \(effects.compactMap(\.self).joined(separator: ", "))\(rest)"
  }

  // MARK: - The queue

  func queueText(_ verb: QueueVerb) -> String {
    if changed == 0, let leftAlone { return leftAlone.sentence }
    if changed == 0, result.notReached == 0 { return "Nothing to \(verb.rawValue): no operation matches" }
    var text = "\(did(verb.rawValue)) \(Words.count(changed, "operation"))"
    if !result.unconfirmed.isEmpty {
      let which = changed == 1 ? "it" : "\(result.unconfirmed.count) of them"
      text += "; the reply to \(which) was lost, so the server may have \(changed == 1 ? "it" : "them")"
    }
    return text + rest + (result.recreated.isEmpty ? "" : "; \(Words.recreates(result.recreated))")
  }

  /// What was done to pause rules, or that they were in that state already.
  func ruleText(_ verb: String, _ rules: [PauseRule], already: String) -> String {
    let left = rules.count - changed
    guard rules.count > 1 else {
      let name = rules.first?.text ?? "nothing"
      return left == 0 ? "\(did(verb)) \(name)" : "\(name.sentence) was \(already)"
    }
    return "\(did(verb)) \(Words.count(changed, "zone"))"
      + (left == 0 ? "" : "; \(Format.number(left)) \(left == 1 ? "was" : "were") \(already)")
  }

  /// Whether the command is about conflicts, not about any operations.
  package var isOfConflicts: Bool { if case .resolveAll = command { true } else { false } }

  /// The word for what the command is about.
  package var noun: String { isOfConflicts ? "conflict" : "operation" }

  var rest: String { leftAlone.map { "; \($0)" } ?? "" }

  /// The first operation that was left unchanged, with the reason, and the number of others.
  package var leftAlone: String? {
    let unknown = isOfConflicts ? "it is not a conflict" : "it is not in the queue"
    let reasons =
      result.skipped.sorted { $0.key < $1.key }.map { (id: $0.key, text: $0.value.text) }
      + result.unknown.sorted().map { (id: $0, text: unknown) }
    guard let first = reasons.first else { return nil }
    let rest = reasons.count - 1
    return "left \(noun) \(first.id) as it is: \(first.text)" + (rest == 0 ? "" : " (and \(rest) more)")
  }

  // MARK: - Syncs

  /// The result of a sync that ended without an error.
  var syncText: String {
    guard let summary else { return "Synced" }
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
    if let wait = status.standingWait, !wait.isOwn {
      let until = Format().time(wait.until, now: status.generatedAt)
      return wait.scope.asCause.wait(until: until, isOwn: false)
    }
    if let problem = status.networkProblem { return "offline: \(problem.message)" }
    return status.verdict(hasCredential: true).sentence(Format(), now: status.generatedAt)
  }

  private func text(of failure: any Error, _ message: (any Error) -> String) -> String {
    switch failure {
    case CommandRefusal.readOnly: return "Not allowed in read-only mode"
    case CommandRefusal.alreadySyncing: return "A sync is already running"
    case CommandRefusal.cannotSync: return "This dashboard cannot sync the store; run `cktop sync`"
    case CommandRefusal.doesNotApply(let reason): return reason.sentence
    case is CancellationError: return "The sync was stopped before it finished; sync again to continue"
    default:
      let message = message(failure)
      return command == .keepSyncing ? "Syncing stopped: \(message)" : message.sentence
    }
  }
}
