import CloudKit

/// Determines from the server's record what became of our requests whose reply was lost.
extension QueuedOperation {
  /// Returns the base, with the values our own unconfirmed request wrote in place of the original ones where no other
  /// client has written. Keeps the requests that may still be carried out.
  ///
  /// - Returns: the base, and the counters for which it cannot be determined whether that request was applied.
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
        // Recreating a counter with the same value does not count.
        guard sent.contains(where: { $0[name] != before }) else { continue }
        // Other clients may have counted to the same number; the request's other fields decide.
        let traces = sent.map { self.traces(of: $0, on: server, rules) }
        guard isUnanswered else {
          // A rejection is trusted, unless part of the request is on the server: it may have been delivered twice.
          if traces.joined().contains(.taken) { uncertain.insert(name) }
          continue
        }
        let isTaken = zip(sent, traces).contains { $0[name] == theirs && $1.allSatisfy { $0 == .taken } }
        // An equal number alone proves nothing, because others may have counted back. A missing counter was never
        // applied.
        let isUntouched = theirs == before && (theirs == nil || traces.allSatisfy { Set($0) == [.untouched] })
        if state != .conflict, isTaken {
          result[name] = theirs
        } else if state == .conflict || !isUntouched {
          uncertain.insert(name)
        }
      } else if rule == .elements, isUnanswered,
        let taken = sent.last(where: { trace(of: name, in: $0, rule, on: server) == .taken })
      {
        // Other clients may have added or removed elements since.
        result[name] = taken[name]
      } else if sent.contains(where: { $0[name].isSame(as: theirs) }), isUnanswered || rule == .value {
        result[name] = theirs
      }
    }
    let doubtful = uncertain.isEmpty ? [] : sentChanges.map { $0.counting(uncertain) }.filter { !$0.isEmpty }
    // Kept until a person decides: a later edit by others does not show whether the request was applied either.
    apply(.confirmed(except: doubtful))
    return (result, uncertain)
  }

  /// A field's base. We never sent this record, so a field missing on the server was not deleted there.
  private func base(of name: String, beside server: MirrorRecord) -> FieldValue? {
    baseTag == nil && server.fields[name] == nil ? nil : base[name]
  }

  /// Whether the server's record shows traces of an earlier request, even a rejected one, which may have been delivered
  /// twice.
  func mayShow(in server: MirrorRecord) -> Bool {
    sentChanges.contains { traces(of: $0, on: server, [:]).contains(.taken) }
  }

  /// Whether the server's record may be what an earlier request made: nothing that can be compared says otherwise.
  func mayHaveMade(_ server: MirrorRecord) -> Bool {
    isUnanswered && sentChanges.contains { traces(of: $0, on: server, [:]).allSatisfy { $0 == .taken } }
  }

  /// The state on the server of a field that a request was to change.
  private enum Trace {
    case taken
    /// The field still has its old value.
    case untouched
    /// Another client has written the field.
    case overwritten
  }

  private func traces(of sent: FieldChanges, on server: MirrorRecord, _ rules: [String: MergeRule]) -> [Trace] {
    sent.names.compactMap { trace(of: $0, in: sent, sent.rules[$0] ?? rules[$0] ?? .value, on: server) }
  }

  /// Nil if it cannot be determined: others change counters too, and the server describes files differently.
  private func trace(of name: String, in sent: FieldChanges, _ rule: MergeRule, on server: MirrorRecord) -> Trace? {
    let (before, wanted, there) = (base(of: name, beside: server), sent[name], server.fields[name])
    guard !wanted.isSame(as: before), wanted?.assets == nil else { return nil }
    switch rule {
    case .counter: return nil
    case .value: return wanted.isSame(as: there) ? .taken : there.isSame(as: before) ? .untouched : .overwritten
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

  /// Fields that an unconfirmed request may still set to a value other than the current one.
  var fieldsStillOnTheirWay: Set<String> {
    guard isUnanswered else { return [] }
    // A delete that still arrives removes every field; once the record has been written again, the server rejects it.
    if isRecreation { return changes.names }
    var names: Set<String> = []
    for sent in sentChanges {
      for name in sent.names.intersection(changes.names) where !sent[name].isSame(as: changes[name]) {
        names.insert(name)
      }
    }
    return names
  }
}

extension FieldValue? {
  /// The elements of a list, ignoring order; nil for a value that is no list.
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
  /// Whether these changes turn `base` into `fields`. Asset fields are assumed to match.
  func make(_ fields: [String: FieldValue], of base: [String: FieldValue]) -> Bool {
    let made = applied(to: base)
    return Set(made.keys).union(fields.keys).allSatisfy { name in
      made[name].isSame(as: fields[name]) || (made[name]?.assets != nil && fields[name]?.assets != nil)
    }
  }
}
