/// A value as far as it can be compared; records without the field come first.
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

/// The records of one type in the order of one field.
///
/// Writes only append; the next read sorts. Entries of overwritten and deleted records stay behind as chaff, which
/// readers recognise by looking the record up, until they outnumber the rest.
struct SortedIndex {
  struct Entry: Comparable {
    var key: SortKey
    var name: String

    static func < (left: Entry, right: Entry) -> Bool {
      left.key == right.key ? left.name < right.name : left.key < right.key
    }
  }

  private(set) var entries: [Entry] = []
  private var added: [Entry] = []
  private var chaff = 0

  init(_ entries: [Entry]) {
    self.entries = entries.sorted()
  }

  mutating func insert(_ entry: Entry) {
    added.append(entry)
  }

  /// Notes that an entry no longer describes its record.
  mutating func outdate() {
    chaff += 1
  }

  /// Makes `entries` sorted, free of duplicates, and mostly of chaff.
  mutating func settle(isCurrent: (Entry) -> Bool) {
    if added.count > 32 {
      let inOrder = added.sorted()
      let appends = entries.last.map { $0 < inOrder[0] } ?? true
      entries += inOrder
      if !appends { entries.sort() }
      removeDuplicates()
    } else {
      for entry in added {
        let place = firstIndex { !($0 < entry) }
        if place == entries.count || entries[place] != entry { entries.insert(entry, at: place) }
      }
    }
    added.removeAll(keepingCapacity: true)
    if chaff > 64, chaff > entries.count / 2 {
      entries = entries.filter(isCurrent)
      chaff = 0
    }
  }

  private mutating func removeDuplicates() {
    var last: Entry?
    entries.removeAll { entry in
      defer { last = entry }
      return entry == last
    }
  }

  /// The first place for which `isReached` holds; it must hold for all places after.
  func firstIndex(_ isReached: (Entry) -> Bool) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if isReached(entries[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
