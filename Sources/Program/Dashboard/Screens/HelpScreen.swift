import CloudSync
import Facts
import TerminalUI

/// The keys of a view, its own first. Enter runs the selected one.
struct HelpScreen: CursorScreen {
  /// The dashboard with the view that the keys are for.
  private let app: App
  var list = ListState<Int>()

  /// - Parameter app: the dashboard with the view on top.
  init(for app: App) { self.app = app }

  var isOverlay: Bool { true }
  var scopes: KeyScope { [.everywhere, .helping, .moving, .opening, .closing] }

  /// The name of the view, or what it is.
  private var place: String { app.top.title ?? (app.top.isOverlay ? "Window" : "Overview") }

  private enum Line {
    case heading(String)
    /// A line of an entry; the command that Enter runs there.
    case part(key: String, StyledText, CommandID?)
  }

  private func lines(_ world: World) -> [Line] {
    let width = Box.inside(world.body).width - Self.keyWidth - 1
    func entry(_ key: String, _ text: StyledText, _ id: CommandID? = nil) -> [Line] {
      wrap(text, to: width, world.glyphs).enumerated().map { .part(key: $0 == 0 ? " \(key)" : "", $1, id) }
    }
    let commands = world.keys.commands.filter { !$0.scopes.isDisjoint(with: app.scopes(world)) }
    let general: KeyScope = [.everywhere, .moving, .closing, .demo]
    func isGeneral(_ command: Command) -> Bool { !command.scopes.isDisjoint(with: general) }
    let own = commands.filter { !isGeneral($0) && !$0.scopes.isSubset(of: .syncing) }
    let syncing = commands.filter { $0.scopes.isSubset(of: .syncing) }
    let moving = commands.filter { $0.scopes.contains(.moving) }
    let others = commands.filter { isGeneral($0) && !$0.scopes.contains(.moving) }
    let parts = [
      (place, own), ("Syncing", syncing), ("Moving", moving), ("Everywhere", others),
    ]
    var lines: [Line] = []
    for (title, part) in parts where !part.isEmpty {
      lines.append(.heading(title))
      for command in part {
        let reason = app.refusal(of: command, world).map { " — \($0.prefix(1).lowercased() + $0.dropFirst())" }
        let text = StyledText(command.help + (reason ?? ""), reason == nil ? .text : .dim)
        lines += entry(command.keyNames, text, command.id)
      }
    }
    if world.preferences.hasMouse {
      lines.append(.heading("Mouse"))
      lines += entry("click", "select; a second click opens") + entry("wheel", "move")
      lines += entry("Shift", "leaves the mouse to the terminal, to select text")
    }
    lines.append(.heading("Marks"))
    lines += OperationState.allCases.flatMap {
      entry($0.mark, StyledText("a change that is \(Words.state($0.rawValue))", $0.role))
    }
    return lines + Verdict.Urgency.allCases.flatMap { entry($0.rawValue, StyledText($0.meaning, $0.role)) }
  }

  private static let keyWidth = 13

  func visible(_ world: World) -> Int { Box.inside(world.body).height }
  func ids(_ world: World) -> [Int] { Array(lines(world).indices) }

  func subject(_ world: World) -> Subject {
    let lines = lines(world)
    guard lines.indices.contains(list.cursor), case .part(_, _, let id?) = lines[list.cursor] else {
      return Subject(open: Offer(label: "run it", []))
    }
    return Subject(open: Offer(label: "run it", [.pop, .run(id)]))
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    frame.grid.fill(area)
    let title = StyledText("Keys of \(app.top.title ?? "the \(place.lowercased())")")
    Box(title: title, isFocused: true).draw(on: &frame.grid, in: area)
    let inside = Box.inside(area)
    let lines = lines(world)
    for (y, line) in lines.dropFirst(list.offset).prefix(inside.height).enumerated() {
      let row = inside.row(y)
      frame.addTarget(.row(list.offset + y, nil), in: row)
      let isSelected = list.offset + y == list.cursor
      if isSelected { frame.grid.fill(row, Style(.selection)) }
      func put(_ text: StyledText, _ place: Rect) { frame.grid.put(isSelected ? text.on(.selection) : text, in: place) }
      switch line {
      case .heading(let text): put(StyledText(text, .header), row)
      case .part(let key, let text, _):
        let places = row.columns([.fixed(Self.keyWidth), .flexible], gap: 1)
        put(StyledText(key, .key), places[0])
        put(text, places[1])
      }
    }
  }
}
