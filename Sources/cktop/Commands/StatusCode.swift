import CloudSync
import Facts

/// The limit of `status --max-age`.
struct AgeLimit: Hashable, Sendable {
  /// Milliseconds for which a change may be unsent.
  var milliseconds: Int64
  /// When the oldest change was accepted that no person holds; nil without one.
  var oldestAt: Int64?
}

extension StoreStatus {
  /// The exit code of `status`, for all problems, not only for the verdict.
  ///
  /// - Parameters:
  ///   - failedForPerson: the number of failed operations that only a person can help.
  ///   - limit: nil: it is a problem at once that no process syncs what waits, or that the app is waited for.
  func code(hasCredential: Bool, failedForPerson: Int, limit: AgeLimit? = nil) -> CommandStatus {
    let verdicts = verdicts(hasCredential: hasCredential).all
    var codes = verdicts.filter { limit == nil || !$0.isJudgedByAge }.map(\.status)
    if let limit, isLate(limit) { codes.append(isHeldByCloudAlone ? .cloudUnreachable : .personNeeded) }
    if failedForPerson > 0 { codes.append(.personNeeded) }
    if state == .error { codes.append(.itemsFailed) }
    return .combined(codes)
  }

  /// Whether a change is unsent for too long, or the syncing process has hung for so long: then nothing is sent or
  /// fetched, whether a change waits or not.
  private func isLate(_ limit: AgeLimit) -> Bool {
    [limit.oldestAt, syncingProcess?.stalledSince].compactMap(\.self).contains { generatedAt - $0 > limit.milliseconds }
  }

  /// Whether a process is syncing, and nothing but the network or the server keeps it from sending.
  private var isHeldByCloudAlone: Bool {
    guard isSyncing, forApp == 0 else { return false }
    if networkProblem != nil || silentSince != nil || changeThrottledUntil != nil { return true }
    return throttles.contains { wait in
      // Nothing that is to be sent waits for a feed.
      if case .feed = wait.scope { false } else { true }
    }
  }
}

extension Verdict {
  /// The exit code of a problem; the other verdicts have none.
  var status: CommandStatus {
    switch self {
    case .unreadable: .storeUnusable
    case .storeFull, .wrongAccount, .signedOut, .decisionNeeded, .blocked, .notSyncing, .conflicts, .waitingForApp:
      .personNeeded
    case .failed: .itemsFailed
    case .paused, .offline, .sending, .throttled, .retrying, .partlyPaused, .inSync, .fetching,
      .neverSynced, .outOfDate:
      .done
    }
  }

  /// Whether it is a problem only for as long as changes are unsent because of it: another process may sync them yet.
  fileprivate var isJudgedByAge: Bool {
    switch self {
    case .signedOut(_, let lacksCredential): lacksCredential
    case .notSyncing, .waitingForApp: true
    case .unreadable, .storeFull, .wrongAccount, .decisionNeeded, .blocked, .failed, .conflicts, .paused, .offline,
      .sending, .throttled, .retrying, .partlyPaused, .inSync, .fetching, .neverSynced, .outOfDate:
      false
    }
  }
}
