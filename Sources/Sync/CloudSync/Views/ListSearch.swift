/// A search through a list in steps, each short enough that other readings and a new search do not wait for it.
///
/// Steps may be in transactions of their own: a row that changes its place between two steps is found twice or not at
/// all.
package protocol ListSearch<Listing, Row>: Sendable {
  associatedtype Listing: Hashable & Sendable
  associatedtype Row: Hashable & Sendable

  init(_ listing: Listing)

  var listing: Listing { get }
  /// The number of rows found so far, in the order of the list.
  var count: Int { get }
  /// How many of them failed or are retrying; nil if they are no operations.
  var retryable: Int? { get }
  /// The zones of the operations found that failed or are retrying; empty if they are no operations.
  var zonesToRetry: Set<ZoneKey> { get }
  /// Whether all rows have been looked at.
  var isOver: Bool { get }
  /// Whether `count` is the number of all rows that match.
  var isCounted: Bool { get }

  /// Looks at the next rows.
  mutating func step(in view: StoreView) throws

  /// Reads a window of what has been found, as it is now. Rows that are gone are left out.
  func rows(offset: Int, limit: Int, in view: StoreView) throws -> [Row]
}

extension ListSearch {
  package var isCounted: Bool { isOver }
  package var zonesToRetry: Set<ZoneKey> { [] }

  /// The zones that a retry of what has been found creates again.
  package func recreated(in view: StoreView) throws -> [String] {
    zonesToRetry.isEmpty ? [] : try view.ledger.goneZones().filter(zonesToRetry.contains).map(\.zone)
  }

  /// A window of what has been found so far.
  package func window(offset: Int, limit: Int, in view: StoreView) throws -> Window<Row> {
    Window(total: count, offset: offset, rows: try rows(offset: offset, limit: limit, in: view))
  }
}

extension Array {
  fileprivate func window(offset: Int, limit: Int) -> ArraySlice<Element> {
    let start = Swift.min(Swift.max(0, offset), count)
    return self[start..<start + Swift.min(Swift.max(0, limit), count - start)]
  }
}

/// A search in the queue. It uses an index if one finds the rows.
package struct QueueSearch: ListSearch {
  package let listing: QueueListing
  private var ids: [Int64] = []
  private var found = 0
  package private(set) var zonesToRetry: Set<ZoneKey> = []
  /// The parts that have not been looked through; nil before the first step.
  private var parts: ArraySlice<[OperationState]>?
  private var last: Int64?
  /// The condition, as it was chosen in the first step.
  private var selection: Ledger.Selection?
  /// The time of the first step, from which ages are counted.
  private var now: Int64?

  /// The number of operations to read in one step for those that match.
  private static let rowsInStep = 5000

  package init(_ listing: QueueListing) { self.listing = listing }

  package var count: Int { ids.count }
  package var retryable: Int? { found }
  package var isOver: Bool { parts?.isEmpty ?? false }

  package mutating func step(in view: StoreView) throws {
    let now = now ?? view.now
    self.now = now
    let selection = try selection ?? view.ledger.selection(ListQuery(listing.filter, now: now))
    self.selection = selection
    var parts = try parts ?? view.ledger.parts(of: listing, now: now)[...]
    var (left, leftToRead) = (SyncStore.slice, Self.rowsInStep)
    while let states = parts.first, left > 0, leftToRead > 0 {
      let slice = try view.ledger.slice(
        states,
        of: listing,
        selection,
        after: last,
        limit: left,
        reading: leftToRead
      )
      for row in slice.rows {
        ids.append(row.id)
        guard let state = row.state, QueueVerb.retry.states.contains(state) else { continue }
        found += 1
        zonesToRetry.insert(row.zone)
      }
      last = slice.last
      if last == nil { parts = parts.dropFirst() }
      left -= slice.rows.count
      leftToRead -= slice.read
    }
    self.parts = parts
  }

  package func rows(offset: Int, limit: Int, in view: StoreView) throws -> [QueueRow] {
    try view.queueRows(Array(ids.window(offset: offset, limit: limit)))
  }
}

/// A search in the records, and their order by a field.
package struct RecordSearch: ListSearch {
  package let listing: RecordListing
  /// The maximum number of records kept when they are ordered by a field. Other matches are only counted.
  private let limit: Int
  private let condition: RecordCondition
  private var places: [RecordPlace] = []
  /// The values by which `places` are ordered; empty in other orders.
  private var values: [FieldOrder] = []
  private var found = 0
  private var parts: ArraySlice<RecordPart>
  private var position = RecordPosition()

  package init(_ listing: RecordListing) { self.init(listing, limit: 10_000) }

  init(_ listing: RecordListing, limit: Int) {
    (self.listing, self.limit) = (listing, limit)
    condition = RecordCondition(listing.filter)
    parts = RecordPart.all(of: listing.order)[...]
  }

  /// The first records by a field are known only at the end.
  package var count: Int { listing.field == nil || isOver ? places.count : 0 }
  package var retryable: Int? { nil }
  package var isOver: Bool { parts.isEmpty }
  package var isCounted: Bool { isOver && places.count == found }

  package mutating func step(in view: StoreView) throws {
    var left = SyncStore.slice
    while let part = parts.first, left > 0 {
      let slice = try view.ledger.slice(part, condition, after: position, limit: left) { place, record in
        places.append(place)
        if let field = listing.field { values.append(FieldOrder(record.fields[field.name])) }
        found += 1
      }
      position = slice.last
      if slice.count < left { (parts, position) = (parts.dropFirst(), RecordPosition()) }
      left -= slice.count
    }
    if let field = listing.field, isOver || places.count / 2 > limit { keepFirst(isDescending: field.isDescending) }
  }

  /// Sorts what was found, and keeps the first of it. Of equal values, those found first stay first.
  private mutating func keepFirst(isDescending: Bool) {
    let first = values.indices.sorted { left, right in
      if values[left] == values[right] { return left < right }
      return values[left].precedes(values[right], isDescending: isDescending)
    }.prefix(limit)
    (places, values) = (first.map { places[$0] }, first.map { values[$0] })
  }

  package func rows(offset: Int, limit: Int, in view: StoreView) throws -> [RecordRow] {
    try view.ledger.records(at: Array(places.window(offset: offset, limit: limit)))
  }
}
