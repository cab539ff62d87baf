import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// A question before something that cannot be seen through at a glance. Enter is the safe answer.
struct Question: Screen {
  /// The subject of the question, with the versions that were on the screen.
  enum Kind: Hashable, Sendable {
    case discardOne(QueueRow)
    case discard(Selection, versions: [Int64: String], count: Int, isMarked: Bool)
    /// `recreated`: the zones that it creates again.
    case retry(Selection, count: Int, recreated: [String])
    /// `filter`: as it was typed. `count` and `recreated`: where they are known; else the list says them.
    case retryAll(QueueListing, filter: String, count: Int? = nil, recreated: [String] = [])
    case resolveAlike([Int64: String], fields: [String: ConflictSide], type: String)
    case acceptDeletions(HeldDeletions)
    case restoreDeletions(HeldDeletions)
    case fetchAgain([ZoneKey], records: Int)
    case undoAll(DroppedListing, except: Set<Int64>, count: Int)
    case pauseEverything
    /// Quitting ends the only process that syncs.
    case quit
  }

  let kind: Kind

  init(_ kind: Kind) { self.kind = kind }

  var scopes: KeyScope { .question }
  var isOverlay: Bool { true }

  fileprivate func answered(_ world: World) -> [Step] {
    // The list has grown behind the question, whose number is not true any more.
    if let grown = grown(world) { return [.pop, .ask(grown)] }
    return [.pop] + commands.map { .effect(.give($0)) } + (commands.isEmpty ? [.quit] : [])
  }

  /// The same question about more changes, if more match now than it says.
  private func grown(_ world: World) -> Kind? {
    guard case .discard(.listing(let listing, let others), let versions, let count, let isMarked) = kind,
      let page = world.data.queue, page.listing == listing, page.isCounted, page.total - others.count > count
    else { return nil }
    return .discard(
      .listing(listing, except: others),
      versions: versions,
      count: page.total - others.count,
      isMarked: isMarked
    )
  }

  /// The commands that `y` gives; empty: the dashboard ends.
  private var commands: [ServiceCommand] {
    switch kind {
    case .discardOne(let row): [.perform(.discard, .ids([row.id]), versions: [row.id: row.version])]
    case .discard(let selection, let versions, _, _): [.perform(.discard, selection, versions: versions)]
    case .retry(let selection, _, _): [.perform(.retry, selection)]
    case .retryAll(let listing, _, _, _): [.perform(.retry, .listing(listing, except: []))]
    case .resolveAlike(let versions, let fields, _): [.resolveAll(versions, take: .server, fields: fields)]
    case .acceptDeletions(let held): [.acceptDeletions(held.zone, version: held.version)]
    case .restoreDeletions(let held): [.restoreDeletions(held.zone, version: held.version)]
    case .fetchAgain(let zones, _): [.fetchAgain(zones), .sync]
    case .undoAll(let listing, let others, _): [.undoAll(listing, except: others)]
    case .pauseEverything: [.pause([.everything])]
    case .quit: []
    }
  }

  private var title: String {
    switch kind {
    case .discardOne, .discard: "Discard"
    case .retry: "Retry"
    case .retryAll: "Retry all"
    case .resolveAlike: "Same for all alike"
    case .acceptDeletions: "Accept deletions"
    case .restoreDeletions: "Restore"
    case .fetchAgain: "Repair"
    case .undoAll: "Undo"
    case .pauseEverything: "Pause"
    case .quit: "Quit"
    }
  }

