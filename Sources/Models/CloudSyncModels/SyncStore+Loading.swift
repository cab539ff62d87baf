public import CloudKit
public import CloudKitModels
public import CloudSync

/// Models of the local copy: the server's records with the queued changes applied.
///
/// Without a zone, models are read from the store's zone for changes, as they are saved. `following` is the number of
/// references in a row that are followed to other models, as for `CKDatabase`. The work does not run on the caller's
/// actor.
extension SyncStore {
  /// Returns the model with a record name; nil if there is none or its deletion is queued.
  ///
  /// - Throws: `CKModelError` if the record does not match the model; `StoreError` if the store cannot be read.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    named recordName: String,
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> Model? {
    try await load(type, named: [recordName], in: zoneID, following: depth)[recordName]?.get()
  }

  /// Returns the models with these record names that there are, each with its own result.
  ///
  /// - Throws: `StoreError` if the store cannot be read.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    named recordNames: [String],
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> [String: Result<Model, any Error>] {
    try checkDatabase(of: type)
    let zone = zoneKey(zoneID).zoneID
    let found = try await records(recordNames.map { CKRecord.ID(recordName: $0, zoneID: zone) })
    let models = try await loader(following: depth).models(type, from: found.map { .success($0) })
    return Dictionary(zip(found.map(\.recordID.recordName), models)) { first, _ in first }
  }

  /// Returns all models of a type in a zone, by record name.
  ///
  /// - Throws: The first error of a record that does not match the model. To get the others, use
  ///   ``pages(of:in:size:)``.
  public func all<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> [Model] {
    try await load(Query<Model>(), in: zoneKey(zoneID).zoneID, following: depth)
  }

  /// Returns the models of a type in a zone page by page, by record name. Models that are saved or deleted meanwhile
  /// make it miss no other.
  ///
  /// - Parameter size: The number of models in a page.
  public func pages<Model: CKRecordModel & Decodable>(
    of type: Model.Type = Model.self,
    in zoneID: CKRecordZone.ID? = nil,
    size: Int = 200
  ) -> StoredModelPages<Model> {
    pages(of: Query<Model>(), in: zoneKey(zoneID).zoneID, size: size)
  }

  func loader(following depth: LinkDepth) -> LinkLoader {
    LinkLoader(following: depth) { ids, _ in
      Dictionary(try await self.records(ids).map { ($0.recordID, .success($0)) }) { first, _ in first }
    }
  }

  /// Returns the records with these IDs that exist.
  @concurrent func records(_ ids: [CKRecord.ID]) async throws -> [CKRecord] {
    let records = try ids.compactMap { id in try record(RecordKey(id)).map { CKRecord($0) } }
    origin?.adoptAssets(of: records)
    return records
  }
}

extension Link where Model: Decodable {
  /// Returns the model of the target in the local copy, whether it is loaded or not; nil if there is none.
  ///
  /// - Throws: `CKModelError` if the record does not match; `StoreError` if the store cannot be read.
  public func load(from store: SyncStore, following depth: LinkDepth = .none) async throws -> Model? {
    try await store.load(Model.self, named: recordName, in: recordID?.zoneID, following: depth)
  }
}
