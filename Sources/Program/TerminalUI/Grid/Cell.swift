/// One cell of the screen.
package struct Cell: Sendable, Hashable {
  /// What stands in the cell.
  package let character: Character
  package let style: Style
  /// The cells that the character takes: 1 or 2, or 0 for the right half of the wide character to its left.
  package let columns: UInt8

  init(_ character: Character, columns: Int = 1, style: Style) {
    (self.character, self.style, self.columns) = (character, style, UInt8(columns))
  }

  package static let blank = Cell(" ", style: .text)

  /// Whether the cell shows its ground only.
  package var isBlank: Bool { columns == 1 && character == " " }

  /// The cell with the first scalar of its character only.
  package var withoutMarks: Cell {
    character.unicodeScalars.first.map { Cell(Character($0), columns: Int(columns), style: style) } ?? self
  }

  static func rightHalf(_ style: Style) -> Cell {
    Cell(" ", columns: 0, style: style)
  }
}
