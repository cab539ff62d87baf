/// Checks of references after all operations of a batch are known, so that their order does not matter. [E]
extension ModifyBatch {
  /// Fails the operations that break a reference. Repeats until nothing changes, because one failure can cause another.
  mutating func settleReferences() {
    var isSettled = false
    while !isSettled {
      isSettled = true
      let view = ReferenceView(self)
      for index in steps.indices {
        guard let error = view.objection(to: steps[index]) else { continue }
        steps[index].outcome = .failure(error)
        isSettled = false
      }
    }
  }

  /// Returns the records that the deletions cascade to, in the order of discovery. [D]
  func cascades() -> [String] {
    let view = ReferenceView(self)
    var found: [String] = []
    var seen = Set<String>()
    for step in steps {
      guard case .success(.delete) = step.outcome, let name = step.name else { continue }
      for victim in view.cascade(of: name) where !view.deletes.contains(victim) && seen.insert(victim).inserted {
        found.append(victim)
      }
    }
    return found
  }
}

/// The references as they would be after the successful steps.
private struct ReferenceView {
  let batch: ModifyBatch
  private(set) var saves: [String: StoredRecord.Content] = [:]
  private(set) var deletes: Set<String> = []
  private var added: [String: [String: EmulatorReference.Action]] = [:]

  init(_ batch: ModifyBatch) {
    self.batch = batch
    for step in batch.steps {
      switch step.outcome {
      case .success(.save(let content, _, _)):
        saves[content.name] = content
        for reference in content.references where reference.action != .none {
          if added[reference.recordName]?[content.name] != .validate {
            added[reference.recordName, default: [:]][content.name] = reference.action
          }
        }
      case .success(.delete): if let name = step.name { deletes.insert(name) }
      case .success(.leave), .success(.nothing), .failure: break
      }
    }
  }

  func objection(to step: ModifyBatch.Step) -> ServerError? {
    guard case .success(let effect) = step.outcome, let name = step.name else { return nil }
    switch effect {
    case .leave, .nothing: return nil
    case .save(let content, _, _):
      // The three actions, and the limit of DELETE_SELF. [D]
      for reference in content.references {
        let target = reference.recordName
        if reference.action == .validate, !exists(target) {
          return ServerError(.validatingReferenceError, "The referenced record '\(target)' does not exist")
        }
        if reference.action == .deleteSelf, referrers(of: target, .deleteSelf).count > batch.configuration.referrerLimit
        {
          return .badRequest("Too many records refer to '\(target)'")
        }
      }
      return nil
    // A target cannot be deleted while a VALIDATE reference to it exists. [D]
    case .delete:
      let victims = Set(cascade(of: name)).union([name])
      for victim in victims {
        let holders = referrers(of: victim, .validate).filter { !victims.contains($0) && !deletes.contains($0) }
        if let holder = holders.min() {
          return ServerError(.validatingReferenceError, "The record '\(victim)' is referenced by '\(holder)'")
        }
      }
      return nil
    }
  }

  /// Returns the records that a deletion cascades to, without the record itself.
  func cascade(of name: String) -> [String] {
    var found: [String] = []
    var seen: Set<String> = [name]
    var open = [name]
    while let target = open.popLast() {
      for referrer in referrers(of: target, .deleteSelf).sorted() where seen.insert(referrer).inserted {
        found.append(referrer)
        open.append(referrer)
      }
    }
    return found
  }

  private func exists(_ name: String) -> Bool {
    saves[name] != nil || (!deletes.contains(name) && batch.zone.records[name] != nil)
  }

  private func referrers(of target: String, _ action: EmulatorReference.Action) -> [String] {
    let kept = batch.zone.referrers(of: target, action).filter { saves[$0] == nil && !deletes.contains($0) }
    return kept + (added[target] ?? [:]).filter { $0.value == action }.map(\.key)
  }
}
