public import CloudKit

/// The calls for models with a completion handler, which is called once, on any thread.
extension CKDatabase {
  /// Saves a model, as ``save(_:in:replacing:)-(Model,_,_)`` does.
  public func save<Model: CKRecordModel & Codable & Sendable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<Model, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.save(model, in: zoneID) } }

  /// Saves several models, as ``save(_:in:replacing:)-([Model],_,_)`` does.
  public func save<Model: CKRecordModel & Codable & Sendable>(
    _ models: [Model],
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<[Model], any Error>) -> Void
  ) { answer(completionHandler) { try await $0.save(models, in: zoneID) } }

  /// Saves a new model, as ``insert(_:in:)`` does.
  public func insert<Model: CKRecordModel & Codable & Sendable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<Model, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.insert(model, in: zoneID) } }

  /// Saves a model whose record exists, as ``update(_:in:)`` does.
  public func update<Model: CKRecordModel & Codable & Sendable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<Model, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.update(model, in: zoneID) } }

  /// Saves a model over whatever the server has, as ``upsert(_:in:)`` does.
  public func upsert<Model: CKRecordModel & Codable & Sendable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<Model, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.upsert(model, in: zoneID) } }

  /// Deletes the record of a model, as ``delete(_:in:)-(CKRecordModel,_)`` does.
  public func delete(
    _ model: some CKRecordModel & Sendable,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.delete(model, in: zoneID) } }

  /// Deletes the records of several models, as ``delete(_:in:)-([Model],_)`` does.
  public func delete<Model: CKRecordModel & Sendable>(
    _ models: [Model],
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.delete(models, in: zoneID) } }

  /// Deletes the record of a model and the records that a cascade names, as
  /// ``delete(_:cascade:in:)-(CKRecordModel,_,_)`` does.
  public func delete(
    _ model: some CKRecordModel & Sendable,
    cascade: CKCascade,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<CKDeletionReport, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.delete(model, cascade: cascade, in: zoneID) } }

  /// Returns the model with a record name, nil if there is none, as ``load(_:named:in:following:)-(_,String,_,_)``
  /// does.
  public func load<Model: CKRecordModel & Decodable & Sendable>(
    _ type: Model.Type = Model.self,
    named recordName: String,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<Model?, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.load(Model.self, named: recordName, in: zoneID) } }

  /// Returns the models with these record names, as ``load(_:named:in:following:)-(_,[String],_,_)`` does.
  public func load<Model: CKRecordModel & Decodable & Sendable>(
    _ type: Model.Type = Model.self,
    named recordNames: [String],
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<[String: Result<Model, any Error>], any Error>) -> Void
  ) { answer(completionHandler) { try await $0.load(Model.self, named: recordNames, in: zoneID) } }

  /// Returns all models that match a query, as ``load(_:in:following:)`` does.
  public func load<Model: CKRecordModel & Decodable & Sendable>(
    _ query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<[Model], any Error>) -> Void
  ) { answer(completionHandler) { try await $0.load(query, in: zoneID) } }

  /// Returns all models of a type in a zone, as ``all(_:in:following:)`` does.
  public func all<Model: CKRecordModel & Decodable & Sendable>(
    _ type: Model.Type = Model.self,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<[Model], any Error>) -> Void
  ) { answer(completionHandler) { try await $0.all(Model.self, in: zoneID) } }

  /// Returns one page of a query's results, as ``page(of:in:after:)`` does.
  public func page<Model: CKRecordModel & Decodable & Sendable>(
    of query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    after cursor: CKQueryOperation.Cursor? = nil,
    completionHandler: @escaping @Sendable (Result<CKModelPage<Model>, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.page(of: query, in: zoneID, after: cursor) } }

  /// Returns the share of a model's record, as ``share(_:title:in:)`` does.
  public func share(
    _ model: some CKRecordModel & Sendable,
    title: String? = nil,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<CKShare, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.share(model, title: title, in: zoneID) } }

  /// Returns the share of a whole zone, as ``shareZone(_:title:)`` does.
  public func shareZone(
    _ zoneID: CKRecordZone.ID,
    title: String? = nil,
    completionHandler: @escaping @Sendable (Result<CKShare, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.shareZone(zoneID, title: title) } }

  /// Subscribes to the changes of models, as ``subscribe(to:where:options:in:configure:)`` does.
  public func subscribe<Model: CKRecordModel & Sendable>(
    to type: Model.Type = Model.self,
    where query: Query<Model> = Query(),
    options: CKQuerySubscription.Options = .allChanges,
    in zoneID: CKRecordZone.ID? = nil,
    configure: @escaping @Sendable (CKSubscription.NotificationInfo) -> Void = { _ in },
    completionHandler: @escaping @Sendable (Result<CKQuerySubscription, any Error>) -> Void
  ) {
    answer(completionHandler) {
      try await $0.subscribe(where: query, options: options, in: zoneID, configure: configure)
    }
  }

  /// Ends a subscription, as ``unsubscribe(from:where:options:in:)`` does.
  public func unsubscribe<Model: CKRecordModel & Sendable>(
    from type: Model.Type = Model.self,
    where query: Query<Model> = Query(),
    options: CKQuerySubscription.Options = .allChanges,
    in zoneID: CKRecordZone.ID? = nil,
    completionHandler: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) { answer(completionHandler) { try await $0.unsubscribe(where: query, options: options, in: zoneID) } }

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
