import CloudKit
import CloudService
import CloudSync
import Facts
import Glibc
import TerminalUI

/// All of the dashboard's state, as a value. Every key, every tick and every result goes through `update`.
struct App: Sendable {
  /// The screens, each over the one before; the first is the overview.
  private(set) var stack: [any Screen] = [Overview()]
  private(set) var notice: Notice?
  /// The messages of this run, the newest first.
  private(set) var notices: [Notice] = []
  /// Keys that wait until the rows that they act on are read.
  private(set) var held: [Key] = []
  /// The operations of each discard and resolution made here, the latest last.
  private(set) var undoable: [[Int64]] = []
  /// Whether the next key names a fault of the demo.
  private(set) var awaitsFault = false
  private(set) var hasEnded = false
  /// Whether the keys that are handled now arrived all at once, as pasted text does, or right after such keys.
  var isBurst = false
  /// The tour through the demo.
  private(set) var tour = Tour()
  /// The lists as they were when the screen was frozen; nil while it follows the store.
  private(set) var frozen: ViewData?
  /// The conflicts as they were left, with the sides that were chosen.
  private var conflictsScreen = ConflictsScreen()

  var overview: Overview { stack.first as? Overview ?? Overview() }
  var top: any Screen { stack.last ?? Overview() }

  // MARK: - What is read

  /// The data that the visible screens need.
  func scope(_ world: World) -> ViewScope {
    let world = shown(world)
    guard let base = stack.lastIndex(where: { !$0.isOverlay }) else { return ViewScope() }
    return stack[base].wants(world)
  }

  /// The next moment at which what is shown changes by itself, in milliseconds since 1970.
  func nextWake(_ world: World) -> Int64? {
    var moments = [world.now + world.format.untilMidnight(world.now)]
    if let notice { moments.append(notice.until) }
    if let base = stack.last(where: { !$0.isOverlay }), let wake = base.wake(world) { moments.append(wake) }
    return moments.filter { $0 > world.now }.min()
  }

  /// The next moment at which the store has to be read again although no process writes it: the end of a wait.
  static func nextReading(_ world: World) -> Int64? {
    world.status?.changesAt.flatMap { $0 > world.now ? $0 : nil }
  }

  // MARK: - What happens

  /// The world as it is shown: with the lists of a frozen screen, and the card of the demo's tour. The status is always
  /// the present one.
  func shown(_ world: World) -> World {
    var world = world
    world.notices = notices
    if !world.faults.isEmpty {
      world.card = tour.text(world.keys).map {
        [.init("Try \(tour.place + 1)/\(Tour.count)  ", .marked), .init($0)]
      }
    }
    guard let frozen else { return world }
    world.data = frozen.shown(over: world.data)
    return world
  }

  /// Opens the view that the user wants to begin with.
  mutating func open(_ view: Preferences.StartView, _ world: World) {
    // Whether there are conflicts is not known yet.
    if view == .conflicts { return stack.append(conflictsScreen) }
    for id in view.commands { _ = run(id, world) }
  }

  mutating func update(_ message: Message, _ world: World) -> [Effect] {
    guard !hasEnded else { return [] }
    var world = shown(world)
    if frozen != nil { frozen = world.data }
    // A card that is done stays while a line is typed: the keys of the next one would go into the line.
    defer { if !world.faults.isEmpty, top.prompt(world) == nil { tour.follow(world.status) } }
    var effects: [Effect] = []
    switch message {
    case .keys(let keys): for key in keys { effects += press(key, world) }
    case .pointed(let action, let target): effects += point(action, target, world)
    case .resized, .changed, .tick: break
    case .receipt(let receipt): take(receipt, world)
    case .replaced: startAgain(world)
    case .stopAsked: effects.append(.suspend(wholeGroup: false))
    case .said(let text, let isError, let commandLine): say(text, isError: isError, world, commandLine)
    case .progressed(let text): notice = Notice(id: 0, at: world.now, text: text, isError: false)
    case .ended(let end): effects += quit(end)
    }
    if let notice, notice.until <= world.now { self.notice = nil }
    world.notices = notices
    for index in stack.indices { stack[index].follow(world) }
    if !held.isEmpty, !top.isWaiting(world) {
      let keys = held
      held = []
      for key in keys {
        effects += press(key, world)
        // Keys typed before the rows were shown must not answer a question about them.
        if top is Question { break }
      }
    }
    if world.isUsable, frozen == nil { effects += stack[stack.count - 1].shown(world) }
    return effects
  }

