/// The order in which changes are delivered to the app: referenced records first.
struct DeliveryOrder {
  /// The ranks of record types; lower ranks come first unless references decide.
  private let ranks: [String: Int]

  init(types: [String]) {
    ranks = Dictionary(types.enumerated().map { ($1, $0) }) { first, _ in first }
  }

  /// An item to sort.
  struct Item {
    var key: RecordKey
    var type: String
    var references: Set<RecordKey>
  }

  /// Returns the indices of the items, referenced ones first. A reference cycle starts at the lowest type rank, then in
  /// the given order.
  func sorted(_ items: [Item]) -> [Int] {
    let positions = Dictionary(items.enumerated().map { ($1.key, $0) }) { first, _ in first }
    let start = items.indices.sorted { (rank(items[$0]), $0) < (rank(items[$1]), $1) }
    var order: [Int] = []
    var isEntered = Set<Int>()
    // An explicit stack, because a chain may be as long as the list.
    for first in start where !isEntered.contains(first) {
      isEntered.insert(first)
      var stack = [(item: first, left: targets(of: first, items, positions))]
      while let (item, left) = stack.last {
        guard let next = left.first else {
          order.append(item)
          stack.removeLast()
          continue
        }
        stack[stack.count - 1].left.removeFirst()
        guard isEntered.insert(next).inserted else { continue }
        stack.append((next, targets(of: next, items, positions)))
      }
    }
    return order
  }

  private func targets(of item: Int, _ items: [Item], _ positions: [RecordKey: Int]) -> ArraySlice<Int> {
    ArraySlice(
      items[item].references.compactMap { positions[$0] }.sorted { (rank(items[$0]), $0) < (rank(items[$1]), $1) }
    )
  }

  private func rank(_ item: Item) -> Int { ranks[item.type] ?? Int.max }
}
