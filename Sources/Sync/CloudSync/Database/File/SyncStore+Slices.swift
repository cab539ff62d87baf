import CloudKit

/// The part of a long series of rows that one transaction writes.
struct TransactionSlice<Row> {
  private let rows: ArraySlice<Row>
  private let ends: (Int) -> Bool
  /// Whether this is the first slice.
  let isFirst: Bool
  private(set) var taken = 0

  fileprivate init(_ rows: ArraySlice<Row>, isFirst: Bool, ends: @escaping (Int) -> Bool) {
    self.rows = rows
    self.isFirst = isFirst
    self.ends = ends
  }

  /// The next row of this transaction; nil after its last one.
  mutating func next() -> Row? {
    guard taken < rows.count, taken == 0 || !ends(taken) else { return nil }
    defer { taken += 1 }
    return rows[rows.startIndex + taken]
  }

  /// At most `count` next rows of this transaction; nil after its last one.
  mutating func next(_ count: Int) -> [Row]? {
    var rows: [Row] = []
    while rows.count < count, let row = next() { rows.append(row) }
    return rows.isEmpty ? nil : rows
  }

  /// Whether all rows are written.
  var isLast: Bool { taken == rows.count }
}

extension SyncStore {
  /// The number of rows that one statement changes: much faster than single rows, and short enough for other writers.
  static let writtenAtOnce = 16

  /// Writes many rows in several transactions of at most `slice` rows, so that other writers, such as an app that
  /// enqueues a change, do not wait for all of them.
  ///
  /// Each transaction must leave a valid state, and the whole must be repeatable after a crash.
  ///
  /// - Parameters:
  ///   - isWhole: whether to use a single transaction all the same.
  ///   - body: takes rows until there are none; called at least once.
  func writeInSlices<Row, Value>(
    _ rows: [Row],
    _ lease: Lease,
    isWhole: Bool = false,
    _ body: (inout TransactionSlice<Row>, Ledger, _ now: Int64) throws -> Value
  ) throws(StoreError) -> [Value] {
    var values: [Value] = []
    var place = 0
    repeat {
      let (value, taken) = try write(lease) { ledger, now in
        var slice = TransactionSlice(rows[place...], isFirst: place == 0) { taken in
          !isWhole && (taken >= Self.slice || self.storage.yields(after: taken))
        }
        return (try body(&slice, ledger, now), slice.taken)
      }
      values.append(value)
      // A body that takes no row ends the loop.
      place = taken > 0 ? place + taken : rows.count
      if place < rows.count { storage.letOthersWrite() }
    } while place < rows.count
    return values
  }
}
