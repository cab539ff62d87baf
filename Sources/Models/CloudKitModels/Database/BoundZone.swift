public import CloudKit

/// A zone of a database or of a store, with the calls for models. Each is the call of the same name with `in:`.
///
/// ```swift
/// let notes = database.in(notesZone.zoneID)
/// try await notes.save(note)
/// let open = try await notes.load(Query<Note>().filter(\.isDone, equals: false))
/// ```
public struct BoundZone<Base: Sendable>: Sendable {
  /// The database or the store.
  public let base: Base
  /// The zone.
  public let zoneID: CKRecordZone.ID

  package init(_ base: Base, _ zoneID: CKRecordZone.ID) { (self.base, self.zoneID) = (base, zoneID) }
}

extension CKDatabase {
  /// Returns a zone of the database, with the calls for models.
  public func `in`(_ zoneID: CKRecordZone.ID) -> BoundZone<CKDatabase> { BoundZone(self, zoneID) }
}

extension BoundZone where Base == CKDatabase {
  /// Saves a model, as ``CloudKit/CKDatabase/save(_:in:replacing:)-(Model,_,_)`` does.
  @discardableResult
  public func save<Model: CKRecordModel & Codable>(_ model: Model, replacing: Set<String> = []) async throws -> Model {
    try await base.save(model, in: zoneID, replacing: replacing)
  }

  /// Saves several models, as ``CloudKit/CKDatabase/save(_:in:replacing:)-([Model],_,_)`` does.
  @discardableResult
  public func save<Model: CKRecordModel & Codable>(
    _ models: [Model],
    replacing: Set<String> = []
  ) async throws -> [Model] { try await base.save(models, in: zoneID, replacing: replacing) }

  /// Saves a new model, as ``CloudKit/CKDatabase/insert(_:in:)`` does.
  @discardableResult
  public func insert<Model: CKRecordModel & Codable>(_ model: Model) async throws -> Model {
    try await base.insert(model, in: zoneID)
  }

  /// Saves a model whose record exists, as ``CloudKit/CKDatabase/update(_:in:)`` does.
  @discardableResult
  public func update<Model: CKRecordModel & Codable>(_ model: Model) async throws -> Model {
    try await base.update(model, in: zoneID)
  }

  /// Saves a model over whatever the server has, as ``CloudKit/CKDatabase/upsert(_:in:)`` does.
  @discardableResult
  public func upsert<Model: CKRecordModel & Codable>(_ model: Model) async throws -> Model {
    try await base.upsert(model, in: zoneID)
  }

  /// Deletes the record of a model, as ``CloudKit/CKDatabase/delete(_:in:)-(CKRecordModel,_)`` does.
  public func delete(_ model: some CKRecordModel) async throws { try await base.delete(model, in: zoneID) }

  /// Deletes the records of several models, as ``CloudKit/CKDatabase/delete(_:in:)-([Model],_)`` does.
  public func delete<Model: CKRecordModel>(_ models: [Model]) async throws {
    try await base.delete(models, in: zoneID)
  }

  /// Deletes the record of a model and the records that a cascade names, as
  /// ``CloudKit/CKDatabase/delete(_:cascade:in:)-(CKRecordModel,_,_)`` does.
  public func delete(_ model: some CKRecordModel, cascade: CKCascade) async throws -> CKDeletionReport {
    try await base.delete(model, cascade: cascade, in: zoneID)
  }

  /// Returns the model with a record name; nil if there is none.
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

  /// Returns all models that match a query, as ``CloudKit/CKDatabase/load(_:in:following:)`` does.
  public func load<Model: CKRecordModel & Decodable>(
    _ query: Query<Model>,
    following depth: LinkDepth = .none
  ) async throws -> [Model] { try await base.load(query, in: zoneID, following: depth) }

  /// Returns all models of a type, as ``CloudKit/CKDatabase/all(_:in:following:)`` does.
  public func all<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    following depth: LinkDepth = .none
  ) async throws -> [Model] { try await base.all(type, in: zoneID, following: depth) }

  /// Returns the pages of a query's results, as ``CloudKit/CKDatabase/pages(of:in:)`` does.
  public func pages<Model: CKRecordModel & Decodable>(of query: Query<Model>) -> CKModelPages<Model> {
    base.pages(of: query, in: zoneID)
  }
}
