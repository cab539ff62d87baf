/// A width and a height in cells. Never negative.
package struct Size: Sendable, Hashable {
  package let width: Int
  package let height: Int

  /// Makes a size; negative numbers become 0.
  package init(width: Int, height: Int) { (self.width, self.height) = (max(0, width), max(0, height)) }

  package static let zero = Size(width: 0, height: 0)
}

/// A cell's place: column `x` from the left and row `y` from the top, both from 0.
package struct Position: Sendable, Hashable {
  package var x: Int
  package var y: Int

  package init(x: Int, y: Int) { (self.x, self.y) = (x, y) }
}

/// A rectangle of cells. Its size is never negative, its origin may be.
package struct Rect: Sendable, Hashable {
  package let x: Int
  package let y: Int
  package let width: Int
  package let height: Int

  /// Makes a rectangle; a negative width or height becomes 0.
  package init(x: Int, y: Int, width: Int, height: Int) {
    (self.x, self.y, self.width, self.height) = (x, y, max(0, width), max(0, height))
  }

  /// Makes a rectangle of this size at the origin.
  package init(_ size: Size) { self.init(x: 0, y: 0, width: size.width, height: size.height) }

  package var maxX: Int { x + width }
  package var maxY: Int { y + height }
  package var size: Size { Size(width: width, height: height) }
  package var isEmpty: Bool { width == 0 || height == 0 }

  package func contains(_ position: Position) -> Bool {
    (x..<maxX).contains(position.x) && (y..<maxY).contains(position.y)
  }

  package func intersection(_ other: Rect) -> Rect {
    let left = max(x, other.x)
    let top = max(y, other.y)
    return Rect(x: left, y: top, width: min(maxX, other.maxX) - left, height: min(maxY, other.maxY) - top)
  }
}
