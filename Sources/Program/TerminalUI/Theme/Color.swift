/// A colour as a theme file states it.
package enum Color: Sendable, Hashable {
  /// Whatever the terminal uses when it is told nothing.
  case standard
  /// A colour of the terminal's palette, 0 to 255. What 0 to 15 look like is the user's choice.
  case indexed(UInt8)
  /// A colour by its red, green and blue parts.
  case rgb(UInt8, UInt8, UInt8)

  /// Reads `default`, a name such as `brightblue`, a number from 0 to 255, or `#rrggbb`.
  package init?(_ text: String) {
    let word = text.lowercased()
    if word == "default" {
      self = .standard
    } else if let index = Self.names.firstIndex(of: word) {
      self = .indexed(UInt8(index))
    } else if let index = UInt8(word) {
      self = .indexed(index)
    } else if word.hasPrefix("#"), word.utf8.count == 7, word.dropFirst().allSatisfy(\.isHexDigit),
      let value = UInt32(word.dropFirst(), radix: 16)
    {
      self = .rgb(UInt8(value >> 16), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF))
    } else {
      return nil
    }
  }

  /// The names that a theme file may use, in the order of the terminal's palette.
  package static let names = [
    "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
    "brightblack", "brightred", "brightgreen", "brightyellow", "brightblue", "brightmagenta", "brightcyan",
    "brightwhite",
  ]

  /// The colour that terminals commonly show; nil for `standard`, of which nothing is known.
  var components: RGB? {
    switch self {
    case .standard: nil
    case .indexed(let index): RGB.palette[Int(index)]
    case .rgb(let red, let green, let blue): RGB(red, green, blue)
    }
  }
}

/// Red, green and blue, each from 0 to 255.
struct RGB: Sendable, Hashable {
  let red: UInt8
  let green: UInt8
  let blue: UInt8

  init(_ red: UInt8, _ green: UInt8, _ blue: UInt8) { (self.red, self.green, self.blue) = (red, green, blue) }

  /// xterm's palette: 16 named colours, a cube of 6 x 6 x 6, and 24 greys.
  static let palette: [RGB] = {
    let named = [
      RGB(0, 0, 0), RGB(205, 0, 0), RGB(0, 205, 0), RGB(205, 205, 0), RGB(0, 0, 238), RGB(205, 0, 205),
      RGB(0, 205, 205), RGB(229, 229, 229), RGB(127, 127, 127), RGB(255, 0, 0), RGB(0, 255, 0), RGB(255, 255, 0),
      RGB(92, 92, 255), RGB(255, 0, 255), RGB(0, 255, 255), RGB(255, 255, 255),
    ]
    let steps: [UInt8] = [0, 95, 135, 175, 215, 255]
    let cube = (0..<216).map { RGB(steps[$0 / 36], steps[$0 / 6 % 6], steps[$0 % 6]) }
    let greys = (0..<24).map { UInt8(8 + 10 * $0) }.map { RGB($0, $0, $0) }
    return named + cube + greys
  }()
}
