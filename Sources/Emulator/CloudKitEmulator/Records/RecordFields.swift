import JSONText

/// The field values of a record, sorted by field name. Records have few fields, so a binary search is fast enough, and
/// the order gives equal contents equal bytes.
struct RecordFields: Sendable, Sequence {
  struct Member: Sendable {
    var name: String
    var value: EmulatorValue
    /// The JSON from which the value was read; `nil` for a value of a request.
    var json: JSON?
  }

  private(set) var members: [Member] = []

  init() {}

  /// Takes members that are already sorted.
  init(sorted members: [Member]) {
    self.members = members
  }

  subscript(name: String) -> EmulatorValue? {
    get {
      let place = place(of: name)
      return holds(name, at: place) ? members[place].value : nil
    }
    set {
      let place = place(of: name)
      switch (newValue, holds(name, at: place)) {
      case (let value?, true): members[place] = Member(name: name, value: value)
      case (let value?, false): members.insert(Member(name: name, value: value), at: place)
      case (nil, true): members.remove(at: place)
      case (nil, false): break
      }
    }
  }

  mutating func reserveCapacity(_ count: Int) { members.reserveCapacity(count) }

  func makeIterator() -> IndexingIterator<[Member]> { members.makeIterator() }

  private func holds(_ name: String, at place: Int) -> Bool { place < members.count && members[place].name == name }

  private func place(of name: String) -> Int {
    // Requests often list fields in order.
    guard let last = members.last, !(last.name < name) else { return members.count }
    var (low, high) = (0, members.count)
    while low < high {
      let middle = (low + high) / 2
      if members[middle].name < name { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
