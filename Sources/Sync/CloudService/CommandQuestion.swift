package import CloudSync
import Facts

/// A question before a command whose effect is not obvious, for a key and for a verb of the command line.
package enum CommandQuestion: Hashable, Sendable {
  /// With the versions that were shown.
  case discardOne(QueueRow)
  case discard(Selection, versions: [Int64: String], count: Int, isMarked: Bool = false)
  /// `recreated`: the zones that it creates again.
  case retry(Selection, count: Int, recreated: [String])
  /// `filter`: as it was typed. `count` and `recreated`: where they are known.
  case retryAll(QueueListing, filter: String, count: Int? = nil, recreated: [String] = [])
  /// `type`: the one type of conflicts in which the same fields differ.
  case resolve([Int64: String?], take: ConflictSide, fields: [String: ConflictSide], type: String? = nil)
  /// `edits`, `files`: how many records have some, where that is known.
  case acceptDeletions(HeldDeletions, edits: Int? = nil)
  case restoreDeletions(HeldDeletions, files: Int? = nil)
  case fetchAgain([ZoneKey], records: Int)
  case undoAll(DroppedListing, except: Set<Int64>, count: Int)
  case pauseEverything(unsent: Int)
  /// The end of waits that the server asked for.
  case endThrottles
  /// The end of the only process that syncs.
  case quit(unsent: Int)
}

extension CommandQuestion {
  /// The commands that "yes" gives; empty: the program ends.
  package var commands: [ServiceCommand] {
    switch self {
    case .discardOne(let row): [.perform(.discard, .ids([row.id]), versions: [row.id: row.version])]
    case .discard(let selection, let versions, _, _): [.perform(.discard, selection, versions: versions)]
    case .retry(let selection, _, _): [.perform(.retry, selection)]
    case .retryAll(let listing, _, _, _): [.perform(.retry, .listing(listing, except: []))]
    case .resolve(let versions, let side, let fields, _): [.resolveAll(versions, take: side, fields: fields)]
    case .acceptDeletions(let held, _): [.acceptDeletions(held.zone, version: held.version)]
    case .restoreDeletions(let held, _): [.restoreDeletions(held.zone, version: held.version)]
    case .fetchAgain(let zones, _): [.fetchAgain(zones), .sync]
    case .undoAll(let listing, let others, _): [.undoAll(listing, except: others)]
    case .pauseEverything: [.pause([.everything])]
    case .endThrottles: [.flush(throttles: true)]
    case .quit: []
    }
  }

  /// Whether it is about all rows that a list selects.
  package var isAboutAll: Bool {
    switch self {
    case .retryAll, .undoAll, .discard(.listing, _, _, _), .retry(.listing, _, _): true
    default: false
    }
  }

  package var title: String {
    switch self {
    case .discardOne, .discard: "Discard"
    case .retry: "Retry"
    case .retryAll: "Retry all"
    case .resolve: "Apply to similar"
    case .acceptDeletions: "Accept deletions"
    case .restoreDeletions: "Restore"
    case .fetchAgain: "Repair"
    case .undoAll: "Undo"
    case .pauseEverything: "Pause"
    case .endThrottles: "Retry now"
    case .quit: "Quit"
    }
  }

  package var text: String {
    switch self {
    case .discardOne(let row):
      let doubt = row.cause.isUnconfirmed ? " The server may have applied it already." : ""
      let undo = row.key.name.isEmpty ? "" : " You can undo this until the record is edited again."
      return "Discard the \(doubt.isEmpty ? "unsent" : "unconfirmed") \(row.kind.noun) \(row.title)?\(doubt)\(undo)"
    case .discard(_, _, let count, let isMarked):
      let which = isMarked ? "marked " : ""
      let what = count == 1 ? "the \(which)change" : "the \(Format.number(count)) \(which)changes"
      return "Discard \(what)? The server may already have applied those whose reply was lost. "
        + "Changes of records can be undone until the records are edited again."
    case .retry(_, let count, let recreated):
      return "Retry \(count == 1 ? "this change" : Words.count(count, "change"))?\(Self.warning(recreated))"
    case .retryAll(let listing, let filter, let count, let recreated):
      let what =
        count.map { Words.count($0, "failed or retrying change") } ?? "all failed or retrying changes"
      let among =
        filter.isEmpty ? listing.states.isEmpty ? "" : " of those shown" : " that the filter \"\(filter)\" matches"
      return "Retry \(what)\(among)?\(Self.warning(recreated))"
    case .resolve(let versions, let side, let fields, let type): return Self.resolve(versions.count, side, fields, type)
    case .acceptDeletions(let held, _):
      return "\(held.text.sentence). Delete the local copies too? This cannot be undone.\(effectSentence)"
    case .restoreDeletions(let held, _):
      return "\(held.text.sentence). Recreate them on the server, from the local copies?\(effectSentence)"
    case .fetchAgain(let zones, let records):
      let what = zones.count == 1 ? "zone \(zones[0].zone)" : Words.count(zones.count, "zone")
      return
        "Fetch \(what) again from the start (\(Words.count(records, "record")))? Records that differ are replaced; "
        + "unsent changes are kept, and sent by the same sync."
    case .undoAll(_, _, let count):
      return "Undo what can still be undone of \(Words.count(count, "dropped change"))? They are queued again with the "
        + "time of their edit; conflicts open again."
    case .pauseEverything(let unsent):
      return "Pause everything? No process sends or fetches until it is resumed"
        + (unsent == 0 ? "." : "; \(Words.changes(unsent, "wait")).")
    case .endThrottles: return "End the waits that the server asked for? It may throttle for longer."
    case .quit(let unsent):
      return "Stop syncing and quit? \(Words.count(unsent, "change")) \(unsent == 1 ? "is" : "are") unsent "
        + "and no other process syncs."
    }
  }

