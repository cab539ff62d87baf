import CloudService
import CloudSync
import Facts
import TerminalUI

extension App {
  /// Draws the screens at the world's size; any size, down to nothing.
  func draw(_ world: World) -> Frame {
    let world = displayed(world)
    var frame = Frame(grid: Grid(world.size, glyphs: world.glyphs), cursor: nil)
    let rows = frame.grid.bounds.rows([.fixed(1), .flexible, .fixed(world.cardLines.count), .fixed(1)])
    guard world.isUsable else {
      drawVerdict(world, on: &frame.grid)
      return frame
    }
    TopLine(world: world, path: above.compactMap(\.title)).draw(on: &frame.grid, in: rows[0])
    let stack = stack
    for screen in stack[(stack.lastIndex { !$0.isOverlay } ?? 0)...] {
      if screen.isOverlay { frame.coverTargets() }
      frame.addTarget(.body, in: rows[1])
      screen.draw(on: &frame, in: rows[1], world)
      // The overview's first line says what is the matter.
      if world.isStale, !screen.isOverlay {
        frame.grid.dim(rows[1].rows([.fixed(above.isEmpty ? 1 : 0), .flexible])[1])
      }
    }
    drawCard(on: &frame, in: rows[2], world)
    drawFooter(on: &frame, in: rows[3], world)
    return frame
  }

  /// Draws the verdict alone, for a terminal that is too small for more.
  private func drawVerdict(_ world: World, on grid: inout Grid) {
    TopLine(world: world, path: []).draw(on: &grid, in: grid.bounds.row(0))
    let (text, role) = world.badge(width: world.size.width)
    let lines =
      wrap(StyledText(text, role), to: grid.size.width, grid.glyphs)
      + wrap(StyledText(world.sentence), to: grid.size.width, grid.glyphs)
      + wrap(
        StyledText(
          "Too small for more; make it \(Breakpoint.moreThanVerdict.width)x\(Breakpoint.moreThanVerdict.height), "
            + "or \(world.keys.name(of: .quit)) quits",
          .dim
        ),
        to: grid.size.width,
        grid.glyphs
      )
    for (line, part) in lines.enumerated() {
      grid.put(part, in: grid.bounds.row(line + (grid.size.height > 1 ? 1 : 0)))
    }
  }

  private func drawCard(on frame: inout Frame, in area: Rect, _ world: World) {
    frame.grid.fill(area, Style(.banner))
    let next: StyledText = [.init(world.keys.name(of: .nextCard), .key), .init(" next ")]
    let parts = area.columns([.flexible, .fixed(world.hasNextKey ? next.cells(in: frame.grid.glyphs) : 0)])
    for (line, text) in world.cardLines.enumerated() {
      frame.grid.put(text.on(.banner), in: parts[0].inset(horizontally: 1, vertically: 0).row(line))
    }
    frame.grid.put(next.on(.banner), in: parts[1])
    frame.addTarget(.command(.nextCard), in: parts[1])
  }

  private func drawFooter(on frame: inout Frame, in area: Rect, _ world: World) {
    if let prompt = top.prompt(world) { return draw(prompt, on: &frame, in: area) }
    let inside = area.inset(horizontally: 1, vertically: 0)
    let way = KeyHints.Hint(!above.isEmpty ? "Esc" : world.keys.name(of: .quit), !above.isEmpty ? "back" : "quit")
    let out: StyledText = [.init(way.key, .key), .init(" \(way.label)", .keyLabel)]
    let text = footerText(world)
    // A short remark leaves room for the keys.
    if let text, text.cells(in: frame.grid.glyphs) >= inside.width / 2 { return frame.grid.put(text, in: inside) }
    let commands = hintedCommands(world)
    let hints = KeyHints(commands.map { hint($0, world) }, note: text ?? out)
    frame.grid.draw(hints, in: inside)
    if text == nil {
      let width = out.cells(in: frame.grid.glyphs)
      let place = Rect(x: inside.maxX - width, y: inside.y, width: width, height: 1)
      frame.addTarget(.command(!above.isEmpty ? .back : .quit), in: place)
    }
    for (command, place) in zip(commands, hints.places(in: inside, frame.grid.glyphs)) {
      frame.addTarget(.command(command.id), in: place)
    }
  }

  /// Draws a line that is being typed, with its remark at the right; one that does not fit there stands above it.
  private func draw(_ prompt: Prompt, on frame: inout Frame, in area: Rect) {
    let glyphs = frame.grid.glyphs
    let needed = cells(prompt.input.prompt + prompt.input.text, in: glyphs) + 3
    var width = prompt.note.cells(in: glyphs)
    if width > max(area.width / 3, area.width - needed) {
      let lines = wrap(prompt.note, to: area.width, glyphs).prefix(max(0, area.y - 2))
      for (line, text) in lines.enumerated() {
        let row = Rect(x: area.x, y: area.y - lines.count + line, width: area.width, height: 1)
        frame.grid.fill(row, Style(.input))
        frame.grid.put(text.on(.input), in: row)
      }
      width = 0
    }
    let parts = area.columns([.flexible, .fixed(width)], gap: 1)
    frame.grid.fill(area, Style(.input))
    frame.grid.draw(prompt.input, in: parts[0])
    if width > 0 { frame.grid.put(prompt.note.on(.input), in: parts[1]) }
    frame.cursor = prompt.input.cursor(in: parts[0], glyphs)
  }

  /// The text shown in place of the keys: the progress of a command, the last event, or a warning that the screen is
  /// stale.
  private func footerText(_ world: World) -> StyledText? {
    if let progress = world.progress {
      return StyledText(
        "\(progress.text): \(Format.number(progress.done)) of \(Format.number(progress.total))",
        .active
      )
    }
    if !held.isEmpty {
      return StyledText("Reading the list; \(Words.count(held.count, "key")) queued (Esc forgets them)", .info)
    }
    if let notice { return StyledText(notice.text, notice.isError ? .error : .info) }
    if frozen != nil { return StyledText("Frozen; \(world.keys.name(of: .freeze)) follows again", .warning) }
    guard world.isStale else { return nil }
    return StyledText("Stale: as read at \(world.time(world.status?.generatedAt))", .error)
  }

  /// The keys of the top screen that do something now, the most important first.
  func hints(_ world: World) -> [KeyHints.Hint] { hintedCommands(world).map { hint($0, world) } }

  private func hint(_ command: Command, _ world: World) -> KeyHints.Hint {
    KeyHints.Hint(command.keys[0].name, label(of: command, world))
  }

  private func hintedCommands(_ world: World) -> [Command] {
    let scopes = scopes(world)
    let isOverview = scopes.contains(.panes)
    let shown = world.keys.commands.filter { command in
      !command.title.isEmpty && !command.scopes.isDisjoint(with: scopes) && command.footer != .never
        && !(isOverview && command.footer == .inFull) && refusal(of: command, world) == nil
    }
    let early: [Command.Footer] = [.first, .second]
    return early.flatMap { footer in shown.filter { $0.footer == footer } }
      + shown.filter { !early.contains($0.footer) }
  }
}
