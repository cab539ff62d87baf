import CloudKit

/// Queries of the local copy: the server's records with the queued changes applied.
///
/// A query finds what the server would find in the same records, in the order that is assumed of the server: by the
/// query's orders, then by record name, then by zone. A queued delete hides its record, and a queued zone delete all of
/// its zone; a record whose deletion on the server is on hold is found. What an unsent record has no value for, such as
/// its creation date, is missing. Conditions that the server does not support, such as OR, are evaluated all the same.
extension SyncStore {
  /// Returns what is made of each record that a query matches, in its order.
  ///
  /// - Throws: `CKError.invalidArguments` for a query that the store cannot answer as the server would; `StoreError` if
  ///   the store cannot be read.
  package func records<Value>(matching query: StoredQuery, _ convert: (RecordRow) -> Value) throws -> [Value] {
    try check(query)
    return try read { ledger in
      var values: [Value] = []
      var search = try QuerySearch(query, limit: query.limit ?? .max, ledger)
      try search.each { row, _ in
        values.append(convert(row))
        return true
      }
      return values
    }
  }

  /// Returns the first records that a query matches, and the others as keys, to be read with `next`.
  package func first(of query: StoredQuery) throws -> (rows: [RecordRow], rest: FoundRecords) {
    try check(query)
    return try read { ledger in
      var search = try QuerySearch(query, limit: query.limit ?? .max, ledger)
      let (rows, keys) = try search.first(FoundRecords.slice)
      return (rows, FoundRecords(query: query, keys: keys))
    }
  }

  /// Returns the next records, without those that no longer match, and the keys of the others.
  package func next(of found: FoundRecords) throws -> (rows: [RecordRow], rest: FoundRecords) {
    var rest = found
    rest.keys = found.keys.dropFirst(FoundRecords.slice)
    let keys = found.keys.prefix(FoundRecords.slice)
    return (try read { try QuerySearch(found.query, $0).rows(of: keys) }, rest)
  }

  /// Returns the records of a query that follow a cursor, and the cursor of the next page; nil after the last.
  ///
  /// A page by record name costs what its rows cost. In another order, all records of the type are read for each page,
  /// most of them by SQL alone.
  package func page(of query: StoredQuery, after cursor: StoredQueryCursor? = nil, limit: Int) throws
    -> (rows: [RecordRow], next: StoredQueryCursor?)
  {
    let limit = min(max(1, limit), .max - 1)
    try check(query)
    if let cursor, cursor.position.keys.count != query.orders.count {
      throw CKError(.invalidArguments, "The cursor belongs to a query with another order.")
    }
    return try read { ledger in
      var (rows, last, hasMore) = ([RecordRow](), QueryPosition?.none, false)
      // One more shows whether there is another page.
      var search = try QuerySearch(query, after: cursor?.position, limit: limit + 1, ledger)
      try search.each { row, position in
        hasMore = rows.count == limit
        guard !hasMore else { return false }
        rows.append(row)
        last = position
        return true
      }
      return (rows, hasMore ? last.map { StoredQueryCursor(position: $0) } : nil)
    }
  }

  /// Returns the number of records that a query matches, at most its limit.
  package func count(_ query: StoredQuery) throws -> Int {
    try check(query)
    let count = try read { ledger in
      var search = try QuerySearch(query, ledger)
      return try search.countAll()
    }
    return min(count, query.limit ?? .max)
  }

  /// Throws for a query that is refused for the types of its fields.
  private func check(_ query: StoredQuery) throws {
    let fields = query.fields
    guard let type = query.type, !fields.isEmpty else { return }
    try query.check(try knownFieldTypes(of: type, wanted: fields))
  }
}

/// Records that were found and are read a slice at a time, so that they are never in memory as a whole.
package struct FoundRecords: Sendable {
  fileprivate static let slice = 200

  fileprivate let query: StoredQuery
  /// Not places: until the next slice, a change may be sent, and its record then has another place.
  fileprivate var keys: ArraySlice<RecordKey>

  package var isEmpty: Bool { keys.isEmpty }
}
