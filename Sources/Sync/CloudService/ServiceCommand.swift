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
      try rule.run(open(), &receipt) { continues(CommandProgress(self, done: $0, total: $1)) }
    } catch {
      receipt.failure = error
    }
    return receipt
  }
}

/// The rule of a command: the command line that gives it, its effect on a store, and the sentence about it.
struct CommandRule {
  /// Called while a command changes many operations; it stops if this returns false.
  typealias Continues = (_ done: Int, _ total: Int) -> Bool

  /// Whether it only reports what it would do.
  let isDryRun: Bool
  /// The words of its command line after `cktop`; nil if there is none.
  let words: () -> [String]?
  /// Carries it out.
  let run: (SyncStore, inout Receipt, Continues) throws -> Void
  /// Returns what was done, for a receipt without a failure.
  let sentence: (Receipt) -> String

  init(
    isDryRun: Bool = false,
    _ words: @autoclosure @escaping () -> [String]?,
    run: @escaping (SyncStore, inout Receipt, Continues) throws -> Void,
    sentence: @escaping (Receipt) -> String
  ) {
    (self.isDryRun, self.words, self.run, self.sentence) = (isDryRun, words, run, sentence)
  }
}

extension ServiceCommand {
  /// Whether it only reports what it would do.
  package var isDryRun: Bool { rule.isDryRun }

