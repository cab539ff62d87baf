import Facts

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
    try !pause([rule], actor: actor).isEmpty
  }

  /// Sets several rules.
  ///
  /// - Returns: those that are new.
  package func pause(_ rules: [PauseRule], actor: String) throws(StoreError) -> [PauseRule] {
    try change(rules, Event.Command.pauseRules, actor) { rule, now, ledger in
      try ledger.pause(rule, at: now, actor: actor)
    }
  }

  /// Lifts a rule. Operations that were paused one by one stay paused.
  ///
  /// - Returns: whether the rule was in effect.
  @discardableResult
  package func resume(_ rule: PauseRule, actor: String) throws(StoreError) -> Bool {
    try !resume([rule], actor: actor).isEmpty
  }

  /// Lifts several rules.
  ///
  /// - Returns: those that were in effect.
  package func resume(_ rules: [PauseRule], actor: String) throws(StoreError) -> [PauseRule] {
    try change(rules, Event.Command.resumeRules, actor) { rule, _, ledger in try ledger.resume(rule) }
  }

  /// Sets or lifts rules, in slices. Returns those that were changed.
  private func change(
    _ rules: [PauseRule],
    _ command: ([Cause.PauseScope]) -> Event.Command,
    _ actor: String,
    _ body: (PauseRule, _ now: Int64, Ledger) throws -> Bool
  ) throws(StoreError) -> [PauseRule] {
    let now = now()
    var changed: [PauseRule] = []
    for start in stride(from: 0, to: rules.count, by: Self.slice) {
      let slice = rules[start..<min(start + Self.slice, rules.count)]
      changed += try write { ledger in
        let changed = try slice.filter { try body($0, now, ledger) }
        if !changed.isEmpty { try audit(command(changed.map(\.asCause)), changed.count, actor, now: now, ledger) }
        return changed
      }
    }
    return changed
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
        try audit(.resumeRules([rule.asCause]), 1, actor, now: now, ledger)
      }
      return rules
    }
  }
}
