package import CloudSync
package import Facts

/// A command of an operator.
package enum ServiceCommand: Hashable, Sendable {
  /// Applies a verb to operations; an operation whose version is not the given one is left alone.
  case perform(QueueVerb, Selection, versions: [Int64: String] = [:])
  /// Sets pause rules, or lifts them. A rule that is in that state already stays as it is.
  case pause([PauseRule])
  case resume([PauseRule])
  /// Ends back-offs.
  case flush
  /// Resolves a conflict, unless its version has changed.
  case resolve(Int64, take: ConflictSide, fields: [String: ConflictSide], version: String)
  /// Resolves conflicts alike, each unless its version has changed.
  case resolveAll([Int64: String], take: ConflictSide, fields: [String: ConflictSide])
  /// Restores what discards and resolutions dropped of these operations.
  case undo([Int64])
  /// Restores all dropped changes of a list except some, as they are when the command runs.
  case undoAll(DroppedListing, except: Set<Int64>)
  /// Notes that a person has seen what was dropped, up to the last change that was shown.
  case markDroppedSeen(through: Int64)
  /// Sets fields of a failed save, unless its version has changed, and sends it again.
  case edit(Int64, [FieldAssignment], version: SyncStore.EditedVersion)
  /// Accepts or restores the deletions on hold in a zone, unless their version has changed.
  case acceptDeletions(ZoneKey, version: String)
  case restoreDeletions(ZoneKey, version: String)
  /// Has the next sync fetch zones from the start, to repair a local copy that differs from the server.
  case fetchAgain([ZoneKey])
  /// Ends back-offs and requests a sync from the syncing process, without waiting for it.
  case askForSync
  /// Syncs once and waits for the end.
  case sync
  /// Syncs continuously.
  case keepSyncing
}

/// The result of a command as data; the screen formats it.
package struct Receipt: Sendable {
  package var command: ServiceCommand
  /// The verb applied to operations.
  package var verb: QueueVerb?
  /// The number of operations changed, or of pause rules.
  package var changed = 0
  /// The operations that were changed, if they are known one by one.
  package var ids: [Int64] = []
  /// The operations left alone, with the reason.
  package var skipped: [Int64: Obstacle] = [:]
  /// The given operations that are no longer in the queue.
  package var gone: [Int64] = []
  /// The number of changed operations that are unconfirmed: the server may have carried them out.
  package var unanswered = 0
  /// The zones that a retry creates again, because the server has deleted them.
  package var recreated: Set<String> = []
  /// The numbers of changes that an undo brought back as conflicts, as failed, and as paused.
  package var reopened = 0
  package var failedAgain = 0
  package var pausedAgain = 0
  /// The number of changes that an undo took back before they were sent, which leaves nothing to send.
  package var withdrawn = 0
  /// Whether a resolved conflict, or an edit, leaves a change to be sent.
  package var isToBeSent = false
  /// The summary of a sync.
  package var summary: SyncSummary?
  /// The store's state after a sync.
  package var status: StoreStatus?
  /// The reason why nothing was done.
  package var failure: (any Error)?

  package init(_ command: ServiceCommand, failure: (any Error)? = nil) {
    self.command = command
    self.failure = failure
  }
}

/// The reason why the service rejects a command.
package enum CommandRefusal: Error, Hashable, Sendable {
  case readOnly
  /// A sync is running already.
  case alreadySyncing
  /// This service has no engine.
  case cannotSync
}

extension ServiceCommand {
  /// Carries out a command on the store. Blocks until its effect is on disk.
  ///
  /// - Parameters:
  ///   - shown: the store that was shown when the command was given; another file in its place is not changed.
  ///   - progress: called while a command changes many operations.
  func run(on changing: ChangingStore, shown: SyncStore?, progress: (CommandProgress) -> Void) -> Receipt {
    var receipt = Receipt(self)
    do {
      try run(on: changing.get(shown: shown), &receipt, progress)
    } catch {
      receipt.failure = error
    }
    return receipt
  }