  /// The reason why it needs an answer, and the option that shows the effect first, for an error where no person can be
  /// asked.
  package var confirmation: (reason: String, preview: String) {
    switch self {
    case .endThrottles: ("--throttles ends waits that the server asked for", "")
    case .acceptDeletions, .restoreDeletions: ("this cannot be undone", ", or --dry-run for a preview")
    case .resolve(let versions, _, _, _):
      ("this resolves \(Words.count(versions.count, "conflict"))", ", or --dry-run to look first")
    case .discardOne, .discard: ("this removes changes from the queue", ", or --dry-run to look first")
    default: ("this needs a confirmation", "")
    }
  }

  /// The deletions on hold that it is about.
  package var held: HeldDeletions? {
    switch self {
    case .acceptDeletions(let held, _), .restoreDeletions(let held, _): held
    default: nil
    }
  }

  /// Whether it is about no change, so that there is nothing to ask.
  package var matchesNothing: Bool { if case .discard(_, _, 0, _) = self { true } else { false } }

  private static func warning(_ recreated: [String]) -> String {
    recreated.isEmpty ? "" : " \(Words.recreates(recreated).sentence)."
  }

  private static func resolve(_ count: Int, _ side: ConflictSide, _ fields: [String: ConflictSide], _ type: String?)
    -> String
  {
    let what = count == 1 ? "this conflict" : "all \(Format.number(count)) conflicts"
    let sides = fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.rawValue)" }.joined(separator: ", ")
    let ways = sides.isEmpty ? "" : " (\(sides))"
    let how = type.map { "of type \($0) with these fields in the same way" } ?? "with the \(side.words)"
    let chosen = Set(fields.values).union(type == nil ? [side] : [])
    let effect =
      chosen.contains(.local)
      ? " The server's values are overwritten."
      : chosen.contains(.newest) ? " The values of the side that was edited earlier are overwritten." : ""
    return "Resolve \(what) \(how)\(ways)?\(effect) You can undo this \(Words.undoLimit)."
  }

  /// The effect of a decision about deletions on hold on queued edits, or on files; nil if there is none.
  package var effect: String? {
    switch self {
    case .acceptDeletions(_, 0), .restoreDeletions(_, 0): nil
    case .acceptDeletions(let held, let edits) where held.isWholeZone:
      "\(edits.map { Words.count($0, "queued save") } ?? "queued saves") in the zone fail\(edits == 1 ? "s" : ""), and retry "
        + "recreates the zone"
    case .acceptDeletions(_, let edits):
      "queued edits of \(edits.map { "\($0) of " } ?? "")these records follow the conflict policy"
    case .restoreDeletions(_, let files?): "\(files) of them had files, which are lost"
    case .restoreDeletions: "the files of their assets cannot be restored"
    default: nil
    }
  }

  private var effectSentence: String { effect.map { " \($0.sentence)." } ?? "" }
}

extension ConflictSide {
  /// The side in a question.
  fileprivate var words: String {
    switch self {
    case .local: "values of this machine"
    case .server: "server's values"
    case .base: "values from before both changes"
    case .newest: "newest values"
    }
  }
}

extension QueueRow {
  /// The type and name of its record, or the name of its zone, as messages have it.
  package var title: String { key.title(type: type) }
}
