/// Rows by their key, with what the transaction under way has changed, so that it can be taken back without a copy of
/// the table.
struct MemoryTable<Key: Hashable, Row> {
  private(set) var rows: [Key: Row] = [:]
  private var undo: [(key: Key, row: Row?)] = []

  var hasChanges: Bool { !undo.isEmpty }

  /// Setting nil removes the row.
  subscript(key: Key) -> Row? {
    get { rows[key] }
    set { _ = replace(key, newValue) }
  }

  /// Puts a row in another's place, or nothing, and returns the one that was there.
  mutating func replace(_ key: Key, _ row: Row?) -> Row? {
    let old = row.map { rows.updateValue($0, forKey: key) } ?? rows.removeValue(forKey: key)
    undo.append((key, old))
    return old
  }

  mutating func commit() { undo.removeAll(keepingCapacity: true) }

  /// Takes back what has changed since the last commit, the latest first.
  ///
  /// - Parameter each: told of each row as it is and as it was before.
  mutating func rollBack(_ each: (Key, _ now: Row?, _ before: Row?) -> Void = { _, _, _ in }) {
    while let (key, row) = undo.popLast() {
      let now = row.map { rows.updateValue($0, forKey: key) } ?? rows.removeValue(forKey: key)
      each(key, now, row)
    }
  }
}
