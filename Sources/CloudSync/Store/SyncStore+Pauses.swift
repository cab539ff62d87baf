/// Rules that pause sending. Setting or lifting one writes a single row, whatever the length of the queue.
extension SyncStore {
  /// The rules in effect.
  package func pauses() throws(StoreError) -> [Pause] { try read { try $0.pauses() } }

  /// Pauses everything, a zone or a record type, including later changes.
  ///
  /// - Parameter actor: the operator's name, for the audit log.
  /// - Returns: whether the rule is new.
  @discardableResult
  package func pause(_ rule: PauseRule, actor: String) throws(StoreError) -> Bool {
    let now = now()
    return try write { ledger in
      guard try ledger.pause(rule, at: now, actor: actor) else { return false }
      try audit("pause", rule.text, 1, actor, now: now, ledger)
      return true
    }
  }

  /// Lifts a rule. Operations that were paused one by one stay paused.
  ///
  /// - Returns: whether the rule was in effect.
  @discardableResult
  package func resume(_ rule: PauseRule, actor: String) throws(StoreError) -> Bool {
    let now = now()
    return try write { ledger in
      guard try ledger.resume(rule) else { return false }
      try audit("resume", rule.text, 1, actor, now: now, ledger)
      return true
    }
  }

  /// Lifts every rule. Operations that were paused one by one stay paused.
  ///
  /// - Returns: the rules that were in effect.
  @discardableResult
  package func resumeAll(actor: String) throws(StoreError) -> [PauseRule] {
    let now = now()
    return try write { ledger in
      let rules = try ledger.pauses().map(\.rule)
      for rule in rules {
        _ = try ledger.resume(rule)
        try audit("resume", rule.text, 1, actor, now: now, ledger)
      }
      return rules
    }
  }
}
