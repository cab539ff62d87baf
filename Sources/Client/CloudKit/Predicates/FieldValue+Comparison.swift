internal import Foundation

/// Comparisons of values: numbers numerically, strings and names byte by byte, references by their record names.
extension FieldValue {
  /// The string, or the record name of a reference; nil for other types.
  package var text: String? {
    switch self {
    case .string(let text): text
    case .reference(let reference): reference.recordName
    default: nil
    }
  }

  /// Whether the values are equal; nil if their types cannot be compared.
  func equals(_ other: FieldValue, _ options: PredicateComparison.Options) -> Bool? {
    switch (self, other) {
    case (.bytes(let left), .bytes(let right)): left == right
    case (.location(let left), .location(let right)):
      left.latitude == right.latitude && left.longitude == right.longitude
    case (.list(_, let left), .list(_, let right)):
      left.count == right.count ? zip(left, right).allHold { $0.equals($1, options) } : false
    default: order(other, options).map { $0 == 0 }
    }
  }

  /// Returns a negative number if this value sorts before the other, 0 if they are equal, a positive number otherwise;
  /// nil if the values have no common order.
  package func order(_ other: FieldValue, _ options: PredicateComparison.Options = []) -> Int? {
    switch (self, other) {
    case (.int64(let left), .int64(let right)), (.timestamp(let left), .timestamp(let right)):
      return left < right ? -1 : left > right ? 1 : 0
    case (.int64(let left), .double(let right)): return right.order(of: left)
    case (.double(let left), .int64(let right)): return -left.order(of: right)
    case (.double(let left), .double(let right)): return Self.order(left, right)
    default:
      guard let left = text, let right = other.text else { return nil }
      let (a, b) = (options.folded(left).utf8, options.folded(right).utf8)
      return a.lexicographicallyPrecedes(b) ? -1 : b.lexicographicallyPrecedes(a) ? 1 : 0
    }
  }

  private static func order(_ left: Double, _ right: Double) -> Int {
    left < right ? -1 : left > right ? 1 : 0
  }

  /// Whether a list contains the value (or all values of this list), or a string contains this string.
  func isIn(_ container: FieldValue, _ options: PredicateComparison.Options) -> Bool? {
    switch (self, container) {
    case (.list(_, let elements), .list): elements.allHold { $0.isIn(container, options) }
    case (_, .list(_, let elements)): elements.anyHolds { equals($0, options) }
    case (.string(let part), .string(let whole)): options.holds(whole, .contains, part)
    default: nil
    }
  }
}
