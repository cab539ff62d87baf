public import CloudKit
internal import Foundation

/// Models read from the server directly.
///
/// Without a zone, models are read from ``CKDatabase/zoneIDForModels``. A model of a `@CKModel` type is read with just
/// its fields.
///
/// `following` is the number of references in a row that are followed to other models. Their records are fetched level
/// by level, each once, 200 in a request. Without it, a ``Link`` keeps the identity of its target, an optional model is
/// nil, a list of models is empty, and a property that is a model and not optional is an error.
extension CKDatabase {
  /// Returns the model with a record name; nil if there is none.
  ///
  /// - Throws: `CKModelError` if the record does not match the model; `CKError.zoneNotFound` if the zone that was
  ///   passed does not exist; otherwise the server's error.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    named recordName: String,
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> Model? {
    try await load(type, named: [recordName], in: zoneID, following: depth)[recordName]?.get()
  }

  /// Returns the models with these record names that there are, each with its own result. Sends one request for every
  /// 200.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    named recordNames: [String],
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> [String: Result<Model, any Error>] {
    let zone = try self.zone(zoneID, of: type)
    let ids = recordNames.map { CKRecord.ID(recordName: $0, zoneID: zone) }
    let found = try await records(for: ids, desiredKeys: type.desiredKeys)
    let results = ids.map { (id: $0, result: missingZoneIsEmpty(found[$0] ?? .failure(Self.unanswered($0)), zoneID)) }
      .filter { !$0.result.isAbsent }
    let models = try await linkLoader(following: depth).models(type, from: results.map(\.result))
    return Dictionary(zip(results.map(\.id.recordName), models)) { first, _ in first }
  }

  /// Removes the record of a model from the cache, so that the next load returns the server's version.
  ///
  /// - Throws: `CKModelError` if the model's archive is damaged, or its type's models are in another database.
  public func forget(_ model: some CKRecordModel, in zoneID: CKRecordZone.ID? = nil) throws(CKModelError) {
    forget(try CKRecordEncoder(zoneID: try zone(zoneID, of: type(of: model))).place(of: model).recordID)
  }

  /// Returns all models that match a query, up to its limit.
  ///
  /// - Throws: The first error of a record that cannot be read or does not match the model. To get the others, use
  ///   ``pages(of:in:)``.
  public func load<Model: CKRecordModel & Decodable>(
    _ query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> [Model] { try await loadWithCycles(query, in: zoneID, following: depth).models }

  /// Returns all models that match a query, as ``load(_:in:following:)`` does, and the cycles between them.
  public func loadWithCycles<Model: CKRecordModel & Decodable>(
    _ query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .all
  ) async throws -> LoadedModels<Model> {
    let loader = linkLoader(following: depth)
    var records: [Result<CKRecord, any Error>] = []
    var query = query
    try await FetchPositions.follow(from: CKQueryOperation.Cursor?.none) { cursor in
      let page = try await recordPage(of: query, in: zoneID, after: cursor)
      query.limit = query.limit.map { Swift.max(0, $0 - page.results.count) }
      // The first failure ends the load before the rest is fetched.
      records += try page.results.map { .success(try $0.result.get()) }
      return query.limit == 0 ? nil : page.cursor
    }
    let models = try await loader.models(Model.self, from: records).map { try $0.get() }
    return LoadedModels(models: models, cycles: loader.cycles)
  }

  func linkLoader(following depth: LinkDepth) -> LinkLoader {
    LinkLoader(following: depth) { ids, keys in try await self.records(for: ids, desiredKeys: keys) }
  }

  /// Returns all models of a type in a zone.
  ///
  /// - Throws: As for ``load(_:in:following:)``.
  public func all<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> [Model] { try await load(Query<Model>(), in: zoneID, following: depth) }

  /// Returns the pages of a query's results, each fetched when it is asked for, up to the query's limit.
  ///
  /// ```swift
  /// for try await page in database.pages(of: Query<Note>()) {
  ///   show(page.models)
  ///   report(page.failures)
  /// }
  /// ```
  public func pages<Model: CKRecordModel & Decodable>(
    of query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil
  ) -> CKModelPages<Model> {
    CKModelPages(database: self, query: query, zoneID: zoneID)
  }

  /// Returns the first page of a query's results, or the page at a cursor. Here, the query's limit is that of the page;
  /// the server returns at most 200.
  ///
  /// - Parameter cursor: The ``CKModelPage/cursor`` of the page before.
  public func page<Model: CKRecordModel & Decodable>(
    of query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    after cursor: CKQueryOperation.Cursor? = nil
  ) async throws -> CKModelPage<Model> {
    let page = try await recordPage(of: query, in: zoneID, after: cursor)
    return CKModelPage(page.results.map { (id: $0.id, result: $0.result.model(Model.self)) }, cursor: page.cursor)
  }

  private func recordPage<Model: CKRecordModel & Decodable>(
    of query: Query<Model>,
    in zoneID: CKRecordZone.ID?,
    after cursor: CKQueryOperation.Cursor?
  ) async throws -> CKModelPage<CKRecord> {
    let limit = query.limit ?? CKQueryOperation.maximumResults
    let zone = try self.zone(zoneID, of: Model.self)
    let wire = try query.query(in: zone)
    guard query.limit != 0 else { return CKModelPage([]) }
    if query.isLogged { report("Query: \(wire.debugDescription)") }
    do {
      let answer =
        if let cursor {
          try await records(
            continuingMatchFrom: cursor,
            desiredKeys: Model.desiredKeys,
            resultsLimit: limit
          )
        } else {
          try await records(
            matching: wire,
            inZoneWith: zone,
            desiredKeys: Model.desiredKeys,
            resultsLimit: limit
          )
        }
      if query.isLogged { report("Results: \(answer.matchResults.map(\.0.recordName).joined(separator: ", "))") }
      return CKModelPage(answer.matchResults.map { (id: $0.0, result: $0.1) }, cursor: answer.queryCursor)
    } catch let error as CKError
      where cursor == nil && (error.code == .unknownItem || error.code == .zoneNotFound && zoneID == nil)
    {
      // No model of the type, or none at all, has been saved yet.
      return CKModelPage([])
    }
  }

  /// Names a record that is missing because nothing has been saved yet like any missing record.
  func missingZoneIsEmpty(
    _ result: Result<CKRecord, any Error>,
    _ zoneID: CKRecordZone.ID?
  ) -> Result<CKRecord, any Error> {
    result.mapError { error in
      guard zoneID == nil, (error as? CKError)?.code == .zoneNotFound else { return error }
      return CKError(.unknownItem, "There is no such record; no model has been saved yet.")
    }
  }
}

/// One page of a query's results.
public struct CKModelPage<Model> {
  /// The models, or the reason why a record is none, in the query's order.
  public let results: [(id: CKRecord.ID, result: Result<Model, any Error>)]
  /// The place of the next page; nil after the last.
  public let cursor: CKQueryOperation.Cursor?

