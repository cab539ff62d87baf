import Foundation

/// The comparable form of a value. Records without the field come first. [E]
enum SortKey: Sendable, Hashable, Comparable {
  case null
  case int(Int64)
  case double(Double)
  case string(String)

  static func == (left: SortKey, right: SortKey) -> Bool { left.difference(from: right) == 0 }
  static func < (left: SortKey, right: SortKey) -> Bool { left.difference(from: right) < 0 }

  /// Returns a negative number if this key comes first, a positive number if it comes later, otherwise 0.
  ///
  /// Strings are compared byte by byte, because Swift's own comparison treats composed and decomposed letters as equal.
  /// [E]
  func difference(from other: SortKey) -> Int {
    switch (self, other) {
    case (.int(let left), .int(let right)): left < right ? -1 : left == right ? 0 : 1
    case (.double(let left), .double(let right)): left < right ? -1 : left == right ? 0 : 1
    case (.string(var left), .string(var right)):
      left.withUTF8 { left in
        right.withUTF8 { right in
          guard let one = left.baseAddress, let two = right.baseAddress else { return left.count - right.count }
          let difference = Int(memcmp(one, two, min(left.count, right.count)))
          return difference == 0 ? left.count - right.count : difference
        }
      }
    default: rank - other.rank
    }
  }

  private var rank: Int {
    switch self {
    case .null: 0
    case .int: 1
    case .double: 2
    case .string: 3
    }
  }
}

/// Identifies the index of one field over the records of one type.
struct IndexName: Hashable {
  var type: String
  var key: QueryField
}

/// The position of a record in an index.
struct IndexEntry: Sendable {
  var key: SortKey
  var name: String
}

/// A range of an index between two keys, inclusive.
struct KeyRange {
  var lower = SortKey.null
  var upper: SortKey?

  /// Whether all records in the range have the same key.
  var isPoint: Bool { upper == lower }

  /// The least key of a record that has the field.
  static let leastValue = SortKey.int(.min)
}
