import CloudService
import CloudSync
import TerminalUI

extension Command {
  /// All commands, in the order in which the footer and the help name them. The keys of one screen are all different.
  static let registry: [Command] = {
    let parts: [[Command]] = [
      questions, conflicts, zones, pauses, editing, undoing, queue, records, day, lists, syncing, moving, panes,
      ViewEntry.views.map(\.command), everywhere,
    ]
    return parts.flatMap(\.self)
  }()

  // MARK: - Lists

  private static let lists: [Command] = [
    mark("mark", "Space", "mark", "Mark the row, and go to the next").unless { $0.top.unselected($1) },
    mark(.markRange, "v", "range", "Mark a range: KEY here, move, KEY there"),
    mark(.markAll, "a", "mark all", "Mark all rows in the filter; again: unmark all"),
    mark(.invertMarks, "*", "invert", "Mark what is not marked, and unmark what is"),
    Command("nextMatch", "n", "next match", nextMatch, .list).footer(.never).onRows { $0.goOn(1, $1, visible: $2) },
    Command("previousMatch", "N", "previous match", "Go to the match or the row before", .list).footer(.never)
      .onRows { $0.goOn(-1, $1, visible: $2) },
    Command(.filter, "/", "filter", "Filter by words or comparisons; an empty filter shows examples", .list)
      .footer(.first).onRows { list, _, _ in list.beginFilter() },
    Command(.open, "Enter", "open", "Open what is selected", .opening).footer(.first)
      .label { $0.top.subject($1).open.label }.unless { $0.top.subject($1).open.refusal }
      .run { $0.top.subject($1).open.steps() },
    Command(.problems, "!", "problems", "Show only what failed, and conflicts", [.queue, .events, .panes])
      .unless { ($0.above.isEmpty ? $0.overview.queue : $0.top.rows)?.noProblems($1) }
      .run { app, _ in
        if app.above.isEmpty { app.overview.focus = .queue }
        app.rows?.toggleProblems()
        return []
      },
    Command(.order, "o", "order", "Change the order of the list", [.queue, .records]).footer(.inFull)
      .onRows { list, _, _ in list.nextOrder() },
    Command("nextTab", "Right", "tabs", "Show the next state only", .queue).footer(.inFull).run { $0.turn(1, $1) },
    Command("previousTab", "Left", "previous tab", "Show the previous state only", .queue).footer(.never)
      .run { $0.turn(-1, $1) },
    Command(.copy, "y", "copy", "Copy marked rows; of one what a ticket needs", .copying).footer(.inFull)
      .label { $0.top.subject($1).copy.label }.unless { $0.top.subject($1).copy.refusal }
      .run { $0.top.subject($1).copy.steps() },
    Command(.export, "x", "export", "Write the marked rows, else all in the filter, to a file", exported)
      .footer(.inFull).onRows { list, world, _ in list.exported(world) },
    Command(.undo, "u", "undo", "Undo the last discard, resolution or pause made here", undone, .change).footer(.inFull)
      .unless { app, _ in app.undoable.isEmpty ? "Nothing here can be undone" : nil }
      .run { app, _ in app.undoable.popLast().map { [.effect(.give($0))] } ?? [] },
    Command("zoom", "z", "zoom", "Open the pane in full", .panes).footer(.inFull)
      .run { app, _ in [.push(app.overview.full(app.overview.focus))] },
    Command(.wholeValue, "w", "whole value", "Show the field's values in full, or those of all fields", .fields)
      .unless { $0.top.unselected($1) ?? ($0.top.subject($1).whole() == nil ? "There are no fields" : nil) }
      .run { $0.top.subject($1).whole().map { [.push($0)] } ?? [] },
  ]

  private static let exported: KeyScope = [.queue, .records, .events]
  private static let undone: KeyScope = [.queue, .records, .operation, .conflicts, .zones, .pauses]
  private static let nextMatch =
    "Go to the next match of the filter; without a filter, to the next row that needs a person"

  private static func mark(_ id: CommandID, _ key: String, _ title: String, _ help: String) -> Command {
    Command(id, key, title, help, .list).footer(.inFull).onRows { $0.mark(id, $1, visible: $2) }
  }

  private static let moving: [Command] = [
    move(.down, "Down j", "Move down", [.moving, .conflicts, .day]),
    move(.up, "Up k", "Move up", [.moving, .conflicts, .day]),
    move(.pageDown, "PgDn", "Move a page down"), move(.pageUp, "PgUp", "Move a page up"),
    move(.halfDown, "Ctrl-D", "Move half a page down", [.moving, .day]),
    move(.halfUp, "Ctrl-U", "Move half a page up", [.moving, .day]),
    move(.top, "Home g", "Move to the top", [.moving, .day]),
    move(.bottom, "End G", "Move to the bottom", [.moving, .day]),
  ]

  private static func move(_ id: CommandID, _ keys: String, _ help: String, _ scopes: KeyScope = .moving) -> Command {
    Command(id, keys, "", help, scopes).run { $0.move(id, $1) }
  }

  // MARK: - Syncing

