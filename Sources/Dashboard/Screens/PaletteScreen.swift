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

  /// How far a text is from a pattern: 0 for the same text, more for one that begins with it, and so on to one that only
  /// has its letters in their order; nil if they are not all there.
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
    let matches = matches(world)
    switch key {
    case .escape: return [.pop]
    case .enter:
      // Without a match it stays open and says so.
      guard matches.indices.contains(cursor) else { return [] }
      return [.pop] + matches[cursor].steps
    case .down, .tab, .ctrl("n"): cursor = min(cursor + 1, max(0, matches.count - 1))
    case .up, .backTab, .ctrl("p"): cursor = max(0, cursor - 1)
    default: if input.handle(key) { cursor = 0 }
    }
    return []
  }

  /// Moves the cursor, or runs the entry at it.
  mutating func point(_ action: Mouse.Action, _ target: Target, _ world: World) -> [Step] {
    switch (action, target) {
    case (.wheelUp, _): cursor = max(0, cursor - App.wheelRows)
    case (.wheelDown, _): cursor = max(0, min(cursor + App.wheelRows, matches(world).count - 1))
    case (.press, .row(cursor, _)): return type(.enter, world) ?? []
    case (.press, .row(let row, _)): cursor = row
    case (.press, _): break
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
    let nameWidth = max(18, matches.map { cells($0.name, in: frame.grid.glyphs) }.max() ?? 0)
    if matches.isEmpty { frame.grid.put(StyledText("No command matches", .dim).on(.dialog), in: inside.row(0)) }
    for (y, entry) in matches.dropFirst(offset).prefix(inside.height).enumerated() {
      let row = inside.row(y)
      frame.note(.row(offset + y, nil), in: row)
      let isSelected = offset + y == cursor
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