  private func run(on store: SyncStore, _ receipt: inout Receipt, _ progress: (CommandProgress) -> Void) throws {
    let actor = Operator.name
    func perform(_ verb: QueueVerb, _ selection: Selection, _ versions: [Int64: String] = [:]) throws {
      receipt.verb = verb
      let result = try store.perform(verb, on: selection, versions: versions, actor: actor) { done, total in
        progress(CommandProgress(self, done: done, total: total))
        return true
      }
      receipt.changed = result.changed.count
      receipt.ids = result.changed
      receipt.skipped = result.skipped
      receipt.gone = result.unknown
      receipt.unanswered = result.unanswered.count
      receipt.recreated = result.recreated
    }
    func undo(_ ids: [Int64]) throws {
      let result = try store.undo(ids, actor: actor) { done, total in
        progress(CommandProgress(self, done: done, total: total))
        return true
      }
      (receipt.changed, receipt.ids, receipt.skipped) = (result.changed.count, result.changed, result.skipped)
      (receipt.reopened, receipt.failedAgain) = (result.reopened, result.failedAgain)
      (receipt.pausedAgain, receipt.withdrawn) = (result.pausedAgain, result.withdrawn)
      if result.changed.isEmpty, case .inWords(let reason)? = result.skipped.values.first {
        throw StoreError(.invalid, reason)
      }
    }
    switch self {
    case .perform(let verb, let selection, let versions): try perform(verb, selection, versions)
    case .pause(let rules): receipt.changed = try store.pause(rules, actor: actor).count
    case .resume(let rules): receipt.changed = try store.resume(rules, actor: actor).count
    case .flush: receipt.changed = try store.flush(actor: actor)
    case .resolve(let id, let take, let fields, let version):
      switch try store.resolve(id, take: take, fields: fields, ifVersion: version, actor: actor) {
      case .resolved(let resolution, _):
        receipt.isToBeSent = resolution.left != nil
        receipt.changed = 1
        receipt.ids = [id]
      case .moved(let conflict):
        let now = conflict == nil ? "it is resolved already" : "look at it again and decide"
        throw StoreError(.invalid, "conflict \(id) changed meanwhile, nothing was done; \(now)")
      }
    case .resolveAll(let versions, let take, let fields):
      let conflicts = versions.sorted { $0.key < $1.key }.map { (id: $0.key, version: Optional($0.value)) }
      let outcome = try store.resolve(conflicts, take: take, fields: fields, actor: actor)
      receipt.changed = outcome.resolved.count
      receipt.ids = outcome.resolved
      receipt.skipped = outcome.skipped.mapValues(Obstacle.inWords)
      for conflict in outcome.moved { receipt.skipped[conflict.id] = .changed(state: OperationState.conflict.rawValue) }
      receipt.gone = outcome.unknown
    case .undo(let ids): try undo(ids)
    case .undoAll(let listing, let others): try undo(store.undoable(listing, except: others))
    // The rows stay as they are: nothing is to be shown of it.
    case .markDroppedSeen(let id): try store.markDroppedSeen(through: id, actor: actor)
    case .edit(let id, let assignments, let version):
      switch try store.edit(id, assignments, ifVersion: version, actor: actor) {
      case .queued: receipt.isToBeSent = true
      case .discarded: break
      case .moved: throw StoreError(.invalid, "operation \(id) or its record changed meanwhile; look at it again")
      }
      (receipt.changed, receipt.ids) = (1, [id])
    case .acceptDeletions(let zone, let version):
      try take(store.acceptDeletions(in: zone, ifVersion: version, actor: actor), of: zone, &receipt)
    case .restoreDeletions(let zone, let version):
      try take(store.restoreDeletions(in: zone, ifVersion: version, actor: actor), of: zone, &receipt)
    case .fetchAgain(let zones):
      receipt.changed = try store.fetchAgain(zones, actor: actor)
    case .askForSync:
      receipt.changed = try store.flush(actor: actor)
      try store.askForSync()
    case .sync, .keepSyncing: receipt.failure = CommandRefusal.cannotSync
    }
  }

  private func take(_ outcome: DeletionOutcome, of zone: ZoneKey, _ receipt: inout Receipt) throws {
    receipt.changed = outcome.records
    guard outcome.hasMoved else { return }
    let done = outcome.records == 0 ? "nothing was done" : "\(Words.count(outcome.records, "record")) were done by then"
    let now = outcome.onHold == nil ? "they are decided already" : "look at them again and decide"
    throw StoreError(.invalid, "the deletions on hold in zone \(zone.zone) changed meanwhile, \(done); \(now)")
  }
}
