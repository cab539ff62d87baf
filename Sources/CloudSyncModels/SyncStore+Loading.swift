public import CloudKit
public import CloudKitModels
public import CloudSync

/// Models of the local copy: the server's records with the queued changes applied.
///
/// Without a zone, models are read from the store's zone for changes, as they are saved. The work does not run on the
/// caller's actor.
extension SyncStore {
  /// Returns the model with a record name; nil if there is none or its deletion is queued.
  ///
  /// - Throws: `CKModelError` if the record does not match the model; `StoreError` if the store cannot be read.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    named recordName: String,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> Model? { try await load(type, named: [recordName], in: zoneID)[recordName]?.get() }

  /// Returns the models with these record names that there are, each with its own result.
  ///
  /// - Throws: `StoreError` if the store cannot be read.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    named recordNames: [String],
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> [String: Result<Model, any Error>] {
    var models: [String: Result<Model, any Error>] = [:]
    for (name, record) in try await records(recordNames.map { RecordKey(zoneKey(zoneID), $0) }) {
      models[name] = Result { try CKRecordDecoder().decode(type, from: record) }
    }
    return models
  }

  /// Returns all models of a type in a zone, by record name.
  ///
  /// - Throws: The first error of a record that does not match the model. To get the others, use
  ///   ``pages(of:in:size:)``.
  public func all<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> [Model] {
    var models: [Model] = []
    for try await page in pages(of: type, in: zoneID) { models += try page.results.map { try $0.result.get() } }
    return models
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
    StoredModelPages(store: self, zone: zoneKey(zoneID), size: max(1, size))
  }

  @concurrent private func records(_ keys: [RecordKey]) async throws -> [(name: String, record: CKRecord)] {
    let records = try keys.compactMap { key in try record(key).map { (name: key.name, record: CKRecord($0)) } }
    origin?.adoptAssets(of: records.map(\.record))
    return records
  }

  /// Returns the records of a type that follow another.
  @concurrent fileprivate func page(
    after key: RecordKey?,
    zone: ZoneKey,
    type: String,
    limit: Int
  ) async throws -> (records: [CKRecord], last: RecordKey?) {
    let rows = try records(after: key, zone: zone, type: type, limit: limit)
    let records = rows.map { CKRecord($0.record) }
    origin?.adoptAssets(of: records)
    return (records, rows.count < limit ? nil : rows.last?.record.key)
  }
}

/// The models of the local copy, page by page.
public struct StoredModelPages<Model: CKRecordModel & Decodable>: AsyncSequence, Sendable {
  let store: SyncStore
  let zone: ZoneKey
  let size: Int

  /// Returns an iterator that begins with the first page.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(store: store, zone: zone, size: size) }

  /// Reads one page after another.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let store: SyncStore
    let zone: ZoneKey
    let size: Int
    var last: RecordKey?
    var hasEnded = false

    /// Reads the next page; nil after the last.
    public mutating func next() async throws -> CKModelPage<Model>? {
      guard !hasEnded else { return nil }
      let page = try await store.page(after: last, zone: zone, type: Model.recordType, limit: size)
      last = page.last
      hasEnded = last == nil
      return CKModelPage(
        page.records.map { record in
          (record.recordID, Result { try CKRecordDecoder().decode(Model.self, from: record) })
        }
      )
    }
  }
}
