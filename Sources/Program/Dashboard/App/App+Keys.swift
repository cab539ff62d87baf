import CloudService
import CloudSync
import Facts
import Glibc
import TerminalUI

extension App {
  mutating func press(_ key: Key, _ world: World) -> [Effect] {
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
    if let steps = type(key, world) { return carryOut(steps, world) }
    // On the overview the key of the verdict's line wins.
    if above.isEmpty, let help = world.help.first(where: { $0.key == key }) {
      if overview.queue.isWaiting(world), Command.of(help.command).actsOnRows {
        held.append(key)
        return []
      }
      return decides(.of(help.command), key, world) ? follow(help, world) : []
    }
    guard let command = world.keys.command(named: key, in: scopes(world)) else {
      if case .character(let typed) = key {
        let help = world.keys.key(of: .help)
        let hasHelp = world.keys.command(named: help, in: scopes(world))?.id == .help
        hint("\(typed) means nothing here\(hasHelp ? "; \(help.name) shows the keys" : "")", world)
      }
      return []
    }
    if top.isWaiting(world), command.actsOnRows {
      held.append(key)
      return []
    }
    return decides(command, key, world) ? run(command.id, world) : []
  }

  private mutating func type(_ key: Key, _ world: World) -> [Step]? {
    above.isEmpty ? overview.type(key, world) : above[above.count - 1].type(key, world)
  }

  /// Whether a key may give a command: keys that come all at once may be pasted text, which decides nothing.
  private mutating func decides(_ command: Command, _ key: Key, _ world: World) -> Bool {
    guard isBurst, command.traits.contains(.decides) else { return true }
    hint("Keys that come all at once decide nothing; press \(key.name) again", world)
    return false
  }

  /// The scopes of the top screen.
  func scopes(_ world: World) -> KeyScope {
    world.faults.isEmpty || top.isOverlay ? top.scopes : top.scopes.union(.demo)
  }

  private mutating func follow(_ help: Verdict.Help, _ world: World) -> [Effect] {
    switch help.command {
    case .copy:
      tour.record(.copy)
      return world.signInURL.map { [.copy($0)] } ?? []
    // The pane alone does not show what helps.
    case .accountView: return carryOut([.push(overview.full(.account))], world)
    case .problems, .retryAll, .edit:
      tour.record(help.command)
      overview.focus = .queue
      // The sentence is about the failed changes, not about the selected one: they are shown first.
      let isOfOther = help.command == .edit && overview.queue.selected(world)?.state != .failed
      return run(isOfOther ? (overview.queue.showsProblems ? .top : .problems) : help.command, world)
    default: return run(help.command, world)
    }
  }

  // MARK: - The mouse

  /// The rows by which the wheel moves the cursor.
  static let wheelRows = 3

  mutating func point(_ action: Mouse.Action, _ target: Target, _ world: World) -> [Effect] {
    guard world.isUsable, held.isEmpty, !awaitsFault else { return [] }
    // A line that is typed in the footer belongs to the rows above it; the palette's chooses among them.
    guard top.prompt(world) == nil || top.isOverlay else { return [] }
    notice = nil
    var isOther = false
    switch target {
    case .row(_, let pane?) where above.isEmpty, .pane(let pane) where above.isEmpty:
      isOther = overview.focus != pane
      overview.focus = pane
    default: break
    }
    switch (action, target) {
    case (.wheelUp, _), (.wheelDown, _):
      guard !scopes(world).isDisjoint(with: [.moving, .conflicts, .day]) else { return [] }
      return (0..<Self.wheelRows).flatMap { _ in run(action == .wheelUp ? .up : .down, world) }
    case (.press, .row(let row, let pane)):
      // A second click opens what the first one has selected.
      let isNew =
        above.isEmpty ? overview.select(row, in: pane, world) : above[above.count - 1].select(row, in: pane, world)
      return isNew || isOther || scopes(world).isDisjoint(with: .opening) ? [] : run(.open, world)
    case (.press, .field(let field)):
      if var conflicts = above.last as? ConflictsScreen {
        conflicts.select(field: field, world)
        above[above.count - 1] = conflicts
      }
      return []
    case (.press, .tab(let states)):
      if above.isEmpty { overview.focus = .queue }
      return carryOut([.tab(states)], world)
    case (.press, .command(let id)): return run(id, world)
    case (.press, .pane), (.press, .body): return []
    }
  }

  // MARK: - Faults of the demo

  mutating func askForFault(_ world: World) -> [Step] {
    awaitsFault = true
    return [.notice(world.faults.map { "\($0.key) \($0.label)" }.joined(separator: "  "))]
  }

  private mutating func inject(_ key: Key, _ world: World) -> [Effect] {
    awaitsFault = false
    notice = nil
    guard case .character(let character) = key, world.faults.contains(where: { $0.key == character }) else { return [] }
    return [.injectFault(character)]
  }

  mutating func skipCard() -> [Step] {
    tour.skip()
    return []
  }
}

extension Command {
  /// Whether it acts on rows, or moves among them, so that it waits until they are read.
  fileprivate var actsOnRows: Bool {
    id != .filter && !scopes.isDisjoint(with: KeyScope.ofRows)
  }
}

extension KeyScope {
  fileprivate static let ofRows: KeyScope = [
    .queue, .records, .list, .zones, .undoing, .editing, .opening, .copying, .moving, .conflicts,
  ]
}

extension [Key] {
  /// The number of keys of one reading up to which each is carried out: more than a stalled line delivers.
  static let longestTyping = 1_000

  /// The keys, or one paste if they are so many that they are text, as of a terminal that does not mark what is pasted.
  /// Ctrl-C stays a key.
  var typed: [Key] {
    guard count > Self.longestTyping else { return self }
    let text = compactMap(\.text).joined().prefix(KeyParser.longestPaste)
    return [.paste(String(text))] + (contains(.ctrl("c")) ? [.ctrl("c")] : [])
  }

  /// Whether keys of one reading may be text that was pasted into a terminal that does not mark it. A line that stalled
  /// delivers keys all at once, too, so they are carried out, but answer no question.
  var isBurst: Bool { count { if case .character = $0 { true } else { false } } >= 4 }
}

extension Key {
  /// The text that the key adds where text is typed; nil for others.
  fileprivate var text: String? {
    switch self {
    case .character(let character): String(character)
    case .paste(let text): text
    case .enter: "\n"
    case .tab: "\t"
    default: nil
    }
  }
}
