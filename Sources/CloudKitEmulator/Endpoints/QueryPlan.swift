import Foundation

/// Finds one page of matching records of one type in one zone without looking at more records than it must.
struct QueryPlan {
  let type: String
  let filters: [QueryFilter]
  let order: QueryOrder
  let after: QueryOrder.Position?
  let limit: Int
  /// Records created later than this are not indexed yet. [L3]
  let newestVisible: Int64

  struct Found {
    var record: StoredRecord
    var position: QueryOrder.Position
    var place: Place
  }

  /// Up to `limit + 1` records after the marker, in order; the one too many tells that there is a next page.
  func page(in place: Place) -> [Found] {
    let zone = place.zone
    let best = filters.compactMap { filter in
      KeyRange(filter).map { range in
        (filter.key, range, zone.withIndex(type: type, key: filter.key) { range.slice(of: $0).count })
      }
    }
    .min { $0.2 < $1.2 }
    guard let key = order.indexKey else {
      let (key, range, _) = best ?? (FieldKey(system: .recordName), KeyRange(), 0)
      return gather(place, key, range)
    }
    // Walking the index of the order touches each record once over all pages; gathering by the best filter touches its
    // records once per page, which pays where they are few.
    if let (bestKey, range, count) = best, bestKey != key {
      let total = zone.withIndex(type: type, key: key) { $0.entries.count }
      if count * max(1, count / limit) < total { return gather(place, bestKey, range) }
    }
    return walk(place, key, best.flatMap { $0.0 == key ? $0.1 : nil } ?? KeyRange())
  }

  private func gather(_ place: Place, _ key: FieldKey, _ range: KeyRange) -> [Found] {
    place.zone.withIndex(type: type, key: key) { index in
      var found: [Found] = []
      for position in range.slice(of: index) {
        if let match = match(index.entries[position], key, place) { found.append(match) }
      }
      found.sort { order.precedes($0.position, $1.position) }
      return Array(found.prefix(limit + 1))
    }
  }

  private func walk(_ place: Place, _ key: FieldKey, _ range: KeyRange) -> [Found] {
    place.zone.withIndex(type: type, key: key) { index in
      var slice = range.slice(of: index)
      if let after {
        let mark = SortedIndex.Entry(key: after.keys.first ?? .string(after.name), name: after.name)
        // The marker's own entry stays in: it may lie in a later zone.
        if order.isAscending {
          let start = index.firstIndex { !($0 < mark) }
          slice = min(max(slice.lowerBound, start), slice.upperBound)..<slice.upperBound
        } else {
          let end = index.firstIndex { mark < $0 }
          slice = slice.lowerBound..<max(slice.lowerBound, min(slice.upperBound, end))
        }
      }
      var found: [Found] = []
      var position = order.isAscending ? slice.lowerBound : slice.upperBound - 1
      while slice.contains(position), found.count <= limit {
        if let match = match(index.entries[position], key, place) { found.append(match) }
        position += order.isAscending ? 1 : -1
      }
      return found
    }
  }

  private func match(_ entry: SortedIndex.Entry, _ key: FieldKey, _ place: Place) -> Found? {
    guard let record = place.zone.isCurrent(entry, type: type, key: key), record.created.milliseconds <= newestVisible,
      filters.allSatisfy({ $0.matches(record) }), place.access?.sees(record.name) ?? true
    else { return nil }
    let position = order.position(of: record, in: place.path)
    if let after, !order.precedes(after, position) { return nil }
    return Found(record: record, position: position, place: place)
  }
}

/// The keys a filter leaves of an index; the filter still judges each record.
struct KeyRange {
  private var lower: SortKey = .null
  private var upper: SortKey?
  /// Whether records without the field belong in: they do where no filter speaks of it.
  private var includesNull = true

  init() {}

  init?(_ filter: QueryFilter) {
    let key = filter.operand.sortKey
    guard key != .null else { return nil }
    includesNull = false
    switch filter.comparator {
    case .equals: (lower, upper) = (key, key)
    case .lessThan, .lessThanOrEquals: upper = key
    case .greaterThan, .greaterThanOrEquals: lower = key
    default: return nil
    }
  }

  func slice(of index: SortedIndex) -> Range<Int> {
    let start = index.firstIndex { includesNull || ($0.key != .null && $0.key >= lower) }
    let end = upper.map { upper in index.firstIndex { $0.key > upper } } ?? index.entries.count
    return start..<max(start, end)
  }
}
