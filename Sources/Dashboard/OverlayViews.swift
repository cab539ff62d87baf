import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// All keys, made from the table of commands.
struct HelpView: Sendable {
  let model: DashboardModel
  let offset: Int

  func draw(on grid: inout Grid, in area: Rect) {
    DetailView(title: "Keys", lines: lines, offset: offset).draw(on: &grid, in: area)
  }

  var lines: [ViewState.Line] {
    var lines = DashboardCommand.table.map { ViewState.Line(name: $0.name, text: StyledText($0.help)) }
    for hint in model.demo {
      lines.append(ViewState.Line(name: String(hint.key), text: StyledText("Demo: \(hint.help)")))
    }
    lines.append(ViewState.Line(name: "", text: ""))
    for state in OperationState.allCases {
      lines.append(ViewState.Line(name: state.mark, text: StyledText(Words.state(state.rawValue), state.role)))
    }
    return lines
  }
}

/// Names and values over the whole screen, with long lines wrapped.
struct DetailView: Sendable {
  let title: String
  let lines: [ViewState.Line]
  let offset: Int

  func draw(on grid: inout Grid, in area: Rect) {
    grid.fill(area)
    let inside = area.height >= 3 ? Box.inside(area) : area
    let rows = Self.rows(lines, width: inside.width, grid.glyphs)
    let first = max(0, min(offset, rows.count - inside.height))
    let note = StyledText("\(min(first + inside.height, rows.count))/\(rows.count)", .dim)
    Box(title: StyledText(title), note: note, isFocused: true).draw(on: &grid, in: area)
    for (line, row) in rows.dropFirst(first).prefix(inside.height).enumerated() {
      let parts = inside.row(line).columns([.fixed(Self.nameWidth(lines, inside.width)), .flexible], gap: 1)
      grid.put(StyledText(row.name, .dim), in: parts[0])
      grid.put(row.text, in: parts[1])
    }
  }

  /// The lines wrapped to rows of this width.
  static func rows(_ lines: [ViewState.Line], width: Int, _ glyphs: GlyphSet) -> [ViewState.Line] {
    let room = max(1, width - nameWidth(lines, width) - 1)
    return lines.flatMap { line -> [ViewState.Line] in
      guard line.text.cells(in: glyphs) > room else { return [line] }
      // A long text mostly has one style; it is wrapped in its first style.
      let style = line.text.spans.first?.style ?? .text
      return wrap(line.text.plain, to: room, glyphs).enumerated().map { index, part in
        ViewState.Line(name: index == 0 ? line.name : "", text: StyledText([.init(part, style: style)]))
      }
    }
  }

  private static func nameWidth(_ lines: [ViewState.Line], _ width: Int) -> Int {
    min(max(8, width / 3), lines.map { cells($0.name) }.max() ?? 0)
  }
}

/// The conflict view: base, local and server side by side, and a choice for each field.
struct DeskView: Sendable {
  let model: DashboardModel
  let desk: ViewState.Desk

  func draw(on grid: inout Grid, in area: Rect) {
    grid.fill(area)
    let conflicts = desk.open(model.snapshot.conflicts.rows)
    guard let index = conflicts.firstIndex(where: { $0.id == desk.conflict }) else {
      Box(title: "Conflicts", isFocused: true).draw(on: &grid, in: area)
      let isLast = conflicts.isEmpty
      let text = isLast ? "Every conflict is resolved. Esc goes back" : "Resolved. n goes to the next conflict"
      grid.put(StyledText(text, .ok), in: Box.inside(area).row(0))
      return
    }
    let conflict = conflicts[index]
    let note = StyledText("\(index + 1) of \(conflicts.count)", .dim)
    Box(title: "Conflict \(conflict.id)  \(conflict.key.name)", note: note, isFocused: true).draw(on: &grid, in: area)
    let inside = area.height >= 4 ? Box.inside(area) : area
    let parts = inside.rows([.fixed(inside.height > 6 ? 2 : 0), .fixed(1), .flexible])
    grid.put(StyledText(what(conflict), .text), in: parts[0].row(0))
    DeskRow.drawHeader(on: &grid, in: parts[1])
    let rows = parts[2]
    let first = max(0, desk.field - rows.height + 1)
    let sides = desk.sides(conflict)
    for (line, field) in conflict.fields.dropFirst(first).prefix(rows.height).enumerated() {
      grid.draw(row(field, sides[field.name], isSelected: first + line == desk.field, conflict), in: rows.row(line))
    }
  }

  private func row(
    _ field: Conflict.Field,
    _ side: ConflictSide?,
    isSelected: Bool,
    _ conflict: Conflict
  ) -> DeskRow {
    DeskRow(
      field: field.name,
      base: text(field.base),
      local: conflict.kind == .delete ? "(deleted)" : text(field.local),
      server: conflict.isDeletedOnServer ? "(deleted)" : text(field.server),
      taken: side.flatMap(Self.side),
      isSelected: isSelected
    )
  }

  private static func side(_ side: ConflictSide) -> DeskRow.Side? {
    switch side {
    case .base: .base
    case .local: .local
    case .server: .server
    case .newest: nil
    }
  }

  private func text(_ value: FieldValue?) -> String { value?.text ?? "(none)" }

  private func what(_ conflict: Conflict) -> String {
    let edited = model.format.time(conflict.editedAt, now: model.now)
    let server = conflict.serverModifiedAt.map { model.format.time($0, now: model.now) }
    let theirs =
      conflict.isDeletedOnServer
      ? "deleted on the server" : "server \(server ?? "?") by \(conflict.serverModifiedBy ?? "?")"
    return "\(conflict.type)  local \(edited)  \(theirs)"
  }
}
