/// The parts of a list side by side, each with the number of its rows: `▸all 1,204  pending 1,190  failed 3`.
///
/// If there is not enough room, empty parts are left out first, then the rightmost. The selected one always stays. If
/// even the first ones have no room, all get their short labels: `▸all  !3  ?1`.
package struct Tabs: Sendable, Hashable {
  package struct Item: Sendable, Hashable {
    package var label: String
    /// A mark in place of the name where there is little room; nil: the name without the number.
    package var short: Character?
    /// The number of its rows in words; nil while it is not known.
    package var count: String?
    package var isEmpty: Bool
    /// How it looks while it has rows.
    package var role: StyleRole
    package var isSelected: Bool

    package init(
      _ label: String,
      short: Character? = nil,
      count: String?,
      isEmpty: Bool = false,
      role: StyleRole = .text,
      isSelected: Bool = false
    ) {
      (self.label, self.short, self.count, self.isEmpty) = (label, short, count, isEmpty)
      (self.role, self.isSelected) = (role, isSelected)
    }
  }

  package var items: [Item]
  /// The number of first parts for which the labels get short before one is left out.
  package var keeping: Int

  /// Makes tabs.
  package init(_ items: [Item], keeping: Int = 0) { (self.items, self.keeping) = (items, keeping) }

  /// The line, for a place of this width, such as a frame's note.
  package func text(width: Int, _ glyphs: GlyphSet = .unicode) -> StyledText {
    let texts = parts(width, glyphs).map(\.1)
    return texts.reduce(StyledText([])) { $0.spans.isEmpty ? $1 : $0 + " " + $1 }.clipped(to: width, glyphs)
  }

  /// The cells of the parts that the line shows, as positions in it.
  package func places(width: Int, _ glyphs: GlyphSet = .unicode) -> [(item: Int, cells: Range<Int>)] {
    var x = 0
    return parts(width, glyphs).map { item, text in
      let start = x
      x += text.cells(in: glyphs) + 1
      return (item, start..<x - 1)
    }
  }

  /// The parts that fit, each with its text.
  private func parts(_ width: Int, _ glyphs: GlyphSet) -> [(Int, StyledText)] {
    let whole = fitting(width, glyphs) { text($0, $0.label, $0.count) }
    let first = items.prefix(keeping).filter { !$0.isEmpty || $0.isSelected }
    guard whole.count < first.count else { return whole }
    return fitting(width, glyphs) { text($0, $0.short.map(String.init) ?? $0.label, $0.short == nil ? nil : $0.count) }
  }

  private func fitting(_ width: Int, _ glyphs: GlyphSet, _ text: (Item) -> StyledText) -> [(Int, StyledText)] {
    var parts = items.indices.map { (item: $0, text: text(items[$0])) }
    func isTooWide() -> Bool { parts.reduce(-1) { $0 + $1.text.cells(in: glyphs) + 1 } > width }
    if isTooWide() { parts.removeAll { items[$0.item].isEmpty && !items[$0.item].isSelected } }
    while isTooWide(), let last = parts.lastIndex(where: { !items[$0.item].isSelected }) { parts.remove(at: last) }
    return parts
  }

  private func text(_ item: Item, _ label: String, _ count: String?) -> StyledText {
    let text = label + (count.map { (label.count == 1 ? "" : " ") + $0 } ?? "")
    // The mark takes the place of a blank, so that nothing moves when another one is selected.
    guard item.isSelected else { return StyledText(" " + text, item.isEmpty ? .dim : item.role) }
    return [.init("▸", .titleFocused), .init(text, item.role, .bold)]
  }
}
