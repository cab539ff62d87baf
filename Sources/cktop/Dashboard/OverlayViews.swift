import CloudKit
import CloudService
import CloudSync
import TerminalUI

/// All keys, made from the table that reads them.
struct HelpView: Sendable {
  let model: DashboardModel
  let offset: Int

  func draw(on grid: inout Grid, in area: Rect) {
    var lines = DashboardCommand.table.map { ViewState.Line(name: $0.name, text: StyledText($0.help)) }
    for hint in model.demo {
      lines.append(ViewState.Line(name: String(hint.key), text: StyledText("Demo: \(hint.help)")))
    }
    lines.append(ViewState.Line(name: "", text: ""))
    for state in OperationState.allCases {
      lines.append(ViewState.Line(name: state.mark, text: StyledText(state.rawValue, state.role)))
    }
    DetailView(title: "Keys", lines: lines, offset: offset).draw(on: &grid, in: area)
  }

  static func lineCount(_ model: DashboardModel) -> Int {
    DashboardCommand.table.count + model.demo.count + 1 + OperationState.allCases.count
  }
}

/// Names and values over the whole screen.
struct DetailView: Sendable {
  let title: String
  let lines: [ViewState.Line]
  let offset: Int

  func draw(on grid: inout Grid, in area: Rect) {
    grid.fill(area)
    Box(title: title, note: StyledText("\(min(offset + 1, lines.count))/\(lines.count)", .dim), isFocused: true)
      .draw(on: &grid, in: area)
    let inside = area.height >= 3 ? Box.inside(area) : area
    let pairs = lines.map { KeyValues.Pair($0.name, $0.text) }
    grid.draw(KeyValues(pairs, offset: offset), in: inside)
  }
}

/// The conflict desk: base, local and server side by side, and a choice for each field.
struct DeskView: Sendable {
  let model: DashboardModel
  let desk: ViewState.Desk

  func draw(on grid: inout Grid, in area: Rect) {
    grid.fill(area)
    let conflicts = model.snapshot.conflicts
    guard let index = conflicts.firstIndex(where: { $0.id == desk.conflict }) else {
      Box(title: "Conflicts", isFocused: true).draw(on: &grid, in: area)
      grid.put(StyledText("settled", .ok), in: Box.inside(area).row(0))
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
    for (line, field) in conflict.fields.dropFirst(first).prefix(rows.height).enumerated() {
      grid.draw(row(field, isSelected: first + line == desk.field, conflict), in: rows.row(line))
    }
  }

  private func row(_ field: Conflict.Field, isSelected: Bool, _ conflict: Conflict) -> DeskRow {
    DeskRow(
      field: field.name,
      base: text(field.base),
      local: conflict.kind == .delete ? "(deleted)" : text(field.local),
      server: conflict.isDeletedOnServer ? "(deleted)" : text(field.server),
      taken: desk.choices[field.name].flatMap(Self.side),
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

  private func text(_ value: FieldValue?) -> String { model.format.value(value, now: model.now) }

  private func what(_ conflict: Conflict) -> String {
    let edited = model.format.time(conflict.editedAt, now: model.now)
    let server = conflict.serverModifiedAt.map { model.format.time($0, now: model.now) }
    let theirs = conflict.isDeletedOnServer ? "deleted on the server" : "server \(server ?? "?") by \(conflict.serverModifiedBy ?? "?")"
    return "\(conflict.type)  local \(edited)  \(theirs)"
  }
}