  private mutating func say(_ text: String, isError: Bool, _ world: World, _ commandLine: String? = nil) {
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

  private mutating func take(_ receipt: Receipt, _ world: World) {
    // The effect of a command is shown.
    if receipt.changed > 0 { frozen = nil }
    for index in stack.indices { stack[index].take(receipt) }
    tour.note(receipt)
    switch receipt.command {
    case .undo, .undoAll:
      let undone = Set(receipt.result.changed)
      undoable = undoable.map { $0.filter { !undone.contains($0) } }.filter { !$0.isEmpty }
      // A failed undo can be tried again, unless there is nothing left to undo.
      if case .undo(let ids) = receipt.command, receipt.failure != nil, !receipt.doesNotApply { undoable.append(ids) }
      return
    default: break
    }
    guard receipt.failure == nil, !receipt.result.changed.isEmpty else { return }
    switch receipt.command {
    case .resolve, .resolveAll, .perform(.discard, _, _, _): undoable.append(receipt.result.changed)
    default: break
    }
  }

  private mutating func quit(_ end: Dashboard.End) -> [Effect] {
    hasEnded = true
    return [.quit(end)]
  }

  // MARK: - Keys

  private mutating func press(_ key: Key, _ world: World) -> [Effect] {
    guard !hasEnded else { return [] }
    // The message of the last key is out of date.
    notice = nil
    if key == .ctrl("c") { return quit(.signal(SIGINT)) }
    if key == .ctrl("z") { return [.suspend(wholeGroup: true)] }
    if key == .ctrl("l") { return [.redraw] }
    guard world.isUsable else { return key == world.keys.key(of: .quit) ? quit(.quit) : [] }
    guard held.isEmpty else {
      if key == .escape { held = [] } else { held.append(key) }
      return []
    }
    if awaitsFault { return inject(key, world) }
    if let steps = stack[stack.count - 1].type(key, world) { return carryOut(steps, world) }
    // On the overview the key of the verdict's line wins.
    if stack.count == 1, let help = world.help.first(where: { $0.key == key }) {
      if overview.queue.isWaiting(world), Self.actsOnRows(help.command) {
        held.append(key)
        return []
      }
      return decides(help.command, key, world) ? follow(help, world) : []
    }
    guard let command = world.keys.command(named: key, in: scopes(world)) else {
      if case .character(let typed) = key {
        say("\(typed) means nothing here; \(world.keys.name(of: .help)) shows the keys", isError: false, world)
      }
      return []
    }
    if top.isWaiting(world), Self.actsOnRows(command.id) {
      held.append(key)
      return []
    }
    return decides(command.id, key, world) ? run(command.id, world) : []
  }

  /// The commands that answer a question, or carry out a decision that was prepared.
  private static let decisions: Set<CommandID> = [
    .yes, .resolve, .liftPause, .restore, .saveEdit,
  ]

  /// Whether a key may give a command: keys that come all at once may be pasted text, which decides nothing.
  private mutating func decides(_ id: CommandID, _ key: Key, _ world: World) -> Bool {
    guard isBurst, Self.decisions.contains(id) else { return true }
    say("Keys that come all at once decide nothing; press \(key.name) again", isError: false, world)
    return false
  }

  /// The rows by which the wheel moves the cursor.
  private static let wheelRows = 3

  private mutating func point(_ action: Mouse.Action, _ target: Target, _ world: World) -> [Effect] {
    guard world.isUsable, held.isEmpty, !awaitsFault, top.prompt(world) == nil else { return [] }
    notice = nil
    var isOther = false
    switch target {
    case .row(_, let pane?) where stack.count == 1, .pane(let pane) where stack.count == 1:
      isOther = overview.focus != pane
      focus(pane)
    default: break
    }
    switch (action, target) {
    case (.wheelUp, _), (.wheelDown, _):
      guard !scopes(world).isDisjoint(with: [.moving, .conflicts, .day]) else { return [] }
      return (0..<Self.wheelRows).flatMap { _ in run(action == .wheelUp ? .up : .down, world) }
    case (.press, .row(let row, let pane)):
      // A second click opens what the first one has selected.
      let isNew = stack[stack.count - 1].select(row, in: pane, world)
      return isNew || isOther || scopes(world).isDisjoint(with: .opening) ? [] : run(.open, world)
    case (.press, .tab(let states)):
      if stack.count == 1 { focus(.queue) }
      return carryOut([.tab(states)], world)
    case (.press, .command(let id)): return run(id, world)
    case (.press, .pane), (.press, .body): return []
    }
  }

  private mutating func focus(_ pane: Pane) {
    var overview = overview
    overview.focus = pane
    stack[0] = overview
  }

  /// The scopes of commands that act on rows, or move among them.
  private static let rowScopes: KeyScope = [
    .queue, .records, .list, .zones, .undoing, .editing, .opening, .copying, .moving, .conflicts,
  ]

  private static func actsOnRows(_ id: CommandID) -> Bool {
    id != .filter && !Command.of(id).scopes.isDisjoint(with: rowScopes)
  }

  /// The scopes of the top screen.
  func scopes(_ world: World) -> KeyScope {
    world.faults.isEmpty || top.isOverlay ? top.scopes : top.scopes.union(.demo)
  }

  private mutating func follow(_ help: Verdict.Help, _ world: World) -> [Effect] {
    tour.note(help.command)
    switch help.command {
    case .copy:
      return world.signInURL.map { [.copy($0)] } ?? []
    // The pane alone does not show what helps.
    case .view2: return carryOut([.push(overview.full(.account))], world)
    case .edit where overview.queue.selected(world)?.state != .failed:
      // The sentence is about the failed changes, not about the selected one: they are shown first.
      var overview = overview
      let steps = overview.performOnQueue(overview.queue.showsProblems ? .top : .problems, world)
      stack[0] = overview
      return carryOut(steps, world)
    case .problems, .retryAll, .edit:
      if case .no(let reason) = overview.queue.availability(of: help.command, world) {
        say(reason, isError: false, world)
        return []
      }
      var overview = overview
      let steps = overview.performOnQueue(help.command, world)
      stack[0] = overview
      return carryOut(steps, world)
    default: return run(help.command, world)
    }
  }

  /// Runs a command as if its key had been pressed.
  private mutating func run(_ id: CommandID, _ world: World) -> [Effect] {
    if case .no(let reason) = availability(of: id, world) {
      say(reason, isError: false, world)
      return []
    }
    tour.note(id)
    // Leaving a screen with edits asks for it twice.
    if top.hasUnsavedEdits, id == .quit || id.opensView {
      return carryOut(stack[stack.count - 1].perform(.back, world), world)
    }
    switch id {
    case .quitAtOnce: return quit(.signal(SIGINT))
    case .quit:
      guard stack.count == 1 else { return carryOut([.pop], world) }
      return world.unsentAfterQuitting > 0 ? carryOut([.push(Question(.quit))], world) : quit(.quit)
    case .suspend: return [.suspend(wholeGroup: true)]
    case .redraw: return [.redraw]
    case .theme: return [.nextTheme]
    case .reload: return [.reload]
    case .freeze:
      frozen = frozen == nil ? world.data : nil
      say(
        frozen == nil
          ? "Following the store again"
          : "Frozen: lists stay as they are until \(world.keys.name(of: .freeze)) again",
        isError: false,
        world
      )
      return []
    case .help where !(top is HelpScreen): return carryOut([.push(HelpScreen(for: self))], world)
    case .palette:
      if top is HelpScreen { leave() }
      return carryOut([.push(PaletteScreen(for: self))], world)
    case .view1: return view(.sync, world)
    case .view2: return view(.account, world)
    case .view3: return view(.queue, world)
    case .view4: return view(.records, world)
    case .view5, .conflicts: return carryOut([.show(conflictsScreen.showing(top.conflict(world)))], world)
    case .syncOnce: return [.give(.sync)]
    case .keepSyncing:
      guard world.syncing == .always else {
        say(Self.keepsSyncing(world), isError: false, world)
        return [.give(.keepSyncing)]
      }
      say("Stopped syncing here", isError: false, world)
      return [.stopSyncing]
    case .flush: return [.give(.flush())]
    case .pauseAll:
      // What was shown decides which of the two it is, not what holds when the command runs.
      guard world.status?.isPaused == true else { return carryOut([.push(Question(.pauseEverything))], world) }
      return [.give(.resume([.everything]))]
    case .undo:
      return undoable.popLast().map { [.give(.undo($0))] } ?? []
    case .nextCard:
      tour.skip()
      return []
    case .demo:
      awaitsFault = true
      say(faultHelp(world), isError: false, world)
      return []
    default:
      if let view = id.view { return open(view, world) }
      return carryOut(stack[stack.count - 1].perform(id, world), world)
    }
  }

  /// The answer to the command to keep syncing: while another process syncs, this one waits for its end.
  private static func keepsSyncing(_ world: World) -> String {
    let key = world.keys.name(of: .keepSyncing)
    guard let driver = world.status?.driver, driver.isLive, driver.pid != world.pid else {
      return "Syncing here until \(key) again"
    }
    return "PID \(driver.pid) is syncing; this dashboard takes over when it ends, until \(key) again"
  }

  private mutating func view(_ pane: Pane, _ world: World) -> [Effect] {
    if stack.count == 2, top.title == pane.title { return [] }
    if stack.count == 1 {
      guard overview.focus == pane else { return carryOut([.focus(pane)], world) }
      return carryOut([.push(overview.full(pane))], world)
    }
    return carryOut([.show(overview.full(pane))], world)
  }

  /// Opens a view, unless it is open.
  private mutating func open(_ screen: any Screen, _ world: World) -> [Effect] {
    stack.count == 2 && top.title == screen.title ? [] : carryOut([.show(screen)], world)
  }

  private mutating func carryOut(_ steps: [Step], _ world: World) -> [Effect] {
    var effects: [Effect] = []
    for step in steps {
      if frozen != nil, step.isAboutAll {
        say(
          "The lists are frozen; \(world.keys.name(of: .freeze)) follows the store again first",
          isError: true,
          world
        )
        continue
      }
      switch step {
      case .effect(let effect): effects.append(effect)
      case .push(let screen): stack.append(screen)
      case .pop: leave()
      case .quit: effects += quit(.quit)
      case .show(let screen):
        while stack.count > 1 { leave() }
        stack.append(screen)
      case .fault(let key): effects.append(.injectFault(key))
      case .notice(let text): say(text, isError: false, world)
      case .failure(let text): say(text, isError: true, world)
      case .run(let id): effects += run(id, world)
      case .focus(let pane):
        while stack.count > 1 { leave() }
        focus(pane)
      case .columns(let names):
        guard let index = stack.lastIndex(where: { !$0.isOverlay }) else { break }
        if var records = stack[index] as? RecordsScreen {
          records.list.columns = names
          stack[index] = records
        } else if var overview = stack[index] as? Overview {
          overview.records.columns = names
          stack[index] = overview
        }
      case .tab(let states):
        if top is CausesScreen {
          leave()
          if !(top is QueueScreen) { stack.append(overview.full(.queue)) }
        }
        if var queue = top as? QueueScreen {
          queue.list.showOnly(states)
          stack[stack.count - 1] = queue
        } else if stack.count == 1 {
          var overview = overview
          overview.queue.showOnly(states)
          stack = [overview]
        }
      }
    }
    return effects
  }

  /// Closes the top screen. What was done to a list in full holds for its pane.
  private mutating func leave() {
    guard stack.count > 1 else { return }
    let screen = stack.removeLast()
    guard stack.count == 1 else { return }
    var overview = overview
    if let full = screen as? QueueScreen { overview.queue = full.list }
    if let full = screen as? RecordsScreen { overview.records = full.list }
    if let conflicts = screen as? ConflictsScreen { conflictsScreen = conflicts }
    stack = [overview]
  }

  // MARK: - Faults

  private func faultHelp(_ world: World) -> String {
    world.faults.map { "\($0.key) \($0.label)" }.joined(separator: "  ")
  }

  private mutating func inject(_ key: Key, _ world: World) -> [Effect] {
    awaitsFault = false
    notice = nil
    guard case .character(let character) = key, world.faults.contains(where: { $0.key == character }) else { return [] }
    return [.injectFault(character)]
  }
}

extension [Key] {
  /// Whether keys of one reading may be text that was pasted into a terminal that does not mark it. A line that stalled
  /// delivers keys all at once, too, so they are carried out, but answer no question.
  var isBurst: Bool { count { if case .character = $0 { true } else { false } } >= 4 }
}
