/// How much of a line one part of it takes.
package enum Length: Sendable, Hashable {
  /// Exactly this many cells, as long as there are that many.
  case fixed(Int)
  /// A share of what the fixed parts leave, weighed against the other shares.
  case flex(Int)

  package static let flexible = Length.flex(1)

  /// The number of cells, unless they are a share.
  var fixed: Int? {
    guard case .fixed(let cells) = self else { return nil }
    return cells
  }

  /// Deals `total` cells out to `lengths`, in order. The results never sum up to more than `total`.
  package static func deal(_ total: Int, to lengths: [Length]) -> [Int] {
    var left = max(0, total)
    var dealt = lengths.map { length -> Int in
      guard case .fixed(let wanted) = length else { return 0 }
      let taken = min(max(0, wanted), left)
      left -= taken
      return taken
    }
    var weights = lengths.reduce(0) { sum, length in
      guard case .flex(let weight) = length else { return sum }
      return sum + max(0, weight)
    }
    // Dealing the rest out share by share spreads the rounding and loses no cell.
    for (index, length) in lengths.enumerated() {
      guard case .flex(let weight) = length, weight > 0 else { continue }
      dealt[index] = left * weight / weights
      left -= dealt[index]
      weights -= weight
    }
    return dealt
  }
}

extension Rect {
  /// The rectangle without its outermost cells on every side.
  package func inset(by cells: Int = 1) -> Rect {
    inset(horizontally: cells, vertically: cells)
  }

  /// The rectangle without this many columns on both sides and this many rows above and below.
  package func inset(horizontally columns: Int, vertically rows: Int) -> Rect {
    Rect(x: x + columns, y: y + rows, width: width - 2 * columns, height: height - 2 * rows)
  }

  /// One row of the rectangle, counted from its top; empty when there is no such row.
  package func row(_ index: Int) -> Rect {
    Rect(x: x, y: y + index, width: width, height: (0..<height).contains(index) ? 1 : 0)
  }

  /// Cuts the rectangle into bands, from top to bottom.
  package func rows(_ lengths: [Length]) -> [Rect] {
    var top = y
    return Length.deal(height, to: lengths).map { rows in
      defer { top += rows }
      return Rect(x: x, y: top, width: width, height: rows)
    }
  }

  /// Cuts the rectangle into columns, from left to right, with `gap` free cells between them.
  package func columns(_ lengths: [Length], gap: Int = 0) -> [Rect] {
    var left = x
    let gaps = max(0, gap) * max(0, lengths.count - 1)
    return Length.deal(width - gaps, to: lengths).map { columns in
      defer { left += columns + max(0, gap) }
      return Rect(x: left, y: y, width: columns, height: height).intersection(self)
    }
  }

  /// A rectangle of this size in the middle of this one, made smaller where it does not fit.
  package func centred(_ size: Size) -> Rect {
    let columns = min(size.width, width)
    let rows = min(size.height, height)
    return Rect(x: x + (width - columns) / 2, y: y + (height - rows) / 2, width: columns, height: rows)
  }
}
