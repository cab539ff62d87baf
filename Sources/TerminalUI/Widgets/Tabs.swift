/// The parts of a list side by side, each with the number of its rows: `▸all 1,204  pending 1,190  failed 3`.
///
/// Where they do not fit, the empty ones are left out first, then the rightmost. The selected one always stays.
public struct Tabs: Widget {
  /// One part of the list.
  public struct Item: Sendable, Hashable {
    /// The name of the part.
    public var label: String
    /// The number of its rows; nil while it is not known.
    public var count: Int?
    /// How it looks while it has rows.
    public var role: StyleRole
    /// Whether its rows are the ones that are shown.
    public var isSelected: Bool

    /// Makes a part.
    public init(_ label: String, count: Int?, role: StyleRole = .text, isSelected: Bool = false) {
      self.label = label
      self.count = count
      self.role = role
      self.isSelected = isSelected
    }
  }

  /// The parts, from left to right.
  public var items: [Item]

  /// Makes tabs.
  public init(_ items: [Item]) {
    self.items = items
  }

  /// The line, for a place of this width, such as a frame's note.
  public func text(width: Int, _ glyphs: GlyphSet = .unicode) -> StyledText {
    let texts = shown(width, glyphs).map { text(items[$0]) }
    return texts.reduce(StyledText([])) { $0.spans.isEmpty ? $1 : $0 + " " + $1 }.clipped(to: width, glyphs)
  }

  /// The cells of the parts that the line shows, as positions in it.
  public func places(width: Int, _ glyphs: GlyphSet = .unicode) -> [(item: Int, cells: Range<Int>)] {
    var x = 0
    return shown(width, glyphs).map { index in
      let start = x
      x += text(items[index]).cells(in: glyphs) + 1
      return (index, start..<x - 1)
    }
  }

  /// Draws the line in the first row.
  public func draw(on grid: inout Grid, in area: Rect) {
    grid.put(text(width: area.width, grid.glyphs), in: area.row(0))
  }

  private func shown(_ width: Int, _ glyphs: GlyphSet) -> [Int] {
    var shown = Array(items.indices)
    func isTooWide() -> Bool { shown.reduce(-1) { $0 + text(items[$1]).cells(in: glyphs) + 1 } > width }
    if isTooWide() { shown.removeAll { items[$0].count == 0 && !items[$0].isSelected } }
    while isTooWide(), let last = shown.lastIndex(where: { !items[$0].isSelected }) { shown.remove(at: last) }
    return shown
  }

  private func text(_ item: Item) -> StyledText {
    let text = item.label + (item.count.map { " " + grouped($0) } ?? "")
    // The mark takes the place of a blank, so that nothing moves when another one is selected.
    guard item.isSelected else { return StyledText(" " + text, item.count == 0 ? .dim : item.role) }
    return [.init("▸", .titleFocused), .init(text, item.role, .bold)]
  }

  /// The number with commas between its thousands.
  private func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    let groups = digits.enumerated().map { index, digit in
      index > 0 && (digits.count - index).isMultiple(of: 3) ? ",\(digit)" : "\(digit)"
    }
    return (number < 0 ? "-" : "") + groups.joined()
  }
}
