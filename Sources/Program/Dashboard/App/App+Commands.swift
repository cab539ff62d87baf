import CloudService
import CloudSync
import Facts
import Glibc
import TerminalUI

/// The effects of commands on the views.
extension App {
  /// Why a command would do nothing now, as a sentence without a full stop; nil if it would do something.
  func refusal(of command: Command, _ world: World) -> String? {
    world.isReadOnly && command.isChange ? "Not allowed in read-only mode" : command.refusal(self, world)
  }

  func label(of command: Command, _ world: World) -> String { command.label(self, world) ?? command.title }

  /// Runs a command as if its key had been pressed.
  mutating func run(_ id: CommandID, _ world: World) -> [Effect] {
    let command = Command.of(id)
    if let reason = refusal(of: command, world) {
      hint(reason, world)
      return []
    }
    tour.record(id)
    // Leaving a screen with edits asks for it twice.
    if top.hasUnsavedEdits, command.traits.contains(.leaves) { return carryOut(back(world), world) }
    let question = command.question(self, world)
    return carryOut(question.map { [.ask($0)] } ?? command.run(&self, world), world)
  }

  mutating func move(_ id: CommandID, _ world: World) -> [Step] {
    above.isEmpty ? overview.move(id, world) : above[above.count - 1].move(id, world)
  }

  mutating func back(_ world: World) -> [Step] {
    above.isEmpty ? overview.back(world) : above[above.count - 1].back(world)
  }

  /// Uses up the marks or the selected row for a command; see `ListActions.use`. What is no list can always be used.
  mutating func use(_ world: World) -> Bool {
    let visible = top.visible(world)
    return rows?.use(world, visible: visible) ?? true
  }

  mutating func turn(_ step: Int, _ world: World) -> [Step] {
    [.tab(QueueTabs(world, top.queueList, hasCauses: !above.isEmpty).tab(step))]
  }

  mutating func focus(_ step: Int) -> [Step] {
    overview.focus = overview.focus.next(step)
    return []
  }

  /// Focuses a pane on the overview, and opens the one that has the focus.
  func show(_ pane: Pane) -> [Step] {
    guard above.isEmpty else { return show(overview.full(pane)) }
    return overview.focus == pane ? [.push(overview.full(pane))] : [.focus(pane)]
  }

  /// Shows a view, unless it is open.
  func show(_ screen: any Screen) -> [Step] { above.count == 1 && top.title == screen.title ? [] : [.show(screen)] }

  mutating func freeze(_ world: World) -> [Step] {
    frozen = frozen == nil ? world.data : nil
    let key = world.keys.name(of: .freeze)
    return [
      .notice(frozen == nil ? "Following the store again" : "Frozen: lists stay as they are until \(key) again")
    ]
  }

  // MARK: - Steps

  mutating func carryOut(_ steps: [Step], _ world: World) -> [Effect] {
    var effects: [Effect] = []
    for step in steps {
      if frozen != nil, step.isAboutAll {
        let key = world.keys.name(of: .freeze)
        hint("The lists are frozen; \(key) follows the store again first", isError: true, world)
        continue
      }
      switch step {
      case .effect(let effect): effects.append(effect)
      case .push(let screen): above.append(screen)
      case .ask(let question): above.append(Question(question))
      case .pop: leave()
      case .quit: effects += quit(.quit)
      case .interrupt: effects += quit(.signal(SIGINT))
      case .show(let screen):
        leaveAll()
        above.append(screen)
      case .fault(let key): effects.append(.injectFault(key))
      case .notice(let text): say(text, isError: false, world)
      case .failure(let text): hint(text, isError: true, world)
      case .run(let id): effects += run(id, world)
      case .focus(let pane):
        leaveAll()
        overview.focus = pane
      case .columns(let names):
        guard let index = above.lastIndex(where: { !$0.isOverlay }) else {
          overview.records.columns = names
          break
        }
        above[index].rows?.columns = names
      case .tab(let states): show(tab: states)
      }
    }
    return effects
  }

  /// Closes the top screen. What was done to a list in full holds for its pane.
  mutating func leave() {
    guard let screen = above.popLast(), above.isEmpty else { return }
    screen.close(&self)
  }

  private mutating func leaveAll() { while !above.isEmpty { leave() } }

  private mutating func show(tab states: Set<OperationState>?) {
    guard let states else { return above.append(CausesScreen()) }
    if top.scopes.contains(.causes) {
      leave()
      if top.queueList == nil || above.isEmpty { above.append(overview.full(.queue)) }
    }
    rows?.show(states)
  }
}

extension World {
  /// The answer to the command to keep syncing: while another process syncs, this one waits for its end.
  var keepsSyncing: String {
    let key = keys.name(of: .keepSyncing)
    guard let process = otherProcess else { return "Syncing here until \(key) again" }
    return "PID \(process.pid) is syncing; this dashboard takes over when it ends, until \(key) again"
  }
}
