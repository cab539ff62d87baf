import CloudService
import CloudSync
import TerminalUI

/// The rows that are marked.
enum Marks<ID: Hashable & Sendable>: Hashable, Sendable {
  /// These, each with the version that was shown.
  case some([ID: String])
  /// All that match but these, each with the version that was shown.
  case allBut([ID: String])

  func contains(_ id: ID) -> Bool {
    switch self {
    case .some(let marked): marked[id] != nil
    case .allBut(let others): others[id] == nil
    }
  }

  /// The number of marked rows of a list.
  func count(of total: Int) -> Int {
    switch self {
    case .some(let marked): marked.count
    case .allBut(let others): max(0, total - others.count)
    }
  }

  var isEmpty: Bool { self == .some([:]) }

  /// The rows that are left out, if all but these are marked.
  var exceptions: Set<ID> {
    if case .allBut(let others) = self { Set(others.keys) } else { [] }
  }

  mutating func toggle(_ id: ID, _ version: String) {
    switch self {
    case .some(var marked):
      marked[id] = marked[id] == nil ? version : nil
      self = .some(marked)
    case .allBut(var others):
      others[id] = others[id] == nil ? version : nil
      self = .allBut(others)
    }
  }
}

/// The position in a list, and the marks.
struct ListState<ID: Hashable & Sendable>: Sendable {
  /// The selected row, as an index of the whole list.
  private(set) var cursor = 0
  private(set) var offset = 0
  /// The selected row's identity: when rows are added or removed, the cursor stays with it.
  private(set) var selected: ID?
  var marks = Marks<ID>.some([:])
  /// The row at which a range began.
  private(set) var anchor: ID?

  /// The rows that were read, as far as the list needs to know them.
  struct ReadRows {
    var total: Int
    var offset: Int
    var ids: [ID]
    var versions: [String]
    /// Whether `total` counts all rows.
    var isCounted = true

    subscript(index: Int) -> (id: ID, version: String)? {
      ids.indices.contains(index - offset) ? (ids[index - offset], versions[index - offset]) : nil
    }
  }

  /// Moves to a row of the list, keeping it visible.
  mutating func move(to row: Int, _ rows: ReadRows, visible: Int) {
    place(row, rows, visible: visible)
    selected = rows[cursor]?.id
  }

  /// Moves as a command says.
  mutating func move(by id: CommandID, _ rows: ReadRows, visible: Int) {
    let row = Self.target(of: id, from: cursor, visible: visible, total: rows.total)
    if let row { move(to: row, rows, visible: visible) }
  }

  /// Selects a row. Returns false if it is selected already.
  mutating func select(_ row: Int, _ rows: ReadRows, visible: Int) -> Bool {
    guard row != cursor else { return false }
    move(to: row, rows, visible: visible)
    return true
  }

  private mutating func place(_ row: Int, _ rows: ReadRows, visible: Int) {
    cursor = max(0, min(row, rows.total - 1))
    offset = Table.offset(showing: cursor, from: offset, visible: visible, total: rows.total)
  }

  /// Follows other rows or another size: the cursor stays with its row, on the same line where that is possible.
  ///
  /// - Parameter isFocused: whether the keyboard acts on the list. If it does not, a cursor at the top stays at the
  ///   top.
  mutating func follow(_ rows: ReadRows, visible: Int, isFocused: Bool = true) {
    if let selected, isFocused || cursor > 0, let place = rows.ids.firstIndex(of: selected) {
      let moved = rows.offset + place - cursor
      cursor += moved
      offset = max(0, offset + moved)
    }
    place(cursor, rows, visible: visible)
    selected = rows[cursor]?.id ?? selected
    // A mark on a row that is gone would count for ever.
    if case .some(let marked) = marks, !marked.isEmpty, rows.isCounted, rows.ids.count == rows.total {
      let shown = Set(rows.ids)
      marks = .some(marked.filter { shown.contains($0.key) })
    }
  }

  /// Starts at the top without marks, for another filter.
  mutating func reset() {
    (cursor, offset, selected, anchor) = (0, 0, nil, nil)
    marks = .some([:])
  }

  /// The row to which a command moves; nil if it does not move.
  static func target(of id: CommandID, from row: Int, visible: Int, total: Int) -> Int? {
    switch id {
    case .down: row + 1
    case .up: row - 1
    case .pageDown: row + max(1, visible - 1)
    case .pageUp: row - max(1, visible - 1)
    case .halfDown: row + max(1, visible / 2)
    case .halfUp: row - max(1, visible / 2)
    case .top: 0
    case .bottom: total - 1
    default: nil
    }
  }

  /// The list as a table that the keyboard acts on.
  ///
  /// - Parameter rows: those from the first visible one on.
  func table(_ columns: [Table.Column], _ rows: [Table.Row], of total: Int, empty: String = "") -> Table {
    let (offset, cursor) = (offset, cursor)
    return Table(
      columns: columns,
      rows: rows,
      offset: offset,
      total: total,
      selection: cursor,
      isFocused: true,
      emptyText: empty
    )
  }

  // MARK: - Marks

  mutating func toggleMark(_ rows: ReadRows, visible: Int) {
    if let row = rows[cursor] { marks.toggle(row.id, row.version) }
    move(to: cursor + 1, rows, visible: visible)
  }

  /// The result of `markRange`.
  enum Range: Hashable, Sendable {
    case begun, marked
    /// Some of its rows have not been read.
    case unread
  }

  /// Begins a range, or marks from its beginning to the cursor.
  mutating func markRange(_ rows: ReadRows) -> Range {
    guard let start = anchor else {
      anchor = rows[cursor]?.id
      return .begun
    }
    guard let place = rows.ids.firstIndex(of: start), rows[cursor] != nil else { return .unread }
    anchor = nil
    let first = rows.offset + place
    for index in min(first, cursor)...max(first, cursor) {
      guard let row = rows[index], !marks.contains(row.id) else { continue }
      marks.toggle(row.id, row.version)
    }
    return .marked
  }

  mutating func endRange() { anchor = nil }

  mutating func toggleAll() { marks = marks == .allBut([:]) ? .some([:]) : .allBut([:]) }

  mutating func invertMarks() {
    marks =
      switch marks {
      case .some(let marked): .allBut(marked)
      case .allBut(let others): .some(others)
      }
  }

  /// The marks on rows that the list shows, for a table.
  func marked(_ rows: ReadRows) -> Set<Int> {
    guard !marks.isEmpty else { return [] }
    return Set(rows.ids.indices.filter { marks.contains(rows.ids[$0]) }.map { $0 + rows.offset })
  }
}

extension ListState.ReadRows {
  /// The rows of a list that is always read whole.
  init(_ ids: [ID]) { self.init(total: ids.count, offset: 0, ids: ids, versions: ids.map { _ in "" }) }
}
