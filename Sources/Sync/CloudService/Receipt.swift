package import CloudSync
import Facts

/// The result of a command as data; ``text(_:)`` is its sentence.
package struct Receipt: Sendable {
  package var command: ServiceCommand
  /// The number of operations changed, of pause rules, or of what else the command is about.
  package var changed = 0
  /// The operations and pause rules that were changed, and those left alone.
  package var result = CommandResult()
  /// The zones that are fetched again, or whose deletions were decided.
  package var zones: [ZoneKey] = []
  /// How a conflict was resolved; how each of several would be.
  package var resolutions: [(conflict: Conflict, resolution: Resolution)] = []
  /// The conflicts that have changed since the version that was decided on, as they are now.
  package var moved: [Conflict] = []
  /// The deletions still on hold in the zone.
  package var onHold: HeldDeletions?
  /// Whether an edit leaves a change to be sent.
  package var isToBeSent = false
  /// Whether waits of the whole store or a zone were ended.
  package var endsWaits = false
  package var summary: SyncSummary?
  /// The store's state after a sync.
  package var status: StoreStatus?
  /// The reason why nothing was done.
  package var failure: (any Error)?

  package init(_ command: ServiceCommand, failure: (any Error)? = nil) {
    (self.command, self.failure) = (command, failure)
  }
}

extension Receipt {
  /// The verb applied to operations.
  package var verb: QueueVerb? { if case .perform(let verb, _, _, _) = command { verb } else { nil } }

  /// Whether nothing was done because what the command is about is not as it was shown.
  package var doesNotApply: Bool { if case .doesNotApply? = failure as? CommandRefusal { true } else { false } }

  mutating func record(_ result: CommandResult) { (self.result, changed) = (result, result.changed.count) }

  mutating func record(undone result: CommandResult) throws {
    record(result)
    // Of several, each is reported.
    if result.changed.isEmpty, result.skipped.count == 1, case .inWords(let reason)? = result.skipped.values.first {
      throw CommandRefusal.doesNotApply(reason)
    }
  }

  mutating func record(_ rules: [PauseRule]) { (result.rules, changed) = (rules, rules.count) }

  mutating func record(_ zones: [ZoneKey]) { (self.zones, changed) = (zones, zones.count) }

  mutating func add(_ outcome: ConflictOutcome?) {
    if case .resolved(let resolution, let conflict)? = outcome { resolutions.append((conflict, resolution)) }
  }

  mutating func record(_ outcome: ConflictOutcome, of id: Int64) throws {
    add(outcome)
    guard case .moved(let conflict) = outcome else { return (result.changed, changed) = ([id], 1) }
    guard let conflict else {
      result.unknown = [id]
      throw CommandRefusal.doesNotApply("\(id) is not a conflict, or no longer; `cktop conflicts list` shows them all")
    }
    moved = [conflict]
    result.skipped[id] = .changed(state: OperationState.conflict.rawValue)
    throw CommandRefusal.doesNotApply(
      "conflict \(id) changed meanwhile, nothing was done; look at it again and decide (version \(conflict.version))"
    )
  }

  mutating func record(_ outcome: ConflictsOutcome) {
    (result.changed, changed) = (outcome.resolved, outcome.resolved.count)
    result.skipped = outcome.skipped.mapValues(Obstacle.inWords)
    for conflict in outcome.moved { result.skipped[conflict.id] = .changed(state: OperationState.conflict.rawValue) }
    (result.unknown, moved) = (outcome.unknown, outcome.moved)
  }

  /// Notes that an operation is not in the queue, and returns the reason why nothing was done.
  mutating func notQueued(_ id: Int64) -> CommandRefusal {
    result.unknown = [id]
    return .doesNotApply("there is no operation \(id); cktop queue list shows them all")
  }

  mutating func record(_ outcome: SyncStore.EditOutcome, of id: Int64) throws {
    if outcome == .moved {
      result.skipped[id] = .inWords("it or its record changed meanwhile")
      throw CommandRefusal.doesNotApply("operation \(id) or its record changed meanwhile; look at it again")
    }
    if outcome == .notFailed {
      result.skipped[id] = .inWords("it is not a failed save")
      throw CommandRefusal.doesNotApply("\(id) is not a failed save; `cktop queue list` shows what can be edited")
    }
    (result.changed, changed, isToBeSent) = ([id], 1, outcome == .queued)
  }

  mutating func record(_ outcome: DeletionOutcome, of zone: ZoneKey) throws {
    (changed, onHold, zones) = (outcome.records, outcome.onHold, outcome.records > 0 ? [zone] : [])
    guard outcome.hasMoved else { return }
    let done = changed == 0 ? "nothing was done" : "\(Words.count(changed, "record")) had been decided by then"
    let now = onHold.map { "look at them again and decide (version \($0.version))" } ?? "they are decided already"
    throw CommandRefusal.doesNotApply(
      "the deletions on hold in zone \(zone.zone) changed meanwhile, \(done); \(now)"
    )
  }
}
