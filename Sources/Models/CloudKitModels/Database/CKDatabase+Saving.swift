public import CloudKit
internal import Facts

/// Models saved to and deleted from the server directly. `SyncStore` has the same calls for models in the durable
/// queue.
///
/// Without a zone, models are in ``CKDatabase/zoneIDForModels``, which the first save creates.
extension CKDatabase {
  /// The zone of models that are saved without one: `cktop` in the private database, because the default zone there has
  /// no change feed, and the default zone in other databases.
  public var zoneIDForModels: CKRecordZone.ID { databaseScope.zoneIDForModels }

  /// Saves a model, whether the server has its record or not.
  ///
  /// A model with a change tag or an archive (``CKRecordModel/systemKeys``) is saved only if the record has not changed
  /// since. Any other model overwrites its own fields, and keeps those that it does not declare.
  ///
  /// Models that it refers to are saved first if the server does not have them, and not changed otherwise. A property
  /// that is an optional model or a list of models never clears or shortens its field, because its targets may not have
  /// been loaded; a ``Link`` does.
  ///
  /// - Parameter replacing: The fields of properties that are models, to be written exactly as they are: nil clears the
  ///   field, and a list loses what the property lacks.
  /// - Returns: The model as saved, with its system values. If the saved record does not decode, `CKModelError` is
  ///   thrown although it was saved; its ``CKModelError/recordID`` is set then.
  /// - Throws: `CKError.serverRecordChanged` if the record has changed since the model was read; `CKModelError` for a
  ///   value that a record cannot store.
  @discardableResult
  public func save<Model: CKRecordModel & Codable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil,
    replacing: Set<String> = []
  ) async throws -> Model { try await write([model], .save, in: zoneID, replacing: replacing)[0].result.get() }

  /// Saves several models, and first those that they refer to and the server lacks. A model that fails does not keep
  /// the others from being saved, except those that refer to it.
  ///
  /// - Returns: The models as saved, in the order given.
  /// - Throws: ``CKModelBatchError`` if some of the models failed, with each of them, its error, and the records that
  ///   were saved. Another error if nothing was saved: `CKModelError`, `CKError.invalidArguments` if two models have
  ///   the same record name, or the error of the first request.
  @discardableResult
  public func save<Model: CKRecordModel & Codable>(
    _ models: [Model],
    in zoneID: CKRecordZone.ID? = nil,
    replacing: Set<String> = []
  ) async throws -> [Model] {
    let outcomes = try await write(models, .save, in: zoneID, replacing: replacing)
    if let error = CKModelBatchError(saving: Model.self, outcomes) { throw error }
    return try outcomes.map { try $0.result.get() }
  }

  /// Saves a new model.
  ///
  /// - Throws: `CKError.serverRecordChanged` with the server's record if there is one, which is then unchanged.
  @discardableResult
  public func insert<Model: CKRecordModel & Codable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> Model { try await write([model], .insert, in: zoneID)[0].result.get() }

  /// Saves a model whose record exists.
  ///
  /// - Throws: `CKError.unknownItem` if it does not exist; otherwise as for ``save(_:in:replacing:)-(Model,_,_)``.
  @discardableResult
  public func update<Model: CKRecordModel & Codable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> Model { try await write([model], .update, in: zoneID)[0].result.get() }

  /// Saves a model over whatever the server has: its fields win, even if the record has changed since the model was
  /// read. Fields that the model does not declare are kept.
  ///
  /// Several callers can do so at the same time: each save is made on the latest version. After 16 conflicts in a row
  /// the last one is thrown.
  @discardableResult
  public func upsert<Model: CKRecordModel & Codable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> Model { try await write([model], .upsert, in: zoneID)[0].result.get() }

  /// Deletes the record of a model, in any version. That of a model with an archive is deleted in its zone.
  ///
  /// A record that does not exist counts as deleted.
  public func delete(_ model: some CKRecordModel, in zoneID: CKRecordZone.ID? = nil) async throws {
    try await deletions([model], in: zoneID)[0].result.get()
  }

  /// Deletes the records of several models. Records that do not exist count as deleted. A record that cannot be deleted
  /// does not keep the others from being deleted.
  ///
  /// - Throws: ``CKModelBatchError`` if some records were not deleted, with each of them and its error. Another error
  ///   if nothing was deleted, as for ``save(_:in:replacing:)-([Model],_,_)``.
  public func delete<Model: CKRecordModel>(_ models: [Model], in zoneID: CKRecordZone.ID? = nil) async throws {
    if let error = CKModelBatchError(deleting: Model.self, try await deletions(models, in: zoneID)) { throw error }
  }

  private func deletions<Model: CKRecordModel>(
    _ models: [Model],
    in zoneID: CKRecordZone.ID?
  ) async throws -> [(recordID: CKRecord.ID, result: Result<Void, any Error>)] {
    let encoder = CKRecordEncoder(zoneID: try zone(zoneID, of: Model.self))
    let ids = try models.map { try encoder.place(of: $0).recordID }
    try Self.refuseRepeated(ids)
    let results = try await modifyRecords(saving: [], deleting: ids, atomically: false).deleteResults
    return ids.map { id in
      switch results[id] {
      case .failure(let error as CKError)? where error.isAbsence: (id, .success(()))
      case let result?: (id, result)
      case nil: (id, .failure(Self.unanswered(id)))
      }
    }
  }

  // MARK: - Writing

  /// Returns the zone of a call for models: the given one, or that of models without one.
  ///
  /// - Throws: `CKModelError` if the type's models are in another database.
  func zone(_ zoneID: CKRecordZone.ID?, of type: any CKRecordModel.Type) throws(CKModelError) -> CKRecordZone.ID {
    try DeclaredDatabase(of: type).check(databaseScope)
    return zoneID ?? zoneIDForModels
  }

  /// The number of attempts to save a record that others change at the same time.
  static var attempts: Int { 16 }

  static func refuseRepeated(_ ids: [CKRecord.ID]) throws {
    var seen: Set<CKRecord.ID> = []
    if let id = ids.first(where: { !seen.insert($0).inserted }) {
      throw CKError(.invalidArguments, "Two of the models have the record name \(id.recordName).")
    }
  }

  static func unanswered(_ id: CKRecord.ID) -> CKError {
    CKError(.serverResponseLost, "The reply does not include the record \(id.recordName).")
  }
}

