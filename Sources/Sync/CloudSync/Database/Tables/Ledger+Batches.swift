import CloudKit
import GRDB

/// Adding many operations.
extension Ledger {
  /// The number of rows that one statement inserts. Row by row, the statements cost more than the rows.
  static let insertedAtOnce = 50

  /// Adds operations with their references. Returns their identifiers, in order.
  func insert(_ operations: [QueuedOperation]) throws -> [Int64] {
    let full = operations.count - operations.count % Self.insertedAtOnce
    var ids: [Int64] = []
    for start in stride(from: 0, to: full, by: Self.insertedAtOnce) {
      var part = Array(operations[start..<start + Self.insertedAtOnce])
      var arguments = StatementArguments()
      for index in part.indices {
        part[index].assets = part[index].assets.kept(by: part[index].changes)
        arguments += try values(of: Self.writtenColumns, in: part[index])
      }
      try run(Self.batchInsertion, arguments)
      // Identifiers increase by one: this transaction is the only writer.
      let last = database.lastInsertedRowID
      let added = (last - Int64(part.count) + 1)...last
      for (id, operation) in zip(added, part) { try link(operation, operation.links, as: id) }
      ids += added
    }
    return try ids + operations[full...].map { try insert($0) }
  }

  private static let batchInsertion = insertion(of: insertedAtOnce)

  /// Returns the positions of the keys for which the store has a record, an operation, or a dropped change that can be
  /// undone.
  func knownPlaces(of keys: [RecordKey]) throws -> Set<Int> {
    var known: Set<Int> = []
    // By bytes, as SQLite compares: to Swift, two encodings of a name can be equal.
    let places = Dictionary(grouping: keys.indices) { [Array(keys[$0].zone.utf8), Array(keys[$0].owner.utf8)] }
    for places in places.values {
      let zone = keys[places[0]].zoneKey
      let sql = """
        SELECT key FROM json_each(?) n
          WHERE EXISTS (SELECT 1 FROM operations WHERE zone = ? AND owner = ? AND name = n.value)
            OR EXISTS (SELECT 1 FROM records WHERE zone = ? AND owner = ? AND name = n.value)
            OR EXISTS (SELECT 1 FROM dropped WHERE zone = ? AND owner = ? AND name = n.value AND isOpen = 1)
        """
      let names = try JSONColumn.text(places.map { keys[$0].name })
      let found: [Int] = try all(
        sql,
        [names, zone.zone, zone.owner, zone.zone, zone.owner, zone.zone, zone.owner]
      )
      known.formUnion(found.map { places[$0] })
    }
    return known
  }
}