  private static let syncing: [Command] = [
    Command(.syncOnce, "s", "sync", "Sync once: send everything, then fetch all changes", .syncing, .change)
      .unless { $1.cannotSync }.run { _, _ in [.effect(.give(.sync))] },
    Command(.keepSyncing, "S", "keep syncing", keepSyncing, .syncing, .change).footer(.inFull)
      .label { $1.syncing == .always ? "stop syncing" : nil }
      .run { _, world in
        world.syncing == .always
          ? [.notice("Stopped syncing here"), .effect(.stopSyncing)]
          : [.notice(world.keepsSyncing), .effect(.give(.keepSyncing))]
      },
    Command(.flush, "f", "retry now", "Retry now everything that waits to retry", .syncing, .change)
      .unless { $1.cannotFlush }.run { _, _ in [.effect(.give(.flush()))] },
    // What was shown decides which of the two it is, not what holds when the command runs.
    Command(.pauseAll, "p", "pause", "Pause everything (asks), or resume it", .syncing, .change)
      .label { $1.status?.isPaused == true ? "resume" : nil }
      .unless { $1.status?.hasStore == false ? "There is no store yet" : nil }
      .ask { $1.status?.isPaused == true ? nil : .pauseEverything(unsent: $1.unsent(under: .everything)) }
      .run { _, _ in [.effect(.give(.resume([.everything])))] },
    showConflicts(.conflicts, "c", "conflicts", "Show the conflicts", .syncing),
  ]

  private static let keepSyncing = "Keep syncing here until KEY again or the dashboard ends"

  static func showConflicts(_ id: CommandID, _ key: String, _ title: String, _ help: String, _ scopes: KeyScope)
    -> Command
  {
    Command(id, key, title, help, scopes, .leaves)
      .unless { $1.status.map { $0.queue.conflicts > 0 ? nil : "There are no conflicts" } ?? isUnread }
      .run { [.show($0.conflicts.showing($0.top.subject($1).conflict))] }
  }

  static let isUnread = "The store has not been read yet"

  // MARK: - Everywhere

  private static let panes: [Command] = [
    Command("nextPane", "Tab", "next pane", "Go to the next pane", .panes).run { app, _ in app.focus(1) },
    Command("previousPane", "Shift-Tab", "previous pane", "Go to the previous pane", .panes).footer(.never)
      .run { app, _ in app.focus(-1) },
  ]

  private static let everywhere: [Command] = [
    // Its label is always in the footer, however narrow: it leads to the commands that have no room there.
    Command(.palette, ":", "commands", "Find a command by name and run it", .everywhere).footer(.first)
      .label { _, _ in "more" }
      .run { app, _ in
        if app.top.scopes.contains(.helping) { app.leave() }
        return [.push(PaletteScreen(for: app))]
      },
    Command(.back, "Esc", "back", "Go back; on the overview clear filter and marks", .closing, .fixed).footer(.never)
      .run { $0.back($1) },
    Command("theme", "t", "next theme", "Switch to the next theme", .everywhere).run { _, _ in [.effect(.nextTheme)] },
    Command(.freeze, "F", "freeze", "Freeze the lists, or follow the store again", .everywhere).run { $0.freeze($1) },
    Command("reload", "Ctrl-R", "reload", "Read the configuration file and the theme again", .everywhere)
      .run { _, _ in [.effect(.reload)] },
    Command(.redraw, "Ctrl-L", "redraw", "Redraw the screen", [.everywhere, .question], .fixed)
      .run { _, _ in [.effect(.redraw)] },
    Command("suspend", "Ctrl-Z", "suspend", "Suspend; fg resumes", [.everywhere, .question], .fixed)
      .run { _, _ in [.effect(.suspend(wholeGroup: true))] },
    Command(.help, "?", "help", "Show the keys of this view", .everywhere).footer(.first)
      .run { app, _ in app.top.scopes.contains(.helping) ? [.pop] : [.push(HelpScreen(for: app))] },
    Command(.quit, "q", "quit", "Close the view; on the overview quit", .everywhere, .leaves)
      .ask { app, world in
        let unsent = app.above.isEmpty ? world.unsentAfterQuitting : 0
        return unsent > 0 ? .quit(unsent: unsent) : nil
      }
      .run { app, _ in app.above.isEmpty ? [.quit] : [.pop] },
    Command("quitAtOnce", "Ctrl-C", "quit at once", "Quit immediately", [.everywhere, .question], .fixed)
      .run { _, _ in [.interrupt] },
    Command(.demo, "D", "faults", "Inject a fault: KEY, then the key of the fault", .demo).run { $0.askForFault($1) },
    Command(.nextCard, "Ctrl-N", "next card", "Go on with the next card of the tour", .demo)
      .run { app, _ in app.skipCard() },
  ]
}

extension World {
  /// Why a sync would do nothing now; nil if it would.
  fileprivate var cannotSync: String? {
    if syncing == .once || status?.progress != nil { return "A sync is already running" }
    for case .signedOut(_, let lacksCredential) in verdicts?.all ?? [] {
      // The store learns of a sign-in only when something syncs.
      let key = keys.name(of: .keepSyncing)
      return lacksCredential ? "There is no credential here" : "Signed out; after a sign-in \(key) syncs"
    }
    return nil
  }

  /// Why there is nothing to retry now; nil if there is.
  fileprivate var cannotFlush: String? {
    guard let status else { return Command.isUnread }
    if status.queue.waiting > 0 || status.throttles.contains(where: \.isOwn) { return nil }
    let ends = status.throttles.map(\.until) + [status.changeThrottledUntil].compactMap(\.self)
    guard let end = ends.max() else { return "Nothing waits to retry" }
    return "The server asked to wait until \(time(end)); retry now does not end that"
  }
}
