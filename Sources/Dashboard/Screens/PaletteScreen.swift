import TerminalUI

/// Finds a command of the view below by a part of its name and runs it.
struct PaletteScreen: Screen {
  private let app: App
  private var input = InputLine(prompt: ":")
  private var cursor = 0

  /// - Parameter app: the dashboard with the view on top.
  init(for app: App) { self.app = app }

  var isOverlay: Bool { true }
  var scopes: KeyScope { [] }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] { [] }

  /// A line of the palette: a command, or a fault of the demo.
  struct Entry: Sendable {
    var name: String
    var key: String
    var help: String
    /// The reason why it does nothing now, if so.
    var reason: String?
    var step: Step
  }

  /// The entries that match what was typed, the best first.
  func matches(_ world: World) -> [Entry] {
    commands(world).map { command in
      var reason: String?
      if case .no(let text) = app.availability(of: command.id, world) { reason = text }
      let key = command.keys.first?.name ?? ""
      return Entry(name: name(command, world), key: key, help: command.help, reason: reason, step: .run(command.id))
    } + faults(world)
  }

  private func faults(_ world: World) -> [Entry] {
    let key = world.keys.name(of: .demo)
    return world.faults.map { fault in
      let name = "fault: \(fault.label)"
      return Entry(name: name, key: "\(key) \(fault.key)", help: "Inject this fault", step: .fault(fault.key))
    }.filter { Self.score(input.text.lowercased(), in: $0.name.lowercased()) != nil }
  }

  private func commands(_ world: World) -> [Command] {
    let typed = input.text.lowercased()
    let commands = world.keys.commands.filter { command in
      !command.scopes.isDisjoint(with: app.scopes(world)) && !command.scopes.contains(.moving) && command.id != .palette
    }
    let scored = commands.enumerated().compactMap { index, command -> (Command, Int, Int)? in
      let title = name(command, world).lowercased()
      let isInHelp = command.help.lowercased().contains(typed)
      guard let score = Self.score(typed, in: title) ?? (isInHelp ? 100 : nil) else { return nil }
      return (command, score, index)
    }
    return scored.sorted { ($0.1, $0.2) < ($1.1, $1.2) }.map(\.0)
  }

  private func name(_ command: Command, _ world: World) -> String {
    app.top.label(of: command.id, world) ?? (command.title.isEmpty ? command.help : command.title)
  }

  /// How far the letters of a pattern are apart in a text, in their order; nil if they are not all there.
  static func score(_ pattern: String, in text: String) -> Int? {
    if pattern.isEmpty { return 0 }
    if text.hasPrefix(pattern) { return 0 }
    if text.contains(" " + pattern) { return 1 }
    if text.contains(pattern) { return 2 }
    var (gaps, last) = (3, text.startIndex)
    for letter in pattern {
      guard let found = text[last...].firstIndex(of: letter) else { return nil }
      gaps += text.distance(from: last, to: found)
      last = text.index(after: found)
    }
    return gaps
  }

  mutating func type(_ key: Key, _ world: World) -> [Step]? {
    let matches = matches(world)
    switch key {
    case .escape: return [.pop]
    case .enter:
      guard matches.indices.contains(cursor) else { return [.pop] }
      return [.pop, matches[cursor].step]
    case .down, .tab, .ctrl("n"): cursor = min(cursor + 1, max(0, matches.count - 1))
    case .up, .backTab, .ctrl("p"): cursor = max(0, cursor - 1)
    default: if input.handle(key) { cursor = 0 }
    }
    return []
  }

  func prompt(_ world: World) -> Prompt? {
    Prompt(input: input, note: StyledText("Enter runs, Esc closes", .dim))
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let matches = matches(world)
    let height = min(area.height, max(3, min(matches.count, 14) + 2))
    let width = min(area.width, 76)
    let place = Rect(x: area.x + (area.width - width) / 2, y: area.maxY - height, width: width, height: height)
    frame.grid.fill(place, Style(.dialog))
    Box(title: "Commands", isFocused: true, ground: .dialog).draw(on: &frame.grid, in: place)
    let inside = Box.inside(place)
    let offset = max(0, cursor - inside.height + 1)
    if matches.isEmpty { frame.grid.put(StyledText("No command matches", .dim).on(.dialog), in: inside.row(0)) }
    for (y, entry) in matches.dropFirst(offset).prefix(inside.height).enumerated() {
      let row = inside.row(y)
      let isSelected = offset + y == cursor
      if isSelected { frame.grid.fill(row, Style(.selection)) }
      let ground: StyleRole = isSelected ? .selection : .dialog
      let places = row.columns([.fixed(18), .fixed(10), .flexible], gap: 1)
      let role: StyleRole = entry.reason == nil ? .text : .dim
      frame.grid.put(StyledText(entry.name, role).on(ground), in: places[0])
      frame.grid.put(StyledText(entry.key, .key).on(ground), in: places[1])
      frame.grid.put(StyledText(entry.reason ?? entry.help, .dim).on(ground), in: places[2])
    }
  }
}
