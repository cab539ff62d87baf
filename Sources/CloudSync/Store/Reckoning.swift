import CloudKit

/// What the server's record tells of requests of ours that were not answered.
extension QueuedOperation {
  /// The base, where what our own unanswered request wrote is as good as the base, for nobody else touched it. A request
  /// that may still be carried out is remembered.
  ///
  /// - Returns: also the counters of which nobody can tell whether that request has counted.
  mutating func base(reckoningWithSentOn server: MirrorRecord, _ rules: [String: MergeRule])
    -> (base: [String: FieldValue], uncertain: Set<String>)
  {
    let isNews = !isUnanswered || server.changeTag != baseTag || state == .conflict
    guard !sentChanges.isEmpty, isNews else { return (base, []) }
    var (result, uncertain) = (base, Set<String>())
    for name in sentChanges.names {
      let (before, theirs) = (base(of: name, beside: server), server.fields[name])
      let sent = sentChanges.filter { $0.names.contains(name) }
      let rule = changes.rules[name] ?? sent.last?.rules[name] ?? rules[name] ?? .value
      if rule == .counter, MergeRule.counter.joined(base: before, local: sent.last?[name], server: theirs) != nil {
        // Others count to the same number, too: where an answer said that ours was not taken, that is what they did. Where
        // there was none, what else was in the request tells.
        guard isUnanswered else { continue }
        let traces = sent.map { self.traces(of: $0, on: server, rules) }
        if state != .conflict, zip(sent, traces).contains(where: { $0[name] == theirs && !$1.contains(false) }) {
          result[name] = theirs
        } else if state == .conflict || theirs != before || traces.joined().contains(true) {
          uncertain.insert(name)
        }
      } else if sent.contains(where: { $0[name] == theirs }), isUnanswered || rule == .value {
        result[name] = theirs
      }
    }
    let doubtful = uncertain.isEmpty ? [] : sentChanges.map { $0.only(uncertain) }.filter { !$0.isEmpty }
    forgetSent()
    // Until a person has decided: the next edit by others does not tell either whether it has counted.
    (sentChanges, isUnanswered) = (doubtful, !doubtful.isEmpty)
    return (result, uncertain)
  }

  /// A field as the change was made on it. What a record that nobody has sent was here, nobody has taken away there.
  private func base(of name: String, beside server: MirrorRecord) -> FieldValue? {
    baseTag == nil && server.fields[name] == nil ? nil : base[name]
  }

  /// Of each field that a request was to change, whether the server's record shows it. Numbers that others count, too, tell
  /// nothing, nor do files.
  private func traces(of sent: FieldChanges, on server: MirrorRecord, _ rules: [String: MergeRule]) -> [Bool] {
    sent.names.compactMap { name in
      let (before, wanted, there) = (base(of: name, beside: server), sent[name], server.fields[name])
      guard wanted != before, wanted?.assets == nil else { return nil }
      switch sent.rules[name] ?? rules[name] ?? .value {
      case .counter: return nil
      case .value: return wanted == there
      case .elements:
        guard let before = before.elements, let wanted = wanted.elements, let there = there.elements else {
          return wanted == there
        }
        let (added, removed) = (wanted.subtracting(before), before.subtracting(wanted))
        return added.isEmpty && removed.isEmpty ? nil : added.isSubset(of: there) && removed.isDisjoint(with: there)
      }
    }
  }

  /// Fields that an unanswered request may yet set to another value than is wanted by now.
  var fieldsStillOnTheirWay: Set<String> {
    var names: Set<String> = []
    guard isUnanswered else { return names }
    for sent in sentChanges {
      for name in sent.names.intersection(changes.names) where sent[name] != changes[name] { names.insert(name) }
    }
    return names
  }
}

extension FieldValue? {
  /// What is in a list, whatever its order; nil of what is none.
  fileprivate var elements: Set<FieldValue>? {
    switch self {
    case nil: []
    case .list(_, let values): Set(values)
    case .encrypted(let value): FieldValue?.some(value).elements
    default: nil
    }
  }
}
