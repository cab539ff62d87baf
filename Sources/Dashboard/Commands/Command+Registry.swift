import TerminalUI

extension Command {
  private static func typed(_ characters: Character...) -> [Key] { characters.map(Key.character) }

  /// All commands, in the order in which the footer and the help name them. The keys of one screen are all different.
  static let registry: [Command] = [
    // Questions
    .change(.yes, typed("y"), "yes", "Do it", .question),
    Command(.no, typed("n") + [.escape, .enter], "no", "Do not do it", .question),
    // Conflicts
    .change(.fieldLocal, typed("l"), "local", "Take this machine's value of the field", .conflicts),
    .change(.fieldServer, typed("s"), "server", "Take the server's value of the field", .conflicts),
    .change(.fieldBase, typed("b"), "base", "Take the value from before both changes", .conflicts),
    .change(.allLocal, typed("L"), "all local", "Take this machine's value of every field", .conflicts),
    .change(.allServer, typed("S"), "all server", "Take the server's value of every field", .conflicts),
    .change(.allBase, typed("B"), "all base", "Take the values from before both changes", .conflicts),
    .change(.allNewest, typed("M"), "most recent", "Take the side that was edited last, for every field", .conflicts),
    .change(.resolve, [.enter], "resolve", "Resolve the conflict as chosen, and go to the next", .conflicts),
    .change(
      .allAlike,
      typed("A"),
      "apply to similar",
      "Resolve all with this type and these fields alike (asks)",
      .conflicts
    ),
    Command(.nextConflict, typed("n"), "next", "Go to the next conflict", .conflicts),
    Command(.previousConflict, typed("N"), "previous", "Go to the previous conflict", .conflicts),
    Command(.nextField, [.tab], "field", "Go to the next field", .conflicts),
    Command(.previousField, [.backTab], "previous field", "Go to the previous field", .conflicts, footer: .never),
    // Zones
    .change(.acceptDeletions, typed("X"), "accept", "Accept the deletions on hold: delete local copies (asks)", .zones),
    .change(.restoreDeletions, typed("U"), "restore", "Restore what the server deleted in the zone (asks)", .zones),
    .change(
      .pauseZone,
      typed("p"),
      "pause zone",
      "Pause or resume sending to the marked zones, else the selected one",
      .zones
    ),
    .change(
      .repairZone,
      typed("R"),
      "repair zone",
      "Fetch the marked zones again from the start, else the selected one (asks)",
      .zones
    ),
    // Pauses
    .change(.liftPause, typed("p"), "resume", "Resume what the selected rule pauses", .pauses),
    // Editing a change
    .change(.editField, [.enter], "edit", "Edit the selected field", .editing),
    .change(.newField, typed("a"), "add field", "Set a field that is not listed", .editing),
    Command(.resetField, typed("u"), "reset", "Drop the edit of the selected field", .editing),
    .change(.saveEdit, typed("r"), "save and retry", "Save the edits and send the change again", .editing),
    // Undo
    .change(.restore, typed("u") + [.enter], "undo", "Undo the marked changes, else the selected one", .undoing),
    // The queue
    .change(.retry, typed("r"), "retry", "Retry the marked changes, else the selected one", [.queue, .operation]),
    .change(
      .discard,
      typed("d"),
      "discard",
      "Discard the marked changes, else the selected one (asks)",
      [.queue, .operation],
      footer: .inFull
    ),
    .change(
      .retryAll,
      typed("R"),
      "retry all",
      "Retry all failed or retrying ones in the filter (asks)",
      .queue,
      footer: .inFull
    ),
    .change(
      .pauseThese,
      typed("P"),
      "pause these",
      "Pause or resume the marked changes, else the selected one",
      [.queue, .operation],
      footer: .inFull
    ),
    .change(
      .edit,
      typed("e"),
      "edit",
      "Edit the fields of the selected failed save, and send it again",
      [.queue, .operation]
    ),
    Command(.causes, typed("C"), "causes", "Group failed and retrying changes by cause", .queue, footer: .inFull),
    // Records
    Command(.columns, typed("C"), "columns", "Choose the fields that are shown in columns", .records),
    Command(.toggleColumn, typed(" ") + [.enter], "choose", "Show the field in a column, or not", .choosing),
    Command(.clearColumns, typed("u"), "reset columns", "Show all fields in one column again", .choosing),
    // A day
    Command(.earlierMinute, [.left], "earlier", "Show how it was a minute earlier", .day),
    Command(.laterMinute, [.right], "later", "Show how it was a minute later", .day),
    Command(.earlierHour, [.pageUp], "hour earlier", "Show how it was an hour earlier", .day),
    Command(.laterHour, [.pageDown], "hour later", "Show how it was an hour later", .day),
    // Lists
    Command(.mark, typed(" "), "mark", "Mark the row, and go to the next", .list, footer: .inFull),
    Command(.markRange, typed("v"), "range", "Mark a range: v here, move, v there", .list, footer: .inFull),
    Command(.markAll, typed("a"), "mark all", "Mark all rows in the filter; again: unmark all", .list, footer: .inFull),
    Command(.invertMarks, typed("*"), "invert", "Mark what is not marked, and unmark what is", .list, footer: .inFull),
    Command(
      .nextMatch,
      typed("n"),
      "next match",
      "Go to the next match of the filter; without a filter, to the next row that needs a person",
      .list,
      footer: .never
    ),
    Command(.previousMatch, typed("N"), "previous match", "Go to the match or the row before", .list, footer: .never),
    Command(
      .filter,
      typed("/"),
      "filter",
      "Filter by words or comparisons; an empty filter shows examples",
      .list,
      footer: .first
    ),
    Command(.open, [.enter], "open", "Open what is selected", .opening, footer: .first),
    Command(.problems, typed("!"), "problems", "Show only what failed, and conflicts", [.queue, .events, .panes]),
    Command(.order, typed("o"), "order", "Change the order of the list", [.queue, .records], footer: .inFull),
    Command(.nextTab, [.right], "tabs", "Show the next state only", .queue, footer: .inFull),
    Command(.previousTab, [.left], "previous tab", "Show the previous state only", .queue, footer: .never),
    Command(.copy, typed("y"), "copy", "Copy marked rows; of one what a ticket needs", .copying, footer: .inFull),
    Command(
      .export,
      typed("x"),
      "export",
      "Write the marked rows, else all in the filter, to a file",
      [.queue, .records, .events],
      footer: .inFull
    ),
    .change(
      .undo,
      typed("u"),
      "undo",
      "Undo the last discard or resolution made here",
      [.queue, .records, .operation, .conflicts],
      footer: .inFull
    ),
    Command(.zoom, typed("z"), "zoom", "Open the pane in full", .panes, footer: .inFull),
    Command(.wholeValue, typed("w"), "whole value", "Show the field's values in full, or those of all fields", .fields),
    // Syncing
    .change(.syncOnce, typed("s"), "sync", "Sync once: send everything, then fetch all changes", .syncing),
    .change(
      .keepSyncing,
      typed("S"),
      "keep syncing",
      "Keep syncing here until S again or the dashboard ends",
      .syncing,
      footer: .inFull
    ),
    .change(.flush, typed("f"), "retry now", "Retry now everything that waits to retry", .syncing),
    .change(.pauseAll, typed("p"), "pause", "Pause everything (asks), or resume it", .syncing),
    Command(.conflicts, typed("c"), "conflicts", "Show the conflicts", .syncing),
    // Moving
    Command(.down, [.down] + typed("j"), "", "Move down", [.moving, .conflicts, .day]),
    Command(.up, [.up] + typed("k"), "", "Move up", [.moving, .conflicts, .day]),
    Command(.pageDown, [.pageDown], "", "Move a page down", .moving),
    Command(.pageUp, [.pageUp], "", "Move a page up", .moving),
    Command(.halfDown, [.ctrl("d")], "", "Move half a page down", [.moving, .day]),
    Command(.halfUp, [.ctrl("u")], "", "Move half a page up", [.moving, .day]),
    Command(.top, [.home] + typed("g"), "", "Move to the top", [.moving, .day]),
    Command(.bottom, [.end] + typed("G"), "", "Move to the bottom", [.moving, .day]),
    // Everywhere
    Command(.nextPane, [.tab], "next pane", "Go to the next pane", .panes),
    Command(.previousPane, [.backTab], "previous pane", "Go to the previous pane", .panes, footer: .never),
    Command(.view1, typed("1"), "Sync", "Sync: focus its pane, and once more open it in full", .everywhere),
    Command(.view2, typed("2"), "Account", "Account: focus its pane, and once more open it in full", .everywhere),
    Command(.view3, typed("3"), "Queue", "Queue: focus its pane, and once more open it in full", .everywhere),
    Command(.view4, typed("4"), "Records", "Records: focus its pane, and once more open it in full", .everywhere),
    Command(.view5, typed("5"), "Conflicts", "Open the conflicts", .everywhere),
    Command(.view6, typed("6"), "Events", "Open the log of events", .everywhere),
    Command(.view7, typed("7"), "Zones", "Open the zones", .everywhere),
    Command(.view8, typed("8"), "Undo view", "Open the list of what can be undone", .everywhere),
    Command(.view9, typed("9"), "Pauses", "Open the list of what is paused, by whom and since when", .everywhere),
    Command(.view0, typed("0"), "Messages", "Open what this run has said, with command lines", .everywhere),
    Command(.palette, typed(":"), "commands", "Find a command by name and run it", .everywhere, footer: .first),
    Command(.back, [.escape], "back", "Go back; on the overview clear filter and marks", .closing, footer: .never),
    Command(.theme, typed("t"), "next theme", "Switch to the next theme", .everywhere),
    Command(.freeze, typed("F"), "freeze", "Freeze the lists, or follow the store again", .everywhere),
    Command(.reload, [.ctrl("r")], "reload", "Read the configuration file and the theme again", .everywhere),
    Command(.redraw, [.ctrl("l")], "redraw", "Redraw the screen", [.everywhere, .question]),
    Command(.suspend, [.ctrl("z")], "suspend", "Suspend; fg resumes", [.everywhere, .question]),
    Command(.help, typed("?"), "help", "Show the keys of this view", .everywhere, footer: .first),
    Command(.quit, typed("q"), "quit", "Close the view; on the overview quit", .everywhere),
    Command(.quitAtOnce, [.ctrl("c")], "quit at once", "Quit immediately", [.everywhere, .question]),
    Command(.demo, typed("D"), "faults", "Inject a fault: D, then the key of the fault", .demo),
    Command(.nextCard, [.ctrl("n")], "next card", "Go on with the next card of the tour", .demo),
  ]
}
