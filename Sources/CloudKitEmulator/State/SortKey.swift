/// A value as far as it can be compared; records without the field come first. [E]
enum SortKey: Sendable, Hashable, Comparable {
  case null
  case int(Int64)
  case double(Double)
  case string(String)

  static func == (left: SortKey, right: SortKey) -> Bool { !(left < right) && !(right < left) }

  /// Texts go byte by byte: Swift's own order would take composed and decomposed letters for the same. [E]
  static func < (left: SortKey, right: SortKey) -> Bool {
    switch (left, right) {
    case (.int(let left), .int(let right)): left < right
    case (.double(let left), .double(let right)): left < right
    case (.string(let left), .string(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
    default: left.rank < right.rank
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

/// Names the order of the records of one type by one field.
struct IndexName: Hashable {
  var type: String
  var key: FieldKey
}

/// Where an index has a record.
struct IndexEntry: Sendable, Comparable {
  var key: SortKey
  var name: String

  static func < (left: IndexEntry, right: IndexEntry) -> Bool {
    left.key < right.key || left.key == right.key && left.name < right.name
  }
}

/// The part of an index between two keys, both included.
struct KeyRange {
  var lower = SortKey.null
  var upper: SortKey?

  /// The least key of a record that has the field.
  static let leastValue = SortKey.int(.min)
}
