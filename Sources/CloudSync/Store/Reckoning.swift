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
        // What is made anew as it was has not counted.
        guard sent.contains(where: { $0[name] != before }) else { continue }
        // Others count to the same number, too: what else was in the request tells.
        let traces = sent.map { self.traces(of: $0, on: server, rules) }
        guard isUnanswered else {
          // An answer that refuses it is believed, unless something of it is there: it may have arrived a second time.
          if traces.joined().contains(.taken) { uncertain.insert(name) }
          continue
        }
        let isTaken = zip(sent, traces).contains { $0[name] == theirs && $1.allSatisfy { $0 == .taken } }
        // The number alone proves nothing: others count back, too. One that is not there nobody has counted to.
        let isUntouched = theirs == before && (theirs == nil || traces.allSatisfy { Set($0) == [.untouched] })
        if state != .conflict, isTaken {
          result[name] = theirs
        } else if state == .conflict || !isUntouched {
          uncertain.insert(name)
        }
      } else if rule == .elements, isUnanswered,
        let taken = sent.last(where: { trace(of: name, in: $0, rule, on: server) == .taken })
      {
        // Others may have put more into the set, or taken it out.
        result[name] = taken[name]
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

  /// Whether the server's record has something in it of what was sent before, be it that an answer refused that: it may have
  /// arrived a second time.
  func mayShow(in server: MirrorRecord) -> Bool {
    sentChanges.contains { traces(of: $0, on: server, [:]).contains(.taken) }
  }

  /// What the server's record shows of what a request was to change in a field.
  private enum Trace {
    case taken
    /// It is as it was before.
    case untouched
    /// Others have written it.
    case overwritten
  }

  private func traces(of sent: FieldChanges, on server: MirrorRecord, _ rules: [String: MergeRule]) -> [Trace] {
    sent.names.compactMap { trace(of: $0, in: sent, sent.rules[$0] ?? rules[$0] ?? .value, on: server) }
  }

  /// Nil where it cannot be told: numbers are counted by others, too, and of files the server says otherwise what they are.
  private func trace(of name: String, in sent: FieldChanges, _ rule: MergeRule, on server: MirrorRecord) -> Trace? {
    let (before, wanted, there) = (base(of: name, beside: server), sent[name], server.fields[name])
    guard wanted != before, wanted?.assets == nil else { return nil }
    switch rule {
    case .counter: return nil
    case .value: return wanted == there ? .taken : there == before ? .untouched : .overwritten
    case .elements:
      guard let before = before.elements, let wanted = wanted.elements, let there = there.elements else {
        return trace(of: name, in: sent, .value, on: server)
      }
      let (added, removed) = (wanted.subtracting(before), before.subtracting(wanted))
      if added.isEmpty && removed.isEmpty { return nil }
      if added.isSubset(of: there), removed.isDisjoint(with: there) { return .taken }
      return there == before ? .untouched : .overwritten
    }
  }

  /// Fields that an unanswered request may yet set to another value than is wanted by now.
  var fieldsStillOnTheirWay: Set<String> {
    guard isUnanswered else { return [] }
    // A deletion that may still arrive takes all of it along; once the record has been written again, it is refused.
    if isRecreation { return changes.names }
    var names: Set<String> = []
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

extension FieldChanges {
  /// Whether these changes make the one of the other. Of files that is taken for granted.
  func make(_ fields: [String: FieldValue], of base: [String: FieldValue]) -> Bool {
    let made = applied(to: base)
    return made.count == fields.count
      && made.allSatisfy { name, value in
        value == fields[name] || (value.assets != nil && fields[name]?.assets != nil)
      }
  }
}
