import Foundation

/// Finds one page of matching records of one type in one zone, reading as few records as possible.
struct QueryPlan {
  let type: String
  let filters: [QueryFilter]
  let order: QueryOrder
  let after: QueryOrder.Position?
  let limit: Int
  /// The user whose records alone are visible; `nil` for all users.
  let creator: String?
  /// The newest creation time that is indexed; later records are not found. [L3]
  let newestVisible: Int64

  struct Found {
    var record: StoredRecord
    var position: QueryOrder.Position
    var view: ZoneView
  }

  /// A range of an index that contains all records that match a filter.
  private struct Candidates {
    var index: IndexName
    var range: KeyRange
    /// The number of entries, counted up to `countLimit`.
    var count: Int
  }

  /// The limit for counting entries; counting further costs more than it saves.
  private static let countLimit = 10_000

  /// Returns up to `limit + 1` records after the marker, in order. The extra record shows that there is another page.
  func page(in view: ZoneView) -> [Found] {
    let records = view.zone.records
    let best = filters.compactMap { filter in
      KeyRange(filter).map { range in
        let index = IndexName(type: type, key: filter.key)
        return Candidates(
          index: index,
          range: range,
          count: records.count(range, in: index, limit: Self.countLimit)
        )
      }
    }
    .min { $0.count < $1.count }
    // Records with equal keys are sorted by name, which is the order of a query without sort descriptors.
    if let best, best.range.isPoint, order.descriptors.isEmpty { return walk(view, best.index, best.range) }
    guard let key = order.indexKey else {
      let index = best?.index ?? IndexName(type: type, key: QueryField.system(.recordName))
      return gather(view, index, best?.range ?? KeyRange())
    }
    let index = IndexName(type: type, key: key)
    // Walking the index of the order reads each record once over all pages. Gathering by the best filter reads its
    // records once per page, which is cheaper if there are few.
    if let best, best.index != index, best.count < Self.countLimit {
      let price = best.count * max(1, best.count / limit)
      if price < records.count(KeyRange(), in: index, limit: price + 1) { return gather(view, best.index, best.range) }
    }
    return walk(view, index, best.flatMap { $0.index == index ? $0.range : nil } ?? KeyRange())
  }

  private func gather(_ view: ZoneView, _ index: IndexName, _ range: KeyRange) -> [Found] {
    var found: [Found] = []
    let all = IndexWalk(records: view.zone.records, index: index, range: range, ascending: true, size: 1024)
    for record in all {
      if let match = match(record, view) { found.append(match) }
      if found.count > 8 * (limit + 1) { cut(&found) }
    }
    cut(&found)
    return found
  }

  /// Keeps only the first `limit + 1` records.
  private func cut(_ found: inout [Found]) {
    found.sort { order.precedes($0.position, $1.position) }
    found.removeLast(max(0, found.count - limit - 1))
  }

  private func walk(_ view: ZoneView, _ index: IndexName, _ range: KeyRange) -> [Found] {
    // The marker's own entry is included, because the record may be in a later zone.
    let mark = after.map { after in
      IndexEntry(key: after.keys.first ?? (range.isPoint ? range.lower : .string(after.name)), name: after.name)
    }
    var found: [Found] = []
    // One fetch is enough if only the range filters records. The extra entry replaces the marker's own record.
    let rest = IndexWalk(
      records: view.zone.records,
      index: index,
      range: range,
      ascending: order.isAscending,
      from: mark,
      size: limit + 2
    )
    for record in rest {
      if let match = match(record, view) { found.append(match) }
      if found.count > limit { break }
    }
    return found
  }

  private func match(_ record: StoredRecord, _ view: ZoneView) -> Found? {
    guard record.created.milliseconds <= newestVisible,
      creator == nil || record.created.userRecordName == creator, filters.allSatisfy({ $0.matches(record) }),
      view.access?.sees(record.name) ?? true
    else { return nil }
    let position = order.position(of: record, in: view.path)
    if let after, !order.precedes(after, position) { return nil }
    return Found(record: record, position: position, view: view)
  }
}

/// Iterates over the records in a range of an index, fetching a page at a time.
private struct IndexWalk: Sequence, IteratorProtocol {
  let records: ZoneRecords
  let index: IndexName
  let range: KeyRange
  let ascending: Bool
  var from: IndexEntry?
  /// The number of records that are fetched at a time.
  var size: Int
  var page: ArraySlice<StoredRecord> = []
  var isAtEnd = false

  mutating func next() -> StoredRecord? {
    if page.isEmpty, !isAtEnd { fetch() }
    return page.popFirst()
  }

  private mutating func fetch() {
    // The extra record is the start of the next page.
    let found = records.page(range, of: index, from: from, ascending: ascending, limit: size + 1)
    isAtEnd = found.count <= size
    page = found.prefix(size)
    if let first = found.dropFirst(size).first { from = IndexEntry(key: first.sortKey(index.key), name: first.name) }
    size = Swift.min(1024, size * 4)
  }
}

extension KeyRange {
  /// The keys in an index that can match a filter; `nil` if an index does not help. Each record must still be checked.
  init?(_ filter: QueryFilter) {
    let key = filter.operand.sortKey
    // Strings that differ only in case are not adjacent in an index.
    guard key != .null, !filter.ignoresCase, !filter.isNegated else { return nil }
    switch filter.comparator {
    case .equals: self.init(lower: key, upper: key)
    case .lessThan, .lessThanOrEquals: self.init(lower: Self.leastValue, upper: key)
    case .greaterThan, .greaterThanOrEquals: self.init(lower: key)
    default: return nil
    }
  }
}