  /// Its rule. A new command is a case with its rule here, and its JSON in the command line's `ReceiptObject`.
  var rule: CommandRule {
    switch self {
    case .perform(let verb, let selection, let versions, let dryRun):
      CommandRule(isDryRun: dryRun, Self.words(verb, selection, versions)) { store, receipt, continues in
        let actor = Operator.name
        receipt.record(
          try store.perform(verb, on: selection, versions: versions, dryRun: dryRun, actor: actor, continues: continues)
        )
      } sentence: {
        $0.queueText(verb)
      }
    case .pause(let rules, let dryRun):
      CommandRule(isDryRun: dryRun, Self.words("pause", rules)) { store, receipt, _ in
        guard dryRun else { return receipt.record(try store.pause(rules, actor: Operator.name)) }
        let known = try store.pauses().map(\.rule)
        receipt.record(rules.filter { !known.contains($0) })
      } sentence: {
        $0.ruleText("pause", rules, already: "paused already")
      }
    case .resume(let rules?, let dryRun):
      CommandRule(isDryRun: dryRun, Self.words("resume", rules)) { store, receipt, _ in
        guard dryRun else { return receipt.record(try store.resume(rules, actor: Operator.name)) }
        let known = try store.pauses().map(\.rule)
        receipt.record(rules.filter(known.contains))
      } sentence: {
        $0.ruleText("resume", rules, already: "not paused")
      }
    case .resume(nil, let dryRun):
      CommandRule(isDryRun: dryRun, ["queue", "resume", "--all"]) { store, receipt, _ in
        receipt.record(try dryRun ? store.pauses().map(\.rule) : store.resumeAll(actor: Operator.name))
      } sentence: {
        $0.changed == 0
          ? "Nothing was paused by a rule" : "\($0.did("resume")) \(Words.list($0.result.rules.map(\.text)))"
      }
    case .flush(let throttles):
      CommandRule(["queue", "flush"] + (throttles ? ["--throttles"] : [])) { store, receipt, _ in
        receipt.endsWaits = try store.status().throttles.contains { $0.isOwn || throttles }
        receipt.changed = try store.flush(endsThrottles: throttles, actor: Operator.name)
      } sentence: {
        if $0.changed > 0 { return "Retrying \(Words.count($0.changed, "change")) now" }
        return $0.endsWaits ? "Trying again now" : "Nothing waited to retry"
      }
    case .resolve(let id, let side, let fields, let version, let dryRun):
      CommandRule(
        isDryRun: dryRun,
        Self.named(["conflicts", "resolve"], [id], [id: version], side, fields)
      ) { store, receipt, _ in
        let outcome =
          try dryRun
          ? store.preview(id, take: side, fields: fields, ifVersion: version)
          : store.resolve(id, take: side, fields: fields, ifVersion: version, actor: Operator.name)
        try receipt.record(outcome, of: id)
      } sentence: {
        "\($0.did("resolve")) conflict \(id)\($0.resolutions.first.map(Receipt.effect) ?? "")"
      }
    case .resolveAll(let versions, let side, let fields, let dryRun):
      CommandRule(
        isDryRun: dryRun,
        versions.count > 1
          ? Self.named(["conflicts", "resolve"], versions.keys.sorted(), versions, side, fields) : nil
      ) { store, receipt, _ in
        let conflicts = versions.sorted { $0.key < $1.key }.map { (id: $0.key, version: $0.value) }
        receipt.record(try store.resolve(conflicts, take: side, fields: fields, dryRun: dryRun, actor: Operator.name))
        for id in dryRun ? receipt.result.changed : [] {
          receipt.add(try? store.preview(id, take: side, fields: fields))
        }
      } sentence: {
        "\($0.did("resolve")) \(Words.count($0.changed, "conflict"))\($0.rest)"
      }
    case .undo(let ids):
      CommandRule(Self.named(["conflicts", "undo"], ids)) { store, receipt, continues in
        try receipt.record(undone: store.undo(ids, actor: Operator.name, continues: continues))
      } sentence: {
        $0.undoneText
      }
    case .undoAll(let listing, let others):
      CommandRule(nil) { store, receipt, continues in
        let ids = try store.undoable(listing, except: others)
        try receipt.record(undone: store.undo(ids, actor: Operator.name, continues: continues))
      } sentence: {
        $0.undoneText
      }
    case .markDroppedSeen(let id):
      CommandRule(nil) { store, receipt, _ in
        receipt.changed = try store.markDroppedSeen(through: id, actor: Operator.name)
      } sentence: { _ in
        "Marked what was dropped as seen"
      }
    case .edit(let id, let assignments, let version):
      // The command line does not name the server's record that a screen shows beside the change.
      CommandRule(
        Self.named(["queue", "edit"], [id], [id: version?.operation]).map { $0 + assignments.map(\.written.asArgument) }
      ) { store, receipt, _ in
        guard try !store.versions(of: [id]).isEmpty else { throw receipt.notQueued(id) }
        try receipt.record(store.edit(id, assignments, ifVersion: version, actor: Operator.name), of: id)
      } sentence: {
        let rest = $0.isToBeSent ? "it will be sent again" : "nothing is left to send, so it was discarded"
        return "Edited operation \(id); \(rest)"
      }
    case .acceptDeletions(let zone, let version, let dryRun):
      CommandRule(isDryRun: dryRun, Self.decision("accept", zone, version)) { store, receipt, _ in
        let outcome =
          try dryRun
          ? store.held(in: zone, version) : store.acceptDeletions(in: zone, ifVersion: version, actor: Operator.name)
        try receipt.record(outcome, of: zone)
      } sentence: {
        "\($0.did("delete")) \(Words.count($0.changed, "local copy", "local copies")) in zone \(zone.zone)"
      }
    case .restoreDeletions(let zone, let version, let dryRun):
      CommandRule(isDryRun: dryRun, Self.decision("restore", zone, version)) { store, receipt, _ in
        var outcome =
          try dryRun
          ? store.held(in: zone, version) : store.restoreDeletions(in: zone, ifVersion: version, actor: Operator.name)
        if dryRun, !outcome.hasMoved { outcome.records = try store.countToRestore(in: zone) }
        try receipt.record(outcome, of: zone)
      } sentence: {
        "\($0.did("restore")) \(Words.count($0.changed, "record")) in zone \(zone.zone); they will be sent"
      }
    case .fetchAgain(let zones):
      CommandRule(Self.of(zones, "repair")) { store, receipt, _ in
        receipt.record(try store.fetchAgain(zones, actor: Operator.name))
      } sentence: {
        $0.changed == 0
          ? "Nothing is fetched again: the zone is not on the server yet, or its deletion is on hold"
          : "The next sync fetches \(Words.count($0.changed, "zone")) again"
      }
    case .requestSync:
      CommandRule(nil) { store, receipt, _ in
        receipt.changed = try store.flush(actor: Operator.name)
        try store.requestSync()
      } sentence: { _ in
        "Asked the syncing process to sync"
      }
    // Their service carries them out.
    case .sync: CommandRule(["sync"], run: Self.needsEngine, sentence: \.syncText)
    case .keepSyncing: CommandRule(["sync", "--watch"], run: Self.needsEngine, sentence: { _ in "Syncing" })
    }
  }

  private static func needsEngine(_: SyncStore, _: inout Receipt, _: CommandRule.Continues) throws {
    throw CommandRefusal.cannotSync
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
