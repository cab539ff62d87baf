/// The order in which an app can take changes: what is referred to before what refers to it.
struct DeliveryOrder {
  /// Types of which the earlier come first, where references do not decide.
  private let ranks: [String: Int]

  init(types: [String]) {
    ranks = Dictionary(types.enumerated().map { ($1, $0) }) { first, _ in first }
  }

  /// One of the things to be ordered.
  struct Item {
    var key: RecordKey
    var type: String
    var references: Set<RecordKey>
  }

  /// Positions of the items, referenced ones first; a ring is entered where the declared types and then the given order say.
  func sorted(_ items: [Item]) -> [Int] {
    let positions = Dictionary(items.enumerated().map { ($1.key, $0) }) { first, _ in first }
    let start = items.indices.sorted { (rank(items[$0]), $0) < (rank(items[$1]), $1) }
    var order: [Int] = []
    var isEntered = Set<Int>()
    // A stack of its own: a chain may be as long as the list.
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
