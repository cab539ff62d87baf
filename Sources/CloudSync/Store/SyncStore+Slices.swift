import CloudKit

/// The rows of a long piece of writing that one transaction takes.
struct TransactionSlice<Row> {
  private let rows: ArraySlice<Row>
  private let yields: (Int) -> Bool
  /// Whether nothing was written before it.
  let isFirst: Bool
  private(set) var taken = 0

  fileprivate init(_ rows: ArraySlice<Row>, isFirst: Bool, yields: @escaping (Int) -> Bool) {
    self.rows = rows
    self.isFirst = isFirst
    self.yields = yields
  }

  /// The next row; nil where this transaction has to end, or where all is written.
  mutating func next() -> Row? {
    guard taken < rows.count, taken == 0 || !yields(taken) else { return nil }
    defer { taken += 1 }
    return rows[rows.startIndex + taken]
  }

  /// So many rows, or as many as there are before this transaction has to end; nil where there are none.
  mutating func next(_ count: Int) -> [Row]? {
    var rows: [Row] = []
    while rows.count < count, let row = next() { rows.append(row) }
    return rows.isEmpty ? nil : rows
  }

  /// Whether all is written.
  var isLast: Bool { taken == rows.count }
}

extension SyncStore {
  /// How many rows are changed by one statement: much less work than with one for each, and nobody waits long for it.
  static let writtenAtOnce = 16

  /// What the driver writes of many rows, in as many transactions as those who wait to write meanwhile need to have their
  /// turn: whoever accepts a change is not kept waiting for two hundred answers.
  ///
  /// Each transaction has to be right by itself, and the whole to be right when it is done anew after a crash.
  ///
  /// - Parameters:
  ///   - isWhole: in one transaction all the same.
  ///   - body: takes rows until there is none; called once at least.
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
        var slice = TransactionSlice(rows[place...], isFirst: place == 0) { !isWhole && self.storage.yields(after: $0) }
        return (try body(&slice, ledger, now), slice.taken)
      }
      values.append(value)
      // A body that takes nothing wants no more.
      place = taken > 0 ? place + taken : rows.count
    } while place < rows.count
    return values
  }
}
