import CloudKit
import CloudService
import CloudSync
import Facts
import Glibc
import TerminalUI

/// All of the dashboard's state, as a value. Every key, every tick and every result goes through `update`.
struct App: Sendable {
  /// The view below all others. A list that is opened in full starts as it is here, and is put back when it closes.
  var overview = Overview()
  /// The views over the overview, each over the one before.
  var above: [any Screen] = []
  var notice: Notice?
  /// The messages of this run, the newest first.
  private(set) var notices: [Notice] = []
  /// Keys that wait until the rows that they act on are read.
  var held: [Key] = []
  /// The command that undoes each discard, resolution and pause made here, the latest last.
  var undoable: [ServiceCommand] = []
  /// Whether the next key names a fault of the demo.
  var awaitsFault = false
  var hasEnded = false
  /// Whether the keys that are handled now arrived all at once, as pasted text does, or right after such keys.
  var isBurst = false
  /// The tour through the demo.
  var tour = Tour()
  /// The lists as they were when the screen was frozen; nil while it follows the store.
  var frozen: ViewData?
  /// The conflicts as they were left, with the sides that were chosen.
  var conflicts = ConflictsScreen()

  var stack: [any Screen] { [overview] + above }
  var top: any Screen { above.last ?? overview }

  /// The list of the top screen.
  var rows: (any ListActions)? {
    get { top.rows }
    set {
      if above.isEmpty { overview.rows = newValue } else { above[above.count - 1].rows = newValue }
    }
  }

  /// Whether a question waits for its answer.
  var isAsked: Bool { top.scopes.contains(.question) }

  /// The screen that is shown whole, which others may lie over.
  var base: any Screen { above.last { !$0.isOverlay } ?? overview }

  // MARK: - What is read

  /// The data that the visible screens need.
  func scope(_ world: World) -> ViewScope {
    let world = displayed(world)
    return base.wants(world)
  }

  /// The next moment at which what is shown changes by itself, in milliseconds since 1970.
  func nextWake(_ world: World) -> Int64? {
    var moments = [world.now + world.format.untilMidnight(world.now)]
    if let notice { moments.append(notice.until) }
    if let wake = base.wake(world) { moments.append(wake) }
    return moments.filter { $0 > world.now }.min()
  }

  /// The next moment at which the store has to be read again although no process writes it: the end of a wait.
  static func nextReading(_ world: World) -> Int64? {
    world.status?.changesAt.flatMap { $0 > world.now ? $0 : nil }
  }

  // MARK: - What happens

  /// The world as it is shown: with the lists of a frozen screen, and the card of the demo's tour. The status is always
  /// the present one.
  func displayed(_ world: World) -> World {
    var world = world
    world.notices = notices
    if !world.faults.isEmpty {
      world.card = tour.text(world.keys).map {
        [.init("Try \(tour.place + 1)/\(Tour.count)  ", .marked), .init($0)]
      }
    }
    guard let frozen else { return world }
    world.isFrozen = true
    world.data = frozen.replacingLists(of: world.data)
    return world
  }

  /// Opens the view that the user wants to begin with; nothing is read yet.
  mutating func open(_ start: Preferences.StartView) {
    guard let view = ViewEntry.views.first(where: { $0.name == start.rawValue }) else { return }
    if let pane = view.pane { overview.focus = pane }
    above.append(view.screen(self))
  }

  mutating func update(_ message: Message, _ world: World) -> [Effect] {
    guard !hasEnded else { return [] }
    var world = displayed(world)
    if frozen != nil { frozen = world.data }
    // A card that is done stays while a line is typed: the keys of the next one would go into the line.
    defer { if !world.faults.isEmpty, top.prompt(world) == nil { tour.follow(world.status) } }
    var effects: [Effect] = []
    switch message {
    case .keys(let keys): for key in keys { effects += press(key, world) }
    case .pointed(let action, let target): effects += point(action, target, world)
    case .resized, .changed, .tick: break
    case .receipt(let receipt): apply(receipt, world)
    case .replaced: startAgain(world)
    case .stopAsked: effects.append(.suspend(wholeGroup: false))
    case .said(let text, let isError, let commandLine): say(text, isError: isError, world, commandLine)
    case .progressed(let text): hint(text, world)
    case .ended(let end): effects += quit(end)
    }
    if let notice, notice.until <= world.now { self.notice = nil }
    world.notices = notices
    overview.follow(world)
    for index in above.indices { above[index].follow(world) }
    if !held.isEmpty, !top.isWaiting(world) {
      let keys = held
      held = []
      for key in keys {
        effects += press(key, world)
        // Keys typed before the rows were shown must not answer a question about them.
        if isAsked { break }
      }
    }
    if world.isUsable, frozen == nil, !above.isEmpty { effects += above[above.count - 1].appeared(world) }
    return effects
  }

  /// Shows a message that is not kept: how far something is, or why a key does nothing.
  mutating func hint(_ text: String, isError: Bool = false, _ world: World) {
    notice = Notice(id: 0, at: world.now, text: text, isError: isError)
  }

  mutating func say(_ text: String, isError: Bool, _ world: World, _ commandLine: String? = nil) {
    let id = (notices.first?.id ?? 0) + 1
    let said = Notice(id: id, at: world.now, text: text, isError: isError, commandLine: commandLine)
    notice = said
    notices = [said] + notices.prefix(Self.keptNotices - 1)
  }

  /// The maximum number of messages kept.
  static let keptNotices = 500

  /// Closes all views and forgets what was marked, asked or done: it was about another file.
  private mutating func startAgain(_ world: World) {
    let (tour, notices) = (tour, notices)
    self = App()
    (self.tour, self.notices) = (tour, notices)
    let wasSyncing = world.syncing != .off || world.syncFailure != nil
    let rest = wasSyncing ? ", and syncing has stopped; \(world.keys.name(of: .keepSyncing)) starts it" : ""
    say("The store file was replaced; the new one is shown\(rest)", isError: true, world)
  }

  private mutating func apply(_ receipt: Receipt, _ world: World) {
    // The effect of a command is shown.
    if receipt.changed > 0 { frozen = nil }
    overview.apply(receipt)
    for index in above.indices { above[index].apply(receipt) }
    above.removeAll(where: \.isDone)
    tour.record(receipt)
    undoable = undoable.compactMap { $0.without(receipt) }
    // A failed undo can be tried again, unless there is nothing left to undo.
    if case .undo = receipt.command, receipt.failure != nil, !receipt.doesNotApply { undoable.append(receipt.command) }
    if let undoing = receipt.undoing { undoable.append(undoing) }
  }

  mutating func quit(_ end: Dashboard.End) -> [Effect] {
    hasEnded = true
    return [.quit(end)]
  }
}
