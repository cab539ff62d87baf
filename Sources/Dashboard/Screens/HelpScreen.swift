import CloudSync
import Facts
import TerminalUI

/// The keys of a view, its own first. Enter runs the selected one.
struct HelpScreen: Screen {
  /// The dashboard with the view that the keys are for.
  private let app: App
  private var cursor = 0
  private var offset = 0

  /// - Parameter app: the dashboard with the view on top.
  init(for app: App) { self.app = app }

  var isOverlay: Bool { true }
  var scopes: KeyScope { [.everywhere, .helping, .moving, .opening, .closing] }

  private enum Line {
    case heading(String)
    case command(Command)
    case mark(String, StyledText)
  }

  private func lines(_ world: World) -> [Line] {
    let commands = world.keys.commands.filter { !$0.scopes.isDisjoint(with: app.scopes(world)) }
    let general: KeyScope = [.everywhere, .moving, .closing, .demo]
    func isGeneral(_ command: Command) -> Bool {
      !command.scopes.isDisjoint(with: general)
    }
    let own = commands.filter { !isGeneral($0) && !$0.scopes.isSubset(of: .syncing) }
    let syncing = commands.filter { $0.scopes.isSubset(of: .syncing) }
    let moving = commands.filter { $0.scopes.contains(.moving) }
    let others = commands.filter { isGeneral($0) && !$0.scopes.contains(.moving) }
    var lines: [Line] = []
    for (title, part) in [
      (app.top.title ?? "Overview", own), ("Syncing", syncing), ("Moving", moving), ("Everywhere", others),
    ]
    where !part.isEmpty {
      lines.append(.heading(title))
      lines += part.map(Line.command)
    }
    if world.preferences.hasMouse {
      lines.append(.heading("Mouse"))
      lines += [
        .mark("click", "select; a second click opens"), .mark("wheel", "move"),
        .mark("Shift", "leaves the mouse to the terminal, to select text"),
      ]
    }
    lines.append(.heading("Marks"))
    lines += OperationState.allCases.map {
      .mark($0.mark, StyledText("a change that is \(Words.state($0.rawValue))", $0.role))
    }
    lines += [
      .mark("■", StyledText("act now", .error)),
      .mark("▲", StyledText("look at it", .warning)),
      .mark("◆", StyledText("waits by itself", .warning)), .mark("●", StyledText("fine", .ok)),
    ]
    return lines
  }

  mutating func follow(_ world: World) { move(to: cursor, world) }

  private mutating func move(to row: Int, _ world: World) {
    let (height, total) = (Box.inside(world.body).height, lines(world).count)
    cursor = max(0, min(row, total - 1))
    offset = Table.offset(showing: cursor, from: offset, visible: height, total: total)
  }

  mutating func move(_ id: CommandID, _ world: World) -> [Step] {
    let (height, total) = (Box.inside(world.body).height, lines(world).count)
    if let target = ListState<Int>.target(of: id, from: cursor, visible: height, total: total) {
      move(to: target, world)
    }
    return []
  }

  func opening(_ world: World) -> Opening {
    let lines = lines(world)
    guard lines.indices.contains(cursor), case .command(let command) = lines[cursor] else {
      return Opening(label: "run it")
    }
    return Opening(label: "run it", steps: [.pop, .run(command.id)])
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    frame.grid.fill(area)
    Box(title: StyledText("Keys of \(app.top.title ?? "the overview")"), isFocused: true).draw(
      on: &frame.grid,
      in: area
    )
    let inside = Box.inside(area)
    let lines = lines(world)
    for (y, line) in lines.dropFirst(offset).prefix(inside.height).enumerated() {
      let row = inside.row(y)
      let isSelected = offset + y == cursor
      if isSelected { frame.grid.fill(row, Style(.selection)) }
      func put(_ text: StyledText, _ place: Rect) { frame.grid.put(isSelected ? text.on(.selection) : text, in: place) }
      let places = row.columns([.fixed(13), .flexible], gap: 1)
      switch line {
      case .heading(let text): put(StyledText(text, .header), row)
      case .mark(let mark, let text):
        put(StyledText(" \(mark)", .key), places[0])
        put(text, places[1])
      case .command(let command):
        put(StyledText(" \(command.keyNames)", .key), places[0])
        if let reason = app.refusal(of: command, world) {
          put(StyledText("\(command.help) — \(reason.prefix(1).lowercased() + reason.dropFirst())", .dim), places[1])
        } else {
          put(StyledText(command.help), places[1])
        }
      }
    }
  }
}
