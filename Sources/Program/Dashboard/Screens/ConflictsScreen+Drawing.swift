import CloudService
import CloudSync
import Facts
import TerminalUI

extension ConflictsScreen {
  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let all = open(world)
    let isWide = area.width >= Breakpoint.listBesideConflict
    let showsList = (isWide || area.height >= Breakpoint.listAboveDetail) && !all.isEmpty
    // Beside the conflict, else above it with room for six.
    let lengths: [Length] = [.fixed(!showsList ? 0 : isWide ? 34 : 8), .flexible]
    let parts = isWide ? area.columns(lengths) : area.rows(lengths)
    if showsList { drawList(all, on: &frame, in: parts[0], world) }
    let area = parts[1]
    guard let conflict = conflict(world) else {
      Box(title: "Conflicts", isFocused: true).draw(on: &frame.grid, in: area)
      let next = world.keys.name(of: .nextConflict)
      let text: StyledText =
        world.data.conflicts == nil
        ? StyledText("loading…", .dim)
        : all.isEmpty
          ? StyledText("Every conflict is resolved. Esc goes back.", .ok)
          : StyledText(
            "This conflict is closed, or not among the oldest that are listed. \(next) goes to the next.",
            .dim
          )
      return frame.grid.put(text, in: Box.text(area).row(0))
    }
    let index = all.firstIndex { $0.id == conflict.id } ?? 0
    let title = StyledText("\(conflict.title) in zone \(conflict.key.zoneKey.title)")
    let note = StyledText("\(index + 1) of \(Format.number(remaining(all, world)))", .dim)
    Box(title: title, note: showsList ? "" : note, isFocused: true).draw(on: &frame.grid, in: area)
    draw(conflict, on: &frame, in: Box.text(area), world)
  }

  /// The number of conflicts that are not resolved yet, read or not.
  private func remaining(_ all: [Conflict], _ world: World) -> Int {
    max(all.count, (world.data.conflicts?.total ?? 0) - resolved.count)
  }

  private func drawList(_ all: [Conflict], on frame: inout Frame, in area: Rect, _ world: World) {
    let index = all.firstIndex { $0.id == conflictID } ?? 0
    let note = StyledText("\(index + 1) of \(Format.number(remaining(all, world)))", .dim)
    Box(title: "Conflicts", note: note).draw(on: &frame.grid, in: area)
    let inside = Box.inside(area)
    let offset = max(0, min(index - inside.height / 2, all.count - inside.height))
    let rows = all.dropFirst(offset).prefix(inside.height).map { conflict -> [StyledText] in
      [
        StyledText(isDecided(conflict) ? "✓" : " ", .ok), StyledText(conflict.title),
        StyledText(conflict.fields.map(\.name).joined(separator: ", "), .dim),
      ]
    }
    for (line, row) in rows.enumerated() {
      let place = inside.row(line)
      frame.addTarget(.row(offset + line, nil), in: place)
      let isShown = offset + line == index
      if isShown { frame.grid.fill(place, Style(.selectionUnfocused)) }
      for (text, cell) in zip(row, place.columns([.fixed(1), .flex(1), .flex(1)], gap: 1)) {
        frame.grid.put(isShown ? text.on(.selectionUnfocused) : text, in: cell)
      }
    }
  }

  private func draw(_ conflict: Conflict, on frame: inout Frame, in area: Rect, _ world: World) {
    let will = wrap(
      [.init("Will be saved:  ", .dim)] + willBeSaved(conflict, world.format),
      to: area.width,
      frame.grid.glyphs
    )
    let top = area.height > 8 ? 2 : 1
    let below = min(will.count + 1, area.height / 2)
    let parts = area.rows([
      .fixed(top), .fixed(max(2, min(conflict.fields.count + 1, area.height - top - below))), .fixed(below), .flexible,
    ])
    let edits = conflict.edits({ world.clock($0) }, user: world.user).map { [.init("\($0.key) ", .dim)] + $0.value }
    frame.grid.put(edits[0] + "   " + edits[1], in: parts[0].row(0))
    let sides = sides(conflict)
    let rows = conflict.fields.map { Self.row($0, sides[$0.name], conflict, world.format) }
    let first = max(0, field - max(1, parts[1].height - 1) + 1)
    FieldTable(rows, offset: first, selection: field, isFocused: true).draw(on: &frame.grid, in: parts[1])
    let visible = max(0, parts[1].height - 1)
    let offset = max(0, min(first, rows.count - visible))
    for (line, index) in rows.indices.dropFirst(offset).prefix(visible).enumerated() {
      frame.addTarget(.field(index), in: parts[1].row(line + 1))
    }
    for (line, text) in will.enumerated() { frame.grid.put(text, in: parts[2].row(line + 1)) }
    let whole = world.keys.name(of: .wholeValue)
    let hint = StyledText("Differences are highlighted; \(whole) shows the whole values.", .dim)
    for (line, text) in wrap(hint, to: area.width, frame.grid.glyphs).enumerated() {
      frame.grid.put(text, in: parts[3].row(line + 1))
    }
  }

  static func row(_ field: Conflict.Field, _ side: ConflictSide?, _ conflict: Conflict, _ format: Format)
    -> FieldTable.Row
  {
    let isDeletedHere = conflict.kind == .delete
    return FieldTable.Row(
      field.name,
      base: FieldTable.Value(field.base, format, isChanged: false),
      local: isDeletedHere ? .deleted : FieldTable.Value(field.local, format, isChanged: field.local != field.base),
      server: conflict.isDeletedOnServer
        ? .deleted : FieldTable.Value(field.server, format, isChanged: field.server != field.base),
      chosen: side.flatMap { FieldTable.Side(conflict.side($0, of: field)) }
    )
  }

  /// The fields that the choices made so far would save.
  private func willBeSaved(_ conflict: Conflict, _ format: Format) -> StyledText {
    if let outdated = outdated(conflict) { return StyledText(outdated, .warning) }
    let sides = sides(conflict)
    guard sides.count == conflict.fields.count else {
      return StyledText("choose a side for \(Words.count(conflict.fields.count - sides.count, "field"))", .dim)
    }
    let resolution = conflict.resolution(.server, sides)
    guard let left = resolution.left else { return StyledText("nothing; the server's record is kept") }
    if resolution.kind == .delete { return StyledText("the deletion") }
    let fields = left.names.sorted().map { "\($0) = \(left[$0]?.text(format) ?? "cleared")" }
    return StyledText(fields.joined(separator: ",  "))
  }
}

extension Conflict {
  /// The type and the name of its record.
  fileprivate var title: String { key.title(type: type) }
}

extension FieldTable.Side {
  init?(_ side: ConflictSide) {
    switch side {
    case .base: self = .base
    case .local: self = .local
    case .server: self = .server
    case .newest: return nil
    }
  }
}

extension FieldTable.Value {
  fileprivate static let deleted = FieldTable.Value("(deleted)", isChanged: true)
}
