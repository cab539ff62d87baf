import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// Everything about one thing: lines of text, and rows of fields that can be selected. It is made from the world each
/// time that it is drawn, so it is always live.
protocol Inspector: Sendable {
  var world: World { get }
  /// Nil while it is being read.
  var items: [InspectorItem]? { get }
  /// The text to show if the store does not know the object.
  var missing: String { get }
}

/// A line of an inspector.
enum InspectorItem: Hashable, Sendable {
  /// A line that is wrapped.
  case text(StyledText)
  case heading(String)
  /// A field with its three sides.
  case sides(FieldTable.Row)
  /// The line above such fields.
  case sidesHeader
  case field(InspectorField)
}

/// A field of a record with its value.
struct InspectorField: Hashable, Sendable {
  var name: String
  /// Nil: it is cleared.
  var value: FieldValue?
  var type: String
  var isUnsent: Bool
  var format: Format

  /// The value as the screen shows it.
  var text: String? { value?.text(format) }
}

extension Inspector {
  /// Draws the items from a row on.
  ///
  /// - Parameters:
  ///   - selection: the selected item.
  ///   - isShort: whether the blank lines are left out.
  func draw(on grid: inout Grid, in area: Rect, selection: Int? = nil, offset: Int = 0, isShort: Bool = false) {
    guard var items else { return grid.put(StyledText(world.loading, .dim), in: area.row(0)) }
    if isShort { items.removeAll { $0 == .text("") } }
    guard !items.isEmpty else { return grid.put(StyledText(missing, .dim), in: area.row(0)) }
    let sides = items.compactMap { if case .sides(let row) = $0 { row } else { nil } }
    var y = -offset
    var side = 0
    for (index, item) in items.enumerated() {
      let height = Self.height(of: item, width: area.width, grid.glyphs)
      let top = y
      y += height
      if case .sides = item { side += 1 }
      guard top + height > 0, top < area.height else { continue }
      switch item {
      case .text(let text):
        for (line, part) in wrap(text.oneLine, to: area.width, grid.glyphs).enumerated() {
          grid.put(part, in: area.row(top + line))
        }
      case .heading(let text): grid.put(StyledText(text, .header), in: area.row(top))
      case .sidesHeader: FieldTable(sides).draw(on: &grid, in: area.row(top))
      case .sides:
        let selected = index == selection ? side - 1 : nil
        FieldTable(sides, selection: selected, isFocused: true).drawRow(side - 1, on: &grid, in: area.row(top))
      case .field(let field): draw(field, isSelected: index == selection, on: &grid, in: area.row(top))
      }
    }
  }

  private func draw(_ field: InspectorField, isSelected: Bool, on grid: inout Grid, in row: Rect) {
    guard !row.isEmpty else { return }
    if isSelected { grid.fill(row, Style(.selection)) }
    let places = row.columns([.flex(2), .flex(6), .fixed(min(14, row.width / 5))], gap: 1)
    let texts: [StyledText] = [
      StyledText("\(field.isUnsent ? "· " : "  ")\(field.name)", field.isUnsent ? .local : .text),
      field.text.map { StyledText($0) } ?? StyledText("cleared", .dim), StyledText(field.type, .dim),
    ]
    for (text, place) in zip(texts, places) { grid.put(isSelected ? text.on(.selection) : text, in: place) }
  }

  /// The rows that an item takes.
  static func height(of item: InspectorItem, width: Int, _ glyphs: GlyphSet) -> Int {
    if case .text(let text) = item { max(1, wrap(text.oneLine, to: width, glyphs).count) } else { 1 }
  }

  /// The rows above an item.
  func top(of index: Int, width: Int, _ glyphs: GlyphSet) -> Int {
    (items ?? []).prefix(index).reduce(0) { $0 + Self.height(of: $1, width: width, glyphs) }
  }
}

/// Everything about an operation.
struct OperationInspector: Inspector {
  let id: Int64
  let world: World

  init(_ id: Int64, _ world: World) { (self.id, self.world) = (id, world) }

  /// Nil while it is being read.
  var detail: OperationDetail?? { world.data.operation?[id] }

  var missing: String { "Operation \(id) is no longer known" }

  var items: [InspectorItem]? {
    guard let detail else { return nil }
    guard let detail else { return [] }
    let document = OperationFacts(detail, world.format, now: world.now)
    guard let title = document.title else { return [] }
    let facts = document.facts.map { InspectorItem.text($0.line) }
    var items = [InspectorItem.text(StyledText(title, .strong))] + facts.prefix(1)
    let advice = detail.operation.map(self.advice) ?? ""
    if !advice.isEmpty { items.append(.text(StyledText(advice, .info))) }
    if !detail.sides.isEmpty { items += [.text(""), .sidesHeader] }
    items += detail.sides.map { .sides(FieldTable.Row($0, world.format)) }
    items.append(.text(""))
    items += facts.dropFirst()
    if !detail.attempts.isEmpty { items += [.text(""), .heading("ATTEMPTS")] }
    for attempt in detail.attempts {
      items.append(.text(document.line(attempt)))
      if let reply = attempt.reply { items.append(.text(StyledText("   \(reply)", .dim))) }
    }
    return items
  }

