import CloudKit
package import Facts

/// The limit of `status --max-age`.
package struct AgeLimit: Hashable, Sendable {
  /// Milliseconds for which a change may be unsent.
  package var milliseconds: Int64
  /// When the oldest change was accepted that no person holds; nil without one.
  package var oldestAt: Int64?

  package init(milliseconds: Int64, oldestAt: Int64? = nil) {
    (self.milliseconds, self.oldestAt) = (milliseconds, oldestAt)
  }
}

extension StoreStatus {
  /// The exit code of `status`, for all problems, not only for the verdict.
  ///
  /// - Parameters:
  ///   - failedForPerson: the number of failed operations that only a person can help.
  ///   - limit: nil: it is a problem at once that no process syncs what waits, or that the app is waited for.
  package func code(hasCredential: Bool, failedForPerson: Int, limit: AgeLimit? = nil) -> CommandStatus {
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

extension StoreView {
  /// Dead letters that only a person can help: refused for want of permission or quota.
  package func failuresForPerson() throws -> Int {
    try count("failed", [.accessDenied, .authenticationFailed, .authenticationRequired, .quotaExceeded])
  }

  /// Rows of their own back-off that met no cloud, or one that asked them to wait.
  package func waitsForCloud() throws -> Int { try count("waiting", [.networkError, .throttled, .tryAgainLater]) }

  private func count(_ state: String, _ codes: [ServerErrorCode]) throws -> Int {
    let list = codes.map { "'\($0.name)'" }.joined(separator: ", ")
    let filter = try QueueFilter(parsing: "state = '\(state)' and error in (\(list))")
    return try operations(matching: filter, limit: 1).total
  }
}
