import TerminalUI

/// Finds a command of the view below by a part of its name and runs it.
struct PaletteScreen: CursorScreen {
  private let app: App
  private var input = InputLine(prompt: ":")
  var list = ListState<Int>()

  /// - Parameter app: the dashboard with the view on top.
  init(for app: App) { self.app = app }

  var isOverlay: Bool { true }
  /// Typed keys are text; the mouse moves and opens.
  var scopes: KeyScope { [.moving, .opening] }

  /// A line of the palette: a command, or a fault of the demo.
  struct Entry: Sendable {
    var name: String
    var key: String
    var help: String
    /// The reason why it does nothing now, if so.
    var reason: String?
    var steps: [Step]
  }

  /// The entries that match what was typed, the best first.
  func matches(_ world: World) -> [Entry] {
    let typed = input.text.lowercased()
    let scored = (commands(world) + faults(world)).enumerated().compactMap { index, entry -> (Entry, Int, Int)? in
      let isInHelp = entry.help.lowercased().contains(typed)
      guard let score = Self.score(typed, in: entry.name.lowercased()) ?? (isInHelp ? 100 : nil) else { return nil }
      return (entry, score, index)
    }
    let sorted = scored.sorted { ($0.1, $0.2) < ($1.1, $1.2) }.map(\.0)
    return input.text == "q" ? [leaving] + sorted : sorted
  }

  /// `:q`, as in editors and other dashboards. Edits that would be lost are asked about first.
  private var leaving: Entry {
    let steps: [Step] = app.top.hasUnsavedEdits ? [.run(.quit)] : [.focus(app.overview.focus), .run(.quit)]
    return Entry(name: "q", key: "", help: "End the dashboard from any view", steps: steps)
  }

  private func faults(_ world: World) -> [Entry] {
    let key = world.keys.name(of: .demo)
    return world.faults.map { fault in
      let name = "fault: \(fault.label)"
      return Entry(name: name, key: "\(key) \(fault.key)", help: "Inject this fault", steps: [.fault(fault.key)])
    }
  }

  private func commands(_ world: World) -> [Entry] {
    let commands = world.keys.commands.filter { command in
      !command.scopes.isDisjoint(with: app.scopes(world)) && !command.scopes.contains(.moving) && command.id != .palette
    }
    return commands.map { command in
      Entry(
        name: command.label(app, world) ?? command.title,
        key: command.keys.first?.name ?? "",
        help: command.help,
        reason: app.refusal(of: command, world),
        steps: [.run(command.id)]
      )
    }
  }

  /// How far a text is from a pattern: 0 for the same text, more for one that begins with it, and so on to one that
  /// only has its letters in their order; nil if they are not all there.
  static func score(_ pattern: String, in text: String) -> Int? {
    if pattern.isEmpty || text == pattern { return 0 }
    if text.hasPrefix(pattern) { return 1 }
    if text.contains(" " + pattern) { return 2 }
    if text.contains(pattern) { return 3 }
    var (gaps, last) = (4, text.startIndex)
    for letter in pattern {
      guard let found = text[last...].firstIndex(of: letter) else { return nil }
      gaps += text.distance(from: last, to: found)
      last = text.index(after: found)
    }
    return gaps
  }

  mutating func type(_ key: Key, _ world: World) -> [Step]? {
    switch key {
    case .escape: return [.pop]
    case .enter:
      // Without a match it stays open and says so.
      return subject(world).open.steps()
    case .down, .tab, .ctrl("n"): return move(.down, world)
    case .up, .backTab, .ctrl("p"): return move(.up, world)
    default: if input.handle(key) { list.reset() }
    }
    return []
  }

  func visible(_ world: World) -> Int { Box.inside(place(world.body, matches(world).count)).height }
  func ids(_ world: World) -> [Int] { Array(matches(world).indices) }

  func subject(_ world: World) -> Subject {
    let matches = matches(world)
    guard matches.indices.contains(list.cursor) else { return Subject() }
    return Subject(open: Offer([.pop] + matches[list.cursor].steps))
  }

  func prompt(_ world: World) -> Prompt? {
    Prompt(input: input, note: StyledText("Enter runs, Esc closes", .dim))
  }

  private func place(_ area: Rect, _ count: Int) -> Rect {
    let height = min(area.height, max(3, min(count, 14) + 2))
    let width = min(area.width, 76)
    return Rect(x: area.x + (area.width - width) / 2, y: area.maxY - height, width: width, height: height)
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let matches = matches(world)
    let place = place(area, matches.count)
    frame.grid.fill(place, Style(.dialog))
    Box(title: "Commands", isFocused: true, ground: .dialog).draw(on: &frame.grid, in: place)
    let inside = Box.inside(place)
    let nameWidth = max(18, matches.map { cells($0.name, in: frame.grid.glyphs) }.max() ?? 0)
    if matches.isEmpty { frame.grid.put(StyledText("No command matches", .dim).on(.dialog), in: inside.row(0)) }
    for (y, entry) in matches.dropFirst(list.offset).prefix(inside.height).enumerated() {
      let row = inside.row(y)
      frame.addTarget(.row(list.offset + y, nil), in: row)
      let isSelected = list.offset + y == list.cursor
      if isSelected { frame.grid.fill(row, Style(.selection)) }
      let ground: StyleRole = isSelected ? .selection : .dialog
      let places = row.columns([.fixed(nameWidth), .fixed(10), .flexible], gap: 1)
      let role: StyleRole = entry.reason == nil ? .text : .dim
      frame.grid.put(StyledText(entry.name, role).on(ground), in: places[0])
      frame.grid.put(StyledText(entry.key, .key).on(ground), in: places[1])
      frame.grid.put(StyledText(entry.reason ?? entry.help, .dim).on(ground), in: places[2])
    }
  }
}
