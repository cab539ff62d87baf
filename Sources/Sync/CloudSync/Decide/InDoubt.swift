import CloudKit

/// Determines from the server's record what became of our requests, above all of those whose reply was lost.
extension QueuedOperation {
  /// Returns the base, with the values our own unconfirmed request wrote in place of the original ones where no other
  /// client has written.
  mutating func base(resolvingInDoubt server: MirrorRecord, _ rules: [String: MergeRule]) -> [String: FieldValue] {
    let isNews = !isUnconfirmed || server.changeTag != baseTag || state == .conflict
    guard !sentChanges.isEmpty, isNews else { return base }
    var result = base
    for name in sentChanges.names {
      let sent = sentChanges.filter { $0.names.contains(name) }
      let rule = changes.rules[name] ?? sent.last?.rules[name] ?? rules[name] ?? .value
      if rule == .elements, isUnconfirmed,
        let applied = sent.last(where: { hasApplied(name, of: $0, rule, on: server) == true })
      {
        // Other clients may have added or removed elements since. If they removed the very ones that were added, the
        // record looks as if the request had never arrived: it is sent again, so that no addition is lost.
        result[name] = applied[name]
      } else if sent.contains(where: { $0[name].isSame(as: server.fields[name]) }), isUnconfirmed || rule == .value {
        result[name] = server.fields[name]
      }
    }
    apply(.confirmed())
    return result
  }

  /// A field's base. We never sent this record, so a field missing on the server was not deleted there.
  private func base(of name: String, beside server: MirrorRecord) -> FieldValue? {
    baseTag == nil && server.fields[name] == nil ? nil : base[name]
  }

  /// Whether the server's record shows traces of an earlier request, even a rejected one, which may have been delivered
  /// twice.
  func mayShow(in server: MirrorRecord) -> Bool {
    sentChanges.contains { sent in sent.names.contains { hasApplied($0, of: sent, on: server) == true } }
  }

  /// Whether the server's record may be what an earlier request made: nothing that can be compared says otherwise.
  func mayHaveMade(_ server: MirrorRecord) -> Bool {
    isUnconfirmed
      && sentChanges.contains { sent in sent.names.allSatisfy { hasApplied($0, of: sent, on: server) != false } }
  }

  /// Whether the server's record shows that a request changed a field.
  ///
  /// Nil if it cannot be determined: the request did not change the field, or the server describes its files
  /// differently.
  private func hasApplied(_ name: String, of sent: FieldChanges, _ rule: MergeRule? = nil, on server: MirrorRecord)
    -> Bool?
  {
    let (before, wanted, there) = (base(of: name, beside: server), sent[name], server.fields[name])
    guard !wanted.isSame(as: before), wanted?.assets == nil else { return nil }
    guard rule ?? sent.rules[name] == .elements, let before = before.elements, let wanted = wanted.elements,
      let there = there.elements
    else { return wanted.isSame(as: there) }
    let (added, removed) = (wanted.subtracting(before), before.subtracting(wanted))
    if added.isEmpty && removed.isEmpty { return nil }
    return added.isSubset(of: there) && removed.isDisjoint(with: there)
  }

  /// Whether it replaces a record that others have edited since it was deleted locally.
  func replaces(_ server: MirrorRecord) -> Bool {
    isRecreation && baseTag != nil && baseTag != server.changeTag && !base.isSame(as: server.fields)
      && !changes.values.isSame(as: server.fields) && !mayShow(in: server)
  }

  /// Whether a file of this save may be the one that the server holds. Files are equal if the server gives them the
  /// same checksum, which is unknown before the upload because its algorithm is not published. Different sizes rule it
  /// out.
  ///
  /// The save is then sent with its old tag, so that the server rejects it and both sides are compared again.
  func mayHoldSameFiles(as server: MirrorRecord) -> Bool {
    guard !isRecreation, !isUnconfirmed, sentChanges.isEmpty, !conflictsEndlessly else { return false }
    return changes.values.contains { name, value in
      guard let theirs = server.fields[name], theirs != base[name], let others = theirs.assets else { return false }
      let mine = value.assets ?? []
      return assets.contains { $0.field == name && $0.checksum == nil } && mine.count == others.count
        && zip(mine, others).allSatisfy { $0.size == nil || $1.size == nil || $0.size == $1.size }
    }
  }

  /// Fields that an unconfirmed request may still set to a value other than the current one.
  var fieldsStillOnTheirWay: Set<String> {
    guard isUnconfirmed else { return [] }
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
