import CloudKit
import Facts

/// Asking the app to resolve conflicts.
extension Cycle {
  /// Asks about every conflict that the app has not seen in its current version. After a timeout no more are asked in
  /// this sync, so that an app that hangs does not hold up the rest.
  func resolveConflicts() async throws {
    guard let resolver = configuration.conflictResolver else { return try resolveWithoutApp() }
    let patience = configuration.conflictPatience
    engine.overdueResolvers.forgetEnds()
    session.asksLater = false
    // One at a time: there may be many, and an answer may change those that follow.
    var last: Int64 = 0
    while let conflict = try store.conflictToAsk(after: last) {
      last = conflict.id
      // Conflicts of this store's user are not shown to the app after another user signed in.
      if isOtherSignIn { return isInterrupted = true }
      let change = conflict.change
      let answer: SyncStore.ConflictAnswer
      do {
        let decision = try await engine.ask(
          within: patience / .seconds(1),
          besides: engine.overdueResolvers,
          limit: SyncEngine.overdueLimit
        ) { try await resolver(change) }
        answer = decision.answer(to: change)
      } catch {
        // We cancelled the question, so it is asked again.
        try Task.checkCancellation()
        let silence = error as? NoAnswer
        // It is asked when an earlier call has ended.
        if silence?.wasAsked == false { return session.asksLater = true }
        answer = .none(silence == nil ? .failed("\(error)") : .silent("\(patience)"))
      }
      try Task.checkCancellation()
      try store.take(answer, to: conflict, lease)
      if case .none(.silent) = answer { return session.asksLater = try store.conflictToAsk(after: last) != nil }
    }
  }

  /// Resolves the app's conflicts by the policy. Those that the policy leaves to a person stay open.
  func resolveWithoutApp() throws(StoreError) {
    guard isWithoutApp, let side = settings.policy?.side else { return }
    var last: Int64 = 0
    while let conflict = try store.conflictToAsk(after: last) {
      last = conflict.id
      try store.take(.take(side), to: conflict, by: .policy, lease)
    }
  }
}

extension ConflictDecision {
  /// The decision as the store applies it.
  fileprivate func answer(to change: ConflictingChange) -> SyncStore.ConflictAnswer {
    switch self {
    case .server: return .take(.server)
    case .client: return .take(.local)
    case .merged(let record):
      guard record.recordID == change.recordID, record.recordType == change.recordType else {
        return .none(.otherRecord)
      }
      do {
        let parent: Set<String> = record.changedParent == nil ? [] : [FieldChanges.parent]
        return .merged(try record.queueFields(), touched: parent.union(record.changedKeys()))
      } catch {
        return .none(.invalidRecord(error.localizedDescription))
      }
    case .manual(let reason): return .none(.leftToPerson(reason))
    }
  }
}

extension ConflictPolicy {
  /// The side that wins a whole conflict; nil if a person decides.
  fileprivate var side: ConflictSide? {
    switch self {
    case .server: .server
    case .client: .local
    case .newest: .newest
    case .manual: nil
    }
  }
}
