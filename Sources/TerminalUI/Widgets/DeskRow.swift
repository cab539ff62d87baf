/// One field of a conflict: what both sides started from, what this machine has, what the server has.
public struct DeskRow: Widget {
  /// The side that is taken.
  public enum Side: Sendable, Hashable, CaseIterable {
    /// What both sides started from.
    case base
    /// What this machine has.
    case local
    /// What the server has.
    case server
  }

  /// The field's name.
  public var field: String
  /// What both sides started from.
  public var base: String
  /// What this machine has.
  public var local: String
  /// What the server has.
  public var server: String
  /// The side that is taken, if that is decided.
  public var taken: Side?
  /// Whether the row is the chosen one.
  public var isSelected: Bool

  /// Makes a row.
  public init(
    field: String,
    base: String,
    local: String,
    server: String,
    taken: Side? = nil,
    isSelected: Bool = false
  ) {
    self.field = field
    self.base = base
    self.local = local
    self.server = server
    self.taken = taken
    self.isSelected = isSelected
  }

  /// How a row's width is dealt out: the field's name, then base, local and server.
  public static func columns(in area: Rect) -> [Rect] {
    area.columns([.flex(2), .flex(3), .flex(3), .flex(3)], gap: 1)
  }

  /// The line above the rows that names the columns.
  public static func drawHeader(on grid: inout Grid, in area: Rect) {
    let row = area.row(0)
    grid.fill(row, Style(.header))
    for (title, place) in zip(["FIELD", "BASE", "LOCAL", "SERVER"], columns(in: row)) {
      grid.put(StyledText(title, .header), in: place)
    }
  }

  /// Draws the row in the first row of `area`. A side that changed bears a mark besides its colour.
  public func draw(on grid: inout Grid, in area: Rect) {
    let row = area.row(0)
    if isSelected { grid.fill(row, Style(.selection)) }
    let places = Self.columns(in: row)
    let isSplit = local != base && server != base && local != server
    put(StyledText((isSplit ? "≠ " : "  ") + field, isSplit ? .conflict : .text), on: &grid, places[0])
    for (side, place) in zip(Side.allCases, places.dropFirst()) {
      let mark = side == taken ? "✓" : changed(side) ? "•" : " "
      let attributes: Attributes = side == taken ? .bold : []
      put(StyledText("\(mark) \(value(side))", changed(side) ? side.role : .dim, attributes), on: &grid, place)
    }
  }

  private func put(_ text: StyledText, on grid: inout Grid, _ place: Rect) {
    grid.put(isSelected ? text.recast(.selection) : text, in: place)
  }

  private func changed(_ side: Side) -> Bool {
    side != .base && value(side) != base
  }

  private func value(_ side: Side) -> String {
    switch side {
    case .base: base
    case .local: local
    case .server: server
    }
  }
}

extension DeskRow.Side {
  fileprivate var role: StyleRole {
    switch self {
    case .base: .base
    case .local: .local
    case .server: .server
    }
  }
}
