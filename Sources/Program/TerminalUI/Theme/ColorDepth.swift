/// How many colours a terminal has.
package enum ColorDepth: Sendable, Hashable, CaseIterable {
  /// None, or the user asked for none by `NO_COLOR`.
  case monochrome
  /// The eight of the oldest colour terminals.
  case eight
  /// The eight and their bright likenesses.
  case sixteen
  case palette
  /// Any red, green and blue.
  case direct

  /// The depth of a terminal with this number of colours.
  package init(colors: Int) {
    switch colors {
    case ..<8: self = .monochrome
    case ..<16: self = .eight
    case ..<256: self = .sixteen
    case ..<65536: self = .palette
    default: self = .direct
    }
  }

  /// The number by which a terminal of this depth knows the colour, or the nearest that it has; -1 is its default.
  package func number(for color: Color) -> Int {
    guard self != .monochrome, let components = color.components else { return -1 }
    switch (self, color) {
    case (.palette, .indexed(let index)): return Int(index)
    case (.direct, .indexed(let index)) where index < 8: return Int(index)
    case (.sixteen, .indexed(let index)) where index < 16: return Int(index)
    case (.eight, .indexed(let index)) where index < 16: return Int(index % 8)
    case (.direct, _):
      let value = Int(components.red) << 16 | Int(components.green) << 8 | Int(components.blue)
      // Terminals with direct colour read the numbers 0 to 7 as the eight named ones.
      return max(8, value)
    // The first 16 look different on every desk, so a stated colour never becomes one of them if others are there.
    case (.palette, _): return components.nearest(in: 16..<256)
    case (.sixteen, _): return components.nearest(in: 0..<16)
    case (.eight, _): return components.nearest(in: 0..<8)
    case (.monochrome, _): return -1
    }
  }

  /// The colour behind a number, as far as it is known.
  func components(of number: Int) -> RGB? {
    guard number >= 0 else { return nil }
    if self == .direct, number >= 8 { return RGB(UInt8(number >> 16), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)) }
    return RGB.palette[number]
  }
}
