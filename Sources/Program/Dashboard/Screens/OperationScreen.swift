import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The position in an inspector that fills the screen.
struct InspectorState: Hashable, Sendable {
  private(set) var cursor = 0
  private(set) var offset = 0

  /// Moves over the items; one that is longer than the screen is scrolled through row by row.
  mutating func move(_ id: CommandID, _ inspector: some Inspector, _ area: Rect, _ glyphs: GlyphSet) {
    guard let items = inspector.items,
      let target = ListState<Int>.target(of: id, from: cursor, visible: area.height, total: items.count)
    else { return }
    if !items.isEmpty, area.height > 0 {
      let top = inspector.top(of: cursor, width: area.width, glyphs)
      let height = type(of: inspector).height(of: items[cursor], width: area.width, glyphs)
      let step = [.down, .up].contains(id) ? 1 : max(1, area.height - 1)
      if target > cursor, id != .bottom, top + height > offset + area.height {
        offset = min(offset + step, top + height - area.height)
        return
      }
      if target < cursor, id != .top, top < offset {
        offset = max(offset - step, top)
        return
      }
    }
    cursor = max(0, min(target, items.count - 1))
    follow(inspector, area, glyphs, isEntered: true)
  }

  /// Keeps the cursor's item visible. Of one that is longer than the screen any part may be shown.
  ///
  /// - Parameter isEntered: whether the cursor has just come to the item, so that its beginning is shown.
  mutating func follow(_ inspector: some Inspector, _ area: Rect, _ glyphs: GlyphSet, isEntered: Bool = false) {
    guard let items = inspector.items, !items.isEmpty else { return }
    cursor = max(0, min(cursor, items.count - 1))
    let top = inspector.top(of: cursor, width: area.width, glyphs)
    let height = type(of: inspector).height(of: items[cursor], width: area.width, glyphs)
    if height > area.height, !isEntered {
      offset = max(top, min(offset, top + height - area.height))
    } else {
      offset = max(0, min(max(offset, top + min(height, area.height) - area.height), top))
    }
  }
}

/// One thing in full.
protocol InspectorScreen: Screen {
  associatedtype Shown: Inspector
  var state: InspectorState { get set }
  func inspector(_ world: World) -> Shown
}

extension InspectorScreen {
  mutating func follow(_ world: World) { state.follow(inspector(world), Box.text(world.body), world.glyphs) }

  mutating func move(_ id: CommandID, _ world: World) -> [Step] {
    state.move(id, inspector(world), Box.text(world.body), world.glyphs)
    return []
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    frame.grid.fill(area)
    Box(title: StyledText(title ?? ""), isFocused: true).draw(on: &frame.grid, in: area)
    inspector(world).draw(on: &frame.grid, in: Box.text(area), selection: state.cursor, offset: state.offset)
  }
}

/// One operation in full.
struct OperationScreen: InspectorScreen {
  let id: Int64
  var state = InspectorState()

  init(_ id: Int64) { self.id = id }

  var title: String? { "Operation \(id)" }
  var scopes: KeyScope { [.everywhere, .moving, .operation, .syncing, .opening, .copying, .fields, .closing] }

  func inspector(_ world: World) -> OperationInspector { OperationInspector(id, world) }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.operation = id
    return scope
  }

  func subject(_ world: World) -> Subject {
    let row = inspector(world).row
    return Subject(
      operations: row.map(Operations.init),
      change: row,
      open: row.map { row in
        row.key.name.isEmpty
          ? .none("This operation is about a zone") : .screen(RecordScreen(row.key), label: "record")
      } ?? .none(Command.isGone),
      copy: Offer([.effect(.copyTicket(id))]),
      whole: { inspector(world).whole(state.cursor) }
    )
  }
}

/// One record in full.
struct RecordScreen: InspectorScreen {
  let key: RecordKey
  var state = InspectorState()

  init(_ key: RecordKey) { self.key = key }

  var title: String? { key.name }
  var scopes: KeyScope { [.everywhere, .moving, .syncing, .opening, .copying, .fields, .closing] }

  func inspector(_ world: World) -> RecordInspector { RecordInspector(key, world) }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.record = key
    return scope
  }

  func subject(_ world: World) -> Subject {
    let inspector = inspector(world)
    return Subject(
      open: opening(inspector),
      copy: Offer(inspector.items.map { [.effect(.copy($0.plain))] } ?? []),
      whole: { inspector.whole(state.cursor) }
    )
  }

  /// Opens the record that the selected field refers to, else the record's operation.
  private func opening(_ inspector: RecordInspector) -> Offer {
    if let items = inspector.items, items.indices.contains(state.cursor), case .field(let field) = items[state.cursor],
      case .reference(let reference)? = field.value
    {
      let zone = reference.zoneID.map { ZoneKey(zone: $0.zoneName, owner: $0.ownerRecordName ?? "") } ?? key.zoneKey
      return .screen(RecordScreen(RecordKey(zone, reference.recordName)))
    }
    guard case .some(.some(let detail)) = inspector.detail, let operation = detail.operation else {
      return .none("No reference is selected, and no change of this record is queued")
    }
    return .screen(OperationScreen(operation.id))
  }
}

extension Inspector {
  /// The screen with the whole values of a field or, where the item is no field, of all fields; nil if there are none.
  func whole(_ index: Int) -> ValueScreen? {
    guard let items else { return nil }
    if items.indices.contains(index), let field = items[index].whole { return field }
    let fields = items.compactMap(\.whole)
    guard !fields.isEmpty else { return nil }
    return ValueScreen(
      "All fields",
      fields.flatMap { field in
        field.parts.map { ($0.heading.isEmpty ? field.heading : "\(field.heading), \($0.heading)", $0.text, $0.role) }
      }
    )
  }
}

extension InspectorItem {
  /// The screen with the whole values of the field; nil if the item is no field.
  fileprivate var whole: ValueScreen? {
    switch self {
    case .sides(let row): row.whole
    case .field(let field): ValueScreen(field.name, [(field.type, field.text ?? "cleared", .text)])
    case .text, .heading, .sidesHeader: nil
    }
  }
}

extension FieldTable.Row {
  /// The line above rows that are copied.
  static let header = "FIELD\tBASE\tLOCAL\tSERVER"

  /// The row as a line to be copied.
  var line: String { [name, base.orDash, local.orDash, server.orDash].joined(separator: "\t") }

  /// The screen with the three values in full.
  var whole: ValueScreen {
    ValueScreen(
      name,
      [("Base", base.orDash, .base), ("Local", local.orDash, .local), ("Server", server.orDash, .server)]
    )
  }
}

extension [InspectorItem] {
  /// The items as text, to be copied.
  var plain: String {
    map { item in
      switch item {
      case .text(let text): text.plain
      case .heading(let text): text
      case .sidesHeader: FieldTable.Row.header
      case .sides(let row): row.line
      case .field(let field): [field.name, field.text ?? "", field.type].joined(separator: "\t")
      }
    }.joined(separator: "\n")
  }
}
