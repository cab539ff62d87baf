package import CloudSync
import Facts

/// A command of an operator: what a key of the dashboard gives, and a verb of the command line.
package enum ServiceCommand: Hashable, Sendable {
  /// Applies a verb to operations; an operation whose version is not the given one is left alone.
  case perform(QueueVerb, Selection, versions: [Int64: String] = [:], dryRun: Bool = false)
  /// Sets pause rules, or lifts them. A rule that is in that state already stays as it is.
  case pause([PauseRule], dryRun: Bool = false)
  /// Nil: all rules.
  case resume([PauseRule]?, dryRun: Bool = false)
  /// Ends back-offs, and also the waits that the server asked for if wanted.
  case flush(throttles: Bool = false)
  /// Resolves a conflict, unless its version has changed. A version that is nil is the one that the command finds.
  case resolve(Int64, take: ConflictSide, fields: [String: ConflictSide], version: String?, dryRun: Bool = false)
  /// Resolves conflicts alike, each unless its version has changed.
  case resolveAll([Int64: String?], take: ConflictSide, fields: [String: ConflictSide], dryRun: Bool = false)
  /// Restores what discards and resolutions dropped of these operations.
  case undo([Int64])
  /// Restores all dropped changes of a list except some, as they are when the command runs.
  case undoAll(DroppedListing, except: Set<Int64>)
  /// Notes that a person has seen what was dropped, up to the last change that was shown.
  case markDroppedSeen(through: Int64)
  /// Sets fields of a failed save, unless its version has changed, and sends it again.
  case edit(Int64, [FieldAssignment], version: SyncStore.EditedVersion?)
  /// Accepts or restores the deletions on hold in a zone, unless their version has changed.
  case acceptDeletions(ZoneKey, version: String, dryRun: Bool = false)
  case restoreDeletions(ZoneKey, version: String, dryRun: Bool = false)
  /// Has the next sync fetch zones from the start, to repair a local copy that differs from the server.
  case fetchAgain([ZoneKey])
  /// Ends back-offs and requests a sync from the syncing process, without waiting for it.
  case requestSync
  /// Syncs once and waits for the end.
  case sync
  /// Syncs continuously.
  case keepSyncing

  /// Whether it only reports what it would do.
  package var isDryRun: Bool {
    switch self {
    case .perform(_, _, _, let dryRun), .pause(_, let dryRun), .resume(_, let dryRun),
      .resolve(_, _, _, _, let dryRun), .resolveAll(_, _, _, let dryRun), .acceptDeletions(_, _, let dryRun),
      .restoreDeletions(_, _, let dryRun):
      dryRun
    default: false
    }
  }
}

/// The reason why a command is rejected.
package enum CommandRefusal: Error, Hashable, Sendable {
  case readOnly
  /// A sync is running already.
  case alreadySyncing
  /// This service has no engine.
  case cannotSync
  /// The operation, conflict or zone has changed since it was shown, or there is nothing to undo. With the message.
  case doesNotApply(String)
}

extension ServiceCommand {
  /// Carries out a command on a store. Blocks until its effect is on disk.
  ///
  /// - Parameters:
  ///   - open: Opens the store; its error is the failure of the receipt.
  ///   - continues: Called while a command changes many operations; the command stops if it returns false.
  package func run(
    on open: () throws -> SyncStore,
    continues: (CommandProgress) -> Bool = { _ in true }
  ) -> Receipt {
    var receipt = Receipt(self)
    do {
      try run(on: open(), &receipt) { continues(CommandProgress(self, done: $0, total: $1)) }
    } catch {
      receipt.failure = error
    }
    return receipt
  }

  private func run(on store: SyncStore, _ receipt: inout Receipt, _ continues: (Int, Int) -> Bool) throws {
    let actor = Operator.name
    switch self {
    case .perform(let verb, let selection, let versions, let dryRun):
      receipt.take(
        try store.perform(verb, on: selection, versions: versions, dryRun: dryRun, actor: actor, continues: continues)
      )
    case .pause(let rules, true):
      let known = try store.pauses().map(\.rule)
      receipt.take(rules.filter { !known.contains($0) })
    case .pause(let rules, false): receipt.take(try store.pause(rules, actor: actor))
    case .resume(let rules, true):
      let known = try store.pauses().map(\.rule)
      receipt.take(rules?.filter(known.contains) ?? known)
    case .resume(let rules?, false): receipt.take(try store.resume(rules, actor: actor))
    case .resume(nil, false): receipt.take(try store.resumeAll(actor: actor))
    case .flush(let throttles):
      receipt.endsWaits = try store.status().throttles.contains { $0.isOwn || throttles }
      receipt.changed = try store.flush(endsThrottles: throttles, actor: actor)
    case .resolve(let id, let side, let fields, let version, true):
      try receipt.take(store.preview(id, take: side, fields: fields, ifVersion: version), of: id)
    case .resolve(let id, let side, let fields, let version, false):
      try receipt.take(store.resolve(id, take: side, fields: fields, ifVersion: version, actor: actor), of: id)
    case .resolveAll(let versions, let side, let fields, let dryRun):
      let conflicts = versions.sorted { $0.key < $1.key }.map { (id: $0.key, version: $0.value) }
      receipt.take(try store.resolve(conflicts, take: side, fields: fields, dryRun: dryRun, actor: actor))
      for id in dryRun ? receipt.result.changed : [] {
        receipt.add(try? store.preview(id, take: side, fields: fields))
      }
    case .undo(let ids): try receipt.take(undone: store.undo(ids, actor: actor, continues: continues))
    case .undoAll(let listing, let others):
      let ids = try store.undoable(listing, except: others)
      try receipt.take(undone: store.undo(ids, actor: actor, continues: continues))
    case .markDroppedSeen(let id): receipt.changed = try store.markDroppedSeen(through: id, actor: actor)
    case .edit(let id, let assignments, let version):
      try receipt.take(store.edit(id, assignments, ifVersion: version, actor: actor), of: id)
    case .acceptDeletions(let zone, let version, true): try receipt.take(store.held(in: zone, version), of: zone)
    case .restoreDeletions(let zone, let version, true):
      var outcome = try store.held(in: zone, version)
      if !outcome.hasMoved { outcome.records = try store.countToRestore(in: zone) }
      try receipt.take(outcome, of: zone)
    case .acceptDeletions(let zone, let version, false):
      try receipt.take(store.acceptDeletions(in: zone, ifVersion: version, actor: actor), of: zone)
    case .restoreDeletions(let zone, let version, false):
      try receipt.take(store.restoreDeletions(in: zone, ifVersion: version, actor: actor), of: zone)
    case .fetchAgain(let zones): receipt.take(try store.fetchAgain(zones, actor: actor))
    case .requestSync:
      receipt.changed = try store.flush(actor: actor)
      try store.requestSync()
    case .sync, .keepSyncing: throw CommandRefusal.cannotSync
    }
  }
}

extension SyncStore {
  /// The outcome of a decision about the deletions on hold in a zone, without carrying it out.
  fileprivate func held(in zone: ZoneKey, _ version: String) throws -> DeletionOutcome {
    let held = try heldDeletions().first { $0.zone == zone }
    guard let held, held.version == version else { return DeletionOutcome(hasMoved: true, onHold: held) }
    return DeletionOutcome(records: held.records, onHold: held)
  }
}
