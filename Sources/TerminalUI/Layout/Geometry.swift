/// A width and a height in cells. Never negative.
public struct Size: Sendable, Hashable {
  /// The number of columns.
  public let width: Int
  /// The number of rows.
  public let height: Int

  /// Makes a size; negative numbers become 0.
  public init(width: Int, height: Int) {
    self.width = max(0, width)
    self.height = max(0, height)
  }

  /// No cells at all.
  public static let zero = Size(width: 0, height: 0)
}

/// A cell's place: column `x` from the left and row `y` from the top, both from 0.
public struct Position: Sendable, Hashable {
  /// The column, from 0 at the left.
  public var x: Int
  /// The row, from 0 at the top.
  public var y: Int

  /// Makes a position.
  public init(x: Int, y: Int) {
    self.x = x
    self.y = y
  }
}

/// A rectangle of cells. Its size is never negative, its origin may be.
public struct Rect: Sendable, Hashable {
  /// The leftmost column.
  public let x: Int
  /// The topmost row.
  public let y: Int
  /// The number of columns.
  public let width: Int
  /// The number of rows.
  public let height: Int

  /// Makes a rectangle; a negative width or height becomes 0.
  public init(x: Int, y: Int, width: Int, height: Int) {
    self.x = x
    self.y = y
    self.width = max(0, width)
    self.height = max(0, height)
  }

  /// Makes a rectangle of this size at the origin.
  public init(_ size: Size) {
    self.init(x: 0, y: 0, width: size.width, height: size.height)
  }

  /// The first column to the right of the rectangle.
  public var maxX: Int { x + width }
  /// The first row below the rectangle.
  public var maxY: Int { y + height }
  /// The rectangle's size.
  public var size: Size { Size(width: width, height: height) }
  /// Whether the rectangle holds no cell.
  public var isEmpty: Bool { width == 0 || height == 0 }

  /// Whether a cell lies in the rectangle.
  public func contains(_ position: Position) -> Bool {
    (x..<maxX).contains(position.x) && (y..<maxY).contains(position.y)
  }

  /// The cells that both rectangles share.
  public func intersection(_ other: Rect) -> Rect {
    let left = max(x, other.x)
    let top = max(y, other.y)
    return Rect(x: left, y: top, width: min(maxX, other.maxX) - left, height: min(maxY, other.maxY) - top)
  }
}
