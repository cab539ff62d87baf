extension Array {
  /// The elements in groups of at most `CKDatabase.largestBatch`, one for each request.
  package var requests: [[Element]] {
    let size = CKDatabase.largestBatch
    return stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }

  /// Returns the elements in batches of at most `count` elements, each with at most `limit` in total. An element that
  /// is larger is alone.
  package func batches(
    of count: Int = CKDatabase.largestBatch,
    upTo limit: Int,
    size: (Element) -> Int
  ) -> [[Element]] {
    var batches: [[Element]] = []
    var total = 0
    for element in self {
      let size = size(element)
      if let last = batches.last?.count, last < count, total + size <= limit {
        batches[batches.count - 1].append(element)
        total += size
      } else {
        batches.append([element])
        total = size
      }
    }
    return batches
  }
}
