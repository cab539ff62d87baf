public import CloudKit
public import CloudKitModels
public import CloudSync

/// Queries of the local copy: the server's records with the queued changes applied, found without a request.
///
/// ```swift
/// let open = Query<Chore>().filter(#Predicate { !$0.isDone }).sorted(by: \.due).limit(20)
/// let next = try await store.load(open)
/// let count = try await store.count(Query<Chore>())
/// ```
///
/// A query finds the same models as on the server, in the same order, if the local copy has all changes. It needs no
/// index, and conditions that the server does not support, such as `||`, work too. Without a zone, all zones are
/// searched. The work does not run on the caller's actor.
extension SyncStore {
  /// Returns the models that match a query, up to its limit.
  ///
  /// - Throws: The first error of a record that does not match the model, whose others ``page(_:in:after:)`` has;
  ///   `CKError.invalidArguments` for a query that no server answers, such as a condition on an encrypted field;
  ///   `StoreError` if the store cannot be read.
  public func load<Model: CKRecordModel & Decodable>(
    _ query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> [Model] {
    let stored = try stored(query, in: zoneID)
    guard depth == .none else {
      let records = try await records(matching: stored).map { Result<CKRecord, any Error>.success($0) }
      return try await loader(following: depth).models(Model.self, from: records).map { try $0.get() }
    }
    var models: [Model] = []
    try await eachSlice(of: stored) { models += try $0.map { try CKRecordDecoder().decode(Model.self, from: $0) } }
    return models
  }

  /// Returns the first model that matches a query, in its order; nil if there is none.
  ///
  /// - Throws: The same errors as `load(_:in:following:)`.
  public func first<Model: CKRecordModel & Decodable>(
    _ query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> Model? { try await load(query.limit(min(1, query.limit ?? 1)), in: zoneID, following: depth).first }

  /// Returns the number of records that match a query, at most its limit.
  public func count<Model: CKRecordModel>(_ query: Query<Model>, in zoneID: CKRecordZone.ID? = nil) async throws -> Int
  {
    try await count(matching: stored(query, in: zoneID))
  }

  /// Returns whether a record matches a query.
  public func exists<Model: CKRecordModel>(_ query: Query<Model>, in zoneID: CKRecordZone.ID? = nil) async throws
    -> Bool
  {
    var stored = try stored(query, in: zoneID).unsorted
    stored.limit = min(1, query.limit ?? 1)
    return try await !records(matching: stored).isEmpty
  }

  /// Returns the first page of a query's results, or the page at a cursor, and the cursor of the next page; nil after
  /// the last. Here, the query's limit is that of the page; it is 200 unless set.
  ///
  /// Models that are saved or deleted between two pages make them miss no other. A page in another order than that of
  /// record names costs a search through all records of the type, so larger pages cost less.
  public func page<Model: CKRecordModel & Decodable>(
    _ query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    after cursor: StoredQueryCursor? = nil
  ) async throws -> (page: CKModelPage<Model>, next: StoredQueryCursor?) {
    let stored = try stored(query, in: zoneID)
    guard query.limit != 0 else { return (CKModelPage([]), nil) }
    let (records, next) = try await page(of: stored, after: cursor, size: query.limit ?? 200)
    let results = records.map { record in
      (id: record.recordID, result: Result<Model, any Error> { try CKRecordDecoder().decode(Model.self, from: record) })
    }
    return (CKModelPage(results), next)
  }

  /// Returns the pages of a query's results, up to the query's limit.
  ///
  /// - Parameter size: The number of models in a page.
  public func pages<Model: CKRecordModel & Decodable>(
    of query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    size: Int = 200
  ) -> StoredModelPages<Model> { StoredModelPages(store: self, query: query, zoneID: zoneID, size: max(1, size)) }

  // MARK: - Off the caller's actor

  private func stored<Model>(_ query: Query<Model>, in zoneID: CKRecordZone.ID?) throws -> StoredQuery {
    try checkDatabase(of: Model.self)
    let wanted = try query.query(in: zoneID ?? zoneKey(nil).zoneID)
    return try StoredQuery(wanted, in: zoneID.map { ZoneKey($0) }, limit: query.limit)
  }

  func records(matching query: StoredQuery) async throws -> [CKRecord] {
    var records: [CKRecord] = []
    try await eachSlice(of: query) { records += $0 }
    return records
  }

  /// Visits the records that a query matches, one slice in memory at a time.
  private func eachSlice(of query: StoredQuery, _ visit: ([CKRecord]) throws -> Void) async throws {
    var (records, rest) = try await first(matching: query)
    try visit(records)
    while !rest.isEmpty {
      (records, rest) = try await slice(after: rest)
      try visit(records)
    }
  }

  @concurrent private func first(matching query: StoredQuery) async throws -> (records: [CKRecord], rest: FoundRecords)
  {
    let (rows, rest) = try first(of: query)
    return (adopted(rows), rest)
  }

  @concurrent private func slice(after found: FoundRecords) async throws -> (records: [CKRecord], rest: FoundRecords) {
    let (rows, rest) = try next(of: found)
    return (adopted(rows), rest)
  }

  @concurrent private func count(matching query: StoredQuery) async throws -> Int { try count(query) }

  @concurrent private func page(of query: StoredQuery, after cursor: StoredQueryCursor?, size: Int) async throws
    -> (records: [CKRecord], next: StoredQueryCursor?)
  {
    let (rows, next) = try page(of: query, after: cursor, limit: size)
    return (adopted(rows), next)
  }

  private func adopted(_ rows: [RecordRow]) -> [CKRecord] {
    let records = rows.map { CKRecord($0.record) }
    origin?.adoptAssets(of: records)
    return records
  }
}

/// The models of the local copy, page by page.
public struct StoredModelPages<Model: CKRecordModel & Decodable>: AsyncSequence, Sendable {
  let store: SyncStore
  let query: Query<Model>
  let zoneID: CKRecordZone.ID?
  let size: Int

  /// Returns an iterator that begins with the first page.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: self, left: query.limit) }

  /// Reads one page after another.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let pages: StoredModelPages
    /// The number of models that may still be read; nil for all.
    var left: Int?
    var cursor: StoredQueryCursor?
    var hasEnded = false

    /// Reads the next page; nil after the last.
    public mutating func next() async throws -> CKModelPage<Model>? {
      guard !hasEnded else { return nil }
      let query = pages.query.limit(Swift.min(pages.size, left ?? .max))
      let (page, next) = try await pages.store.page(query, in: pages.zoneID, after: cursor)
      left = left.map { $0 - page.results.count }
      cursor = next
      hasEnded = next == nil || left == 0
      return page
    }
  }
}
