/// One cell of the screen.
public struct Cell: Sendable, Hashable {
  /// What stands in the cell.
  public let character: Character
  /// How it looks.
  public let style: Style
  /// The cells that the character takes: 1 or 2, or 0 for the right half of the wide character to its left.
  public let columns: UInt8

  init(_ character: Character, columns: Int = 1, style: Style) {
    self.character = character
    self.style = style
    self.columns = UInt8(columns)
  }

  /// An empty cell.
  public static let blank = Cell(" ", style: .text)

  /// Whether the cell shows its ground only.
  public var isBlank: Bool { columns == 1 && character == " " }

  /// The cell with the first scalar of its character only.
  public var withoutMarks: Cell {
    character.unicodeScalars.first.map { Cell(Character($0), columns: Int(columns), style: style) } ?? self
  }

  static func rightHalf(_ style: Style) -> Cell {
    Cell(" ", columns: 0, style: style)
  }
}