  package init(_ results: [(id: CKRecord.ID, result: Result<Model, any Error>)], cursor: CKQueryOperation.Cursor? = nil)
  {
    (self.results, self.cursor) = (results, cursor)
  }

  /// The models.
  public var models: [Model] { results.compactMap { try? $0.result.get() } }

  /// The records that could not be read or decoded, with the reason.
  public var failures: [CKRecord.ID: any Error] {
    var failures: [CKRecord.ID: any Error] = [:]
    for (id, result) in results { if case .failure(let error) = result { failures[id] = error } }
    return failures
  }
}

extension CKModelPage: Sendable where Model: Sendable {}

/// The pages of a query's results.
public struct CKModelPages<Model: CKRecordModel & Decodable>: AsyncSequence, Sendable {
  let database: CKDatabase
  let query: Query<Model>
  let zoneID: CKRecordZone.ID?

  /// Returns an iterator that begins with the first page.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(database: database, query: query, zoneID: zoneID) }

  /// Fetches one page after another.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let database: CKDatabase
    var query: Query<Model>
    let zoneID: CKRecordZone.ID?
    var cursor: CKQueryOperation.Cursor?
    var positions = FetchPositions()
    var hasEnded = false

    /// Fetches the next page; nil after the last. A page can be empty and still be followed by another.
    public mutating func next() async throws -> CKModelPage<Model>? {
      guard !hasEnded else { return nil }
      let page = try await database.page(of: query, in: zoneID, after: cursor)
      query.limit = query.limit.map { Swift.max(0, $0 - page.results.count) }
      cursor = try page.cursor.map { cursor throws(CKError) in try positions.next(cursor) }
      hasEnded = cursor == nil || query.limit == 0
      return page
    }
  }
}

extension CKRecordModel {
  /// The fields to fetch; nil for all, of a model that does not list its fields.
  static var desiredKeys: [CKRecord.FieldKey]? {
    func names<Model: CKFieldModel>(_ type: Model.Type) -> [String] { type.Fields.allCases.map(\.rawValue) }
    return (self as? any CKFieldModel.Type).map { names($0) }
  }
}

extension Result {
  /// Whether there is no such record.
  var isAbsent: Bool { if case .failure(let error as CKError) = self { error.code == .unknownItem } else { false } }
}

extension Result<CKRecord, any Error> {
  fileprivate func model<Model: CKRecordModel & Decodable>(_ type: Model.Type) -> Result<Model, any Error> {
    flatMap { record in Result<Model, any Error> { try CKRecordDecoder().decode(type, from: record) } }
  }
}