/// The ways to write a model, as decisions about one record.
enum ModelWrite: Sendable {
  case save, insert, update, upsert

  /// Whether to read the server's record before the first request. A version that the model knows would otherwise be
  /// overwritten with a list of models that only adds.
  func needsBase(_ model: EncodedModel) -> Bool {
    model.knowsVersion ? self != .insert && !model.adding.isEmpty : self == .update
  }

  /// Returns the record to send first.
  func firstRecord(_ model: EncodedModel) -> CKRecord {
    if let base = model.base {
      model.write(onto: base)
      return base
    }
    guard self == .insert, model.knowsVersion else { return model.record }
    let record = CKRecord(recordType: model.record.recordType, recordID: model.record.recordID)
    model.write(onto: record)
    return record
  }

  /// Returns the server's record on which to repeat the write after a conflict; nil if the error stands.
  func base(after error: any Error, of model: EncodedModel, attempt: Int) -> CKRecord? {
    guard let error = error as? CKError else { return nil }
    // The record was deleted meanwhile. The second time it means that the server does not know the record type.
    if error.code == .unknownItem, attempt <= 2, self == .upsert || (self == .save && !model.knowsVersion) {
      return CKRecord(recordType: model.record.recordType, recordID: model.record.recordID)
    }
    guard error.code == .serverRecordChanged, let server = error.serverRecord,
      server.recordType == model.record.recordType
    else { return nil }
    return switch self {
    case .insert: nil
    case .save, .update: model.knowsVersion ? nil : server
    case .upsert: server
    }
  }
}

extension CKDatabase.Scope {
  /// The zone of models that are saved without one in a database of this scope.
  public var zoneIDForModels: CKRecordZone.ID {
    CKRecordZone.ID(zoneName: ZoneForChanges.name(isPrivate: self == .private))
  }
}