  /// The keys that help; empty if none does, or nothing has to be done.
  private func advice(_ operation: QueuedOperation) -> String {
    guard !world.isReadOnly, let row else { return "" }
    func parts(_ ids: [(CommandID, String)]) -> String {
      let parts = ids.filter { row.obstacle(to: $0.0) == nil }.map { "\(world.keys.name(of: $0.0)) \($0.1)" }
      return parts.isEmpty ? "" : "\(parts.joined(separator: ", "))."
    }
    switch operation.state {
    case .failed: return parts([(.edit, "edits it"), (.retry, "retries it"), (.discard, "discards it")])
    case .conflict: return parts([(.conflicts, "resolves it")])
    case .waiting: return parts([(.retry, "retries it now")])
    case .paused: return parts([(.pauseThese, "resumes it")])
    case .pending, .inFlight: return ""
    }
  }

  /// The operation as a row of the queue, while it is queued.
  var row: QueueRow? {
    guard case .some(.some(let detail)) = detail, let operation = detail.operation else { return nil }
    var row = QueueRow(operation, serverTag: detail.server?.changeTag)
    row.recreatesZone = detail.recreatesZone
    return row
  }
}

extension FieldTable.Row {
  /// A field with its three values.
  init(_ field: Conflict.Field, _ format: Format) {
    self.init(
      FieldChanges.displayName(field.name),
      base: FieldTable.Value(field.base, format, isChanged: false),
      local: FieldTable.Value(field.local, format, isChanged: field.local != field.base),
      server: FieldTable.Value(field.server, format, isChanged: field.server != field.base)
    )
  }
}

extension FieldTable.Value {
  /// A side of a field as the screen shows it; nil: no value.
  init(_ value: FieldValue?, _ format: Format, isChanged: Bool) {
    self.init(value?.text(format) ?? "", isMissing: value == nil, isChanged: isChanged)
  }

  /// The text of the value, outside of a table; a dash if there is none.
  var orDash: String { isMissing ? "–" : text }
}

/// Everything about a record of the local copy.
struct RecordInspector: Inspector {
  let key: RecordKey
  let world: World

  init(_ key: RecordKey, _ world: World) { (self.key, self.world) = (key, world) }

  var missing: String { "The local copy has no record \(key.name) in zone \(key.zoneKey.title)" }

  /// Nil while it is being read.
  var detail: RecordDetail?? { world.data.record?[key] }

  var items: [InspectorItem]? {
    guard let detail else { return nil }
    guard let detail, detail.row != nil || detail.server != nil || detail.operation != nil else { return [] }
    let record = detail.row?.record ?? detail.server
    let type = record?.type ?? detail.operation?.type ?? ""
    var items: [InspectorItem] = [.text(StyledText("\(type) \(key.name) in zone \(key.zoneKey.title)", .strong))]
    if let operation = detail.operation {
      items.append(
        .text([
          .init("\(operation.state.mark) Unsent \(operation.kind.verb)", operation.state.role),
          .init(", operation \(operation.id): \(world.why(operation.cause))"),
        ])
      )
    }
    if let server = detail.server {
      let by = server.modifiedBy.map { " by \(world.user($0))" } ?? ""
      items.append(
        .text(
          StyledText(
            "On the server since \(world.time(server.createdAt)), changed \(world.time(server.modifiedAt))\(by)",
            .dim
          )
        )
      )
    } else {
      items.append(.text(StyledText("Not on the server yet", .dim)))
    }
    if let tag = detail.server?.changeTag { items.append(.text(StyledText("Change tag \(tag)", .dim))) }
    items.append(.text(""))
    let unsent = detail.operation?.changes.names ?? []
    if let operation = detail.operation, !unsent.isEmpty {
      items += [.heading("UNSENT CHANGES"), .sidesHeader]
      items += operation.sides(server: detail.server).map { .sides(FieldTable.Row($0, world.format)) }
      items += [.text(""), .heading("FIELDS")]
    }
    let fields = record?.fields ?? [:]
    items += Set(fields.keys).union(unsent).sorted().map { name in
      .field(
        InspectorField(
          name: FieldChanges.displayName(name),
          value: fields[name],
          type: name == FieldChanges.parent ? "PARENT" : fields[name]?.wireType ?? "",
          isUnsent: unsent.contains(name),
          format: world.format
        )
      )
    }
    return items
  }
}

extension StyledText {
  /// The text with line feeds shown as symbols: data must not look like lines of the screen.
  var oneLine: StyledText {
    StyledText(spans.map { Span(String($0.text.map { $0.isNewline ? "␊" : $0 }), style: $0.style) })
  }
}
