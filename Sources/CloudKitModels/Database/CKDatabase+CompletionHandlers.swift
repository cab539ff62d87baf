public import CloudKit

/// The calls for models with a completion handler, which is called once, on any thread.
extension CKDatabase {
  /// Saves a model, as ``save(_:in:)-(Model,_)`` does.
  public func save<Model: CKRecordModel & Codable & Sendable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<Model, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.save(model, in: zoneID) } }

  /// Deletes the record of a model, as ``delete(_:in:)-(CKRecordModel,_)`` does.
  public func delete(
    _ model: some CKRecordModel & Sendable,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.delete(model, in: zoneID) } }

  /// Returns the model with a record name, as ``load(_:named:in:)-(_,String,_)`` does.
  public func load<Model: CKRecordModel & Decodable & Sendable>(
    _ type: Model.Type = Model.self,
    named recordName: String,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<Model, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.load(Model.self, named: recordName, in: zoneID) } }

  /// Returns all models that match a query, as ``load(_:in:)`` does.
  public func load<Model: CKRecordModel & Decodable & Sendable>(
    _ query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<[Model], any Error>) -> Void
  ) { answer(completionHandler) { try await $0.load(query, in: zoneID) } }

  private func answer<Value: Sendable>(
    _ completionHandler: @escaping @Sendable (Result<Value, any Error>) -> Void,
    _ body: @escaping @Sendable (CKDatabase) async throws -> Value
  ) {
    Task {
      do {
        completionHandler(.success(try await body(self)))
      } catch {
        completionHandler(.failure(error))
      }
    }
  }
}
