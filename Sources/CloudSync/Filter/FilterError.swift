/// An error in a filter expression, with its position.
package struct FilterError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The problem and a suggestion, as one clause without a full stop.
  package let message: String
  /// The position in Unicode scalars from 1; one past the end if something is missing.
  package let column: Int
  package let expression: String

  /// The error in one line.
  package var description: String { "\(message) (column \(column))" }

  /// The error, the expression and a caret under the position, on three lines.
  package var rendering: String {
    let shown = expression.unicodeScalars.map(Self.visible)
    let place = min(max(column - 1, 0), shown.count)
    // A window around the position, so that the line with the caret does not wrap.
    let start = place > 60 ? place - 40 : 0
    let end = min(shown.count, start + 76)
    let before = (start > 0 ? "…" : "") + Self.text(shown[start..<place])
    let after = Self.text(shown[place..<end]) + (end < shown.count ? "…" : "")
    return "\(message)\n  \(before)\(after)\n  \(String(repeating: " ", count: before.count))^"
  }

  private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return String(text)
  }

  /// Replaces a scalar by one visible scalar, to keep positions right: an expression may come from an untrusted file.
  private static func visible(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    switch scalar.properties.generalCategory {
    case .control where scalar.value < 0x20: Unicode.Scalar(0x2400 + scalar.value) ?? "\u{FFFD}"
    case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
    default: scalar
    }
  }
}
