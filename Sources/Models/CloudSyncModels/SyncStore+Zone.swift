public import CloudKit
public import CloudKitModels
public import CloudSync

extension SyncStore {
  /// Returns a zone of the store, with the calls for models.
  ///
  /// ```swift
  /// let notes = store.in(notesZone.zoneID)
  /// try await notes.save(note)
  /// for try await open in notes.observe(Query<Note>().filter(\.isDone, equals: false)) { show(open) }
  /// ```
  public func `in`(_ zoneID: CKRecordZone.ID) -> BoundZone<SyncStore> { BoundZone(self, zoneID) }
}

/// Models of one zone of a store. Each call is that of `SyncStore` of the same name with `in:`.
extension BoundZone where Base == SyncStore {
  /// Accepts a model to save.
  @discardableResult
  public func save<Model: CKRecordModel & Encodable>(
    _ model: Model,
    replacing: Set<String> = []
  ) async throws -> QueuedChange { try await base.save(model, in: zoneID, replacing: replacing) }

  /// Accepts several models to save, all or none.
  @discardableResult
  public func save<Model: CKRecordModel & Encodable>(
    _ models: [Model],
    replacing: Set<String> = []
  ) async throws -> [QueuedChange] { try await base.save(models, in: zoneID, replacing: replacing) }

  /// Accepts the differences between a model and its original before the edit.
  @discardableResult
  public func save<Model: CKRecordModel & Encodable>(
    _ model: Model,
    changedFrom original: Model
  ) async throws -> QueuedChange { try await base.save(model, changedFrom: original, in: zoneID) }

  /// Accepts a new model.
  @discardableResult
  public func insert<Model: CKRecordModel & Encodable>(_ model: Model) async throws -> QueuedChange {
    try await base.insert(model, in: zoneID)
  }

  /// Accepts a model whose record is in the local copy.
  @discardableResult
  public func update<Model: CKRecordModel & Encodable>(_ model: Model) async throws -> QueuedChange {
    try await base.update(model, in: zoneID)
  }

  /// Accepts a model, whether its record exists or not.
  @discardableResult
  public func upsert<Model: CKRecordModel & Encodable>(_ model: Model) async throws -> QueuedChange {
    try await base.upsert(model, in: zoneID)
  }

  /// Accepts the deletion of a model's record.
  @discardableResult
  public func delete(_ model: some CKRecordModel) async throws -> QueuedChange {
    try await base.delete(model, in: zoneID)
  }

  /// Accepts the deletion of several models' records, all or none.
  @discardableResult
  public func delete<Model: CKRecordModel>(_ models: [Model]) async throws -> [QueuedChange] {
    try await base.delete(models, in: zoneID)
  }

  /// Accepts the deletion of a model's record and of the records that a cascade names.
  @discardableResult
  public func delete(_ model: some CKRecordModel, cascade: CKCascade) async throws -> [QueuedChange] {
    try await base.delete(model, cascade: cascade, in: zoneID)
  }

  /// Returns the model with a record name; nil if there is none or its deletion is queued.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    named recordName: String,
    following depth: LinkDepth = .none
  ) async throws -> Model? { try await base.load(type, named: recordName, in: zoneID, following: depth) }

  /// Returns the models with these record names that there are, each with its own result.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    named recordNames: [String],
    following depth: LinkDepth = .none
  ) async throws -> [String: Result<Model, any Error>] {
    try await base.load(type, named: recordNames, in: zoneID, following: depth)
  }

  /// Returns the models that match a query, up to its limit.
  public func load<Model: CKRecordModel & Decodable>(
    _ query: Query<Model>,
    following depth: LinkDepth = .none
  ) async throws -> [Model] { try await base.load(query, in: zoneID, following: depth) }

  /// Returns the first model that matches a query, in its order; nil if there is none.
  public func first<Model: CKRecordModel & Decodable>(
    _ query: Query<Model>,
    following depth: LinkDepth = .none
  ) async throws -> Model? { try await base.first(query, in: zoneID, following: depth) }

  /// Returns the number of records that match a query, at most its limit.
  public func count<Model: CKRecordModel>(_ query: Query<Model>) async throws -> Int {
    try await base.count(query, in: zoneID)
  }

  /// Returns whether a record matches a query.
  public func exists<Model: CKRecordModel>(_ query: Query<Model>) async throws -> Bool {
    try await base.exists(query, in: zoneID)
  }

  /// Returns all models of a type, by record name.
  public func all<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    following depth: LinkDepth = .none
  ) async throws -> [Model] { try await base.all(type, in: zoneID, following: depth) }

  /// Returns the pages of a query's results, up to the query's limit.
  public func pages<Model: CKRecordModel & Decodable>(
    of query: Query<Model>,
    size: Int = 200
  ) -> StoredModelPages<Model> { base.pages(of: query, in: zoneID, size: size) }

  /// Observes the results of a query.
  public func observe<Model>(_ query: Query<Model>) -> StoredResults<Model> { base.observe(query, in: zoneID) }
}