  func text(_ world: World) -> String {
    switch kind {
    case .discardOne(let row):
      return "Discard the \(row.cause.isUnconfirmed ? "unconfirmed" : "unsent") \(row.kind.noun) \(row.title)?"
        + (row.cause.isUnconfirmed ? " The server may have applied it already." : "")
        + (row.key.name.isEmpty ? "" : " You can undo this until the record is edited again.")
    case .discard(_, _, let count, let isMarked):
      let which = isMarked ? "marked " : ""
      let what = count == 1 ? "the \(which)change" : "the \(Format.number(count)) \(which)changes"
      return "Discard \(what)? The server may already have applied those whose reply was lost. "
        + "You can undo this until the records are edited again."
    case .retry(_, let count, let recreated):
      return "Retry \(count == 1 ? "this change" : Words.count(count, "change"))?\(Self.warning(recreated))"
    case .retryAll(let listing, let filter, let count, let recreated):
      let page = world.data.queue.flatMap { $0.listing == listing ? $0 : nil }
      let what =
        (count ?? page?.retryable).map { Words.count($0, "failed or retrying change") }
        ?? "all failed or retrying changes"
      let among =
        filter.isEmpty ? listing.states.isEmpty ? "" : " of those shown" : " that the filter \"\(filter)\" matches"
      return "Retry \(what)\(among)?\(Self.warning(page?.recreated ?? recreated))"
    case .resolveAlike(let versions, let fields, let type):
      let sides = fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.rawValue)" }.joined(separator: ", ")
      let what = versions.count == 1 ? "this conflict" : "all \(Format.number(versions.count)) conflicts"
      let effect =
        fields.values.contains(.local)
        ? " The server's values are overwritten."
        : fields.values.contains(.newest) ? " The values of the side that was edited earlier are overwritten." : ""
      return
        "Resolve \(what) of type \(type) with these fields in the same way (\(sides))?\(effect) "
        + "You can undo this \(Words.undoLimit)."
    case .acceptDeletions(let held):
      return
        "The server deleted \(Words.count(held.records, "record"))\(held.isWholeZone ? " and the zone" : "") \(held.zone.zone). "
        + "Delete the local copies too? This cannot be undone. "
        + (held.isWholeZone
          ? "Queued edits of these records fail." : "Queued edits of these records follow the conflict policy.")
    case .restoreDeletions(let held):
      return
        "Recreate \(Words.count(held.records, "record")) of zone \(held.zone.zone) on the server, from the local copies? "
        + "The files of their assets cannot be restored."
    case .fetchAgain(let zones, let records):
      let what = zones.count == 1 ? "zone \(zones[0].zone)" : Words.count(zones.count, "zone")
      return
        "Fetch \(what) again from the start (\(Words.count(records, "record")))? Records that differ are replaced; "
        + "unsent changes are kept."
    case .undoAll(_, _, let count):
      return
        "Undo what can still be undone of \(Words.count(count, "dropped change"))? They are queued again with the time of "
        + "their edit; conflicts open again."
    case .pauseEverything:
      let held = world.unsent(under: .everything)
      return "Pause everything? No process sends or fetches until it is resumed"
        + (held == 0 ? "." : "; \(Words.changes(held, "wait")).")
    case .quit:
      let unsent = world.unsentAfterQuitting
      return "Stop syncing and quit? \(Words.count(unsent, "change")) \(unsent == 1 ? "is" : "are") unsent "
        + "and no other process syncs."
    }
  }

  private static func warning(_ recreated: [String]) -> String {
    recreated.isEmpty ? "" : " \(Words.recreates(recreated).sentence)."
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let keys = [KeyHints.Hint("Enter", "no"), KeyHints.Hint("y", "yes")]
    let dialog = Dialog(title: StyledText(title), message: StyledText(text(world)).oneLine, keys: keys, defaultKey: 0)
    frame.grid.draw(dialog, in: area)
    for (command, place) in zip([CommandID.no, .yes], dialog.keyPlaces(in: area, frame.grid.glyphs)) {
      frame.note(.command(command), in: place)
    }
  }
}

extension Question.Kind {
  /// Whether it is about all rows that a list selects.
  var isAboutAll: Bool {
    switch self {
    case .retryAll, .undoAll, .discard(.listing, _, _, _), .retry(.listing, _, _): true
    default: false
    }
  }
}

extension Command {
  static let questions: [Command] = [
    Command(.yes, "y", "yes", "Do it", .question, [.change, .decides, .fixed])
      .run { (question: inout Question, world) in question.answered(world) },
    Command(.no, "n Esc Enter", "no", "Do not do it", .question, .fixed).run { _, _ in [.pop] },
  ]
}
