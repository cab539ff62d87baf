public import CloudKit
internal import Foundation

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
  /// - Returns: The model as saved, with its system values. If the saved record does not decode, `CKModelError` is
  ///   thrown although it was saved; its ``CKModelError/recordID`` is set then.
  /// - Throws: `CKError.serverRecordChanged` if the record has changed since the model was read; `CKModelError` for a
  ///   value that a record cannot store.
  @discardableResult
  public func save<Model: CKRecordModel & Codable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> Model { try await write([model], .save, in: zoneID)[0].get() }

  /// Saves several models, each with its own result, in the order given.
  ///
  /// - Throws: An error if nothing was saved: `CKModelError`, or `CKError.invalidArguments` if two models have the
  ///   same record name.
  @discardableResult
  public func save<Model: CKRecordModel & Codable>(
    _ models: [Model],
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> [Result<Model, any Error>] { try await write(models, .save, in: zoneID) }

  /// Saves a new model.
  ///
  /// - Throws: `CKError.serverRecordChanged` with the server's record if there is one, which is then unchanged.
  @discardableResult
  public func insert<Model: CKRecordModel & Codable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> Model { try await write([model], .insert, in: zoneID)[0].get() }

  /// Saves a model whose record exists.
  ///
  /// - Throws: `CKError.unknownItem` if it does not exist; otherwise as for ``save(_:in:)-(Model,_)``.
  @discardableResult
  public func update<Model: CKRecordModel & Codable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> Model { try await write([model], .update, in: zoneID)[0].get() }

  /// Saves a model over whatever the server has: its fields win, even if the record has changed since the model was
  /// read. Fields that the model does not declare are kept.
  ///
  /// Several callers can do so at the same time: each save is made on the latest version. After 16 conflicts in a
  /// row the last one is thrown.
  @discardableResult
  public func upsert<Model: CKRecordModel & Codable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> Model { try await write([model], .upsert, in: zoneID)[0].get() }

  /// Deletes the record of a model, in any version. That of a model with an archive is deleted in its zone.
  ///
  /// A record that does not exist counts as deleted.
  public func delete(_ model: some CKRecordModel, in zoneID: CKRecordZone.ID? = nil) async throws {
    try await delete([model], in: zoneID)[0].get()
  }

  /// Deletes the records of several models, each with its own result, in the order given. Records that do not exist
  /// count as deleted.
  @discardableResult
  public func delete<Model: CKRecordModel>(
    _ models: [Model],
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> [Result<Void, any Error>] {
    let encoder = CKRecordEncoder(zoneID: zoneID ?? zoneIDForModels)
    let ids = try models.map { try encoder.place(of: $0).recordID }
    try Self.refuseRepeated(ids)
    let results = try await modifyRecords(saving: [], deleting: ids, atomically: false).deleteResults
    return ids.map { id in
      switch results[id] {
      case .failure(let error as CKError)? where [.unknownItem, .zoneNotFound].contains(error.code): .success(())
      case let result?: result
      case nil: .failure(Self.unanswered(id))
      }
    }
  }

  // MARK: - Writing

  /// The number of attempts to save a record that others change at the same time.
  static var attempts: Int { 16 }

  private func write<Model: CKRecordModel & Codable>(
    _ models: [Model],
    _ verb: ModelWrite,
    in zoneID: CKRecordZone.ID?
  ) async throws -> [Result<Model, any Error>] {
    let encoder = CKRecordEncoder(zoneID: zoneID ?? zoneIDForModels)
    let encoded = try models.map(encoder.encoded)
    let ids = encoded.map(\.record.recordID)
    try Self.refuseRepeated(ids)
    var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
    var pending = Dictionary(zip(ids, encoded)) { first, _ in first }
    if verb == .update { try await readBases(of: &pending, &results, zoneID) }
    var records = pending.mapValues { verb.firstRecord($0) }
    for attempt in 1...Self.attempts where !records.isEmpty {
      // A random wait separates callers that conflict with each other.
      if attempt > 2 { try await Task.sleep(for: .milliseconds(Int.random(in: 0...attempt * 10))) }
      let sent = ids.compactMap { records[$0] }
      let saved: [CKRecord.ID: Result<CKRecord, any Error>]
      do {
        saved = try await saveCreatingZone(sent, isOwnZone: zoneID == nil)
      } catch  where attempt > 1 {
        // Other models have been saved already.
        saved = Dictionary(sent.map { ($0.recordID, .failure(error)) }) { first, _ in first }
      }
      records = [:]
      for (id, result) in saved {
        results[id] = result
        guard attempt < Self.attempts, let model = pending[id], case .failure(let error) = result,
          let base = verb.base(after: error, of: model, attempt: attempt)
        else { continue }
        model.write(onto: base)
        records[id] = base
      }
    }
    return ids.map { id in
      let result = results[id] ?? .failure(Self.unanswered(id))
      return result.flatMap { record in Result { try CKRecordDecoder().decode(Model.self, from: record) } }
    }
  }

  /// Reads the server's records of models that know no version of theirs. Those that cannot be read are not saved.
  private func readBases(
    of models: inout [CKRecord.ID: EncodedModel],
    _ results: inout [CKRecord.ID: Result<CKRecord, any Error>],
    _ zoneID: CKRecordZone.ID?
  ) async throws {
    let unknown = models.filter { !$0.value.knowsVersion }.map(\.key)
    guard !unknown.isEmpty else { return }
    for (id, result) in try await records(for: unknown) {
      switch result {
      case .success(let record): models[id]?.base = record
      case .failure:
        results[id] = missingZoneIsEmpty(result, zoneID)
        models[id] = nil
      }
    }
  }

  /// Saves records and creates the zone for models if the server does not have it yet.
  private func saveCreatingZone(
    _ records: [CKRecord],
    isOwnZone: Bool
  ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
    func save(_ records: [CKRecord]) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
      try await modifyRecords(saving: records, deleting: [], atomically: false).saveResults
    }
    func lacksZone(_ error: any Error) -> Bool {
      isOwnZone && databaseScope == .private && (error as? CKError)?.code == .zoneNotFound
    }
    var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
    var homeless = records
    do {
      results = try await save(records)
      homeless = records.filter { record in
        guard record.recordID.zoneID == zoneIDForModels, case .failure(let error) = results[record.recordID] else {
          return false
        }
        return lacksZone(error)
      }
    } catch {
      guard lacksZone(error) else { throw error }
    }
    guard !homeless.isEmpty else { return results }
    try await self.save(CKRecordZone(zoneID: zoneIDForModels))
    return results.merging(try await save(homeless)) { $1 }
  }

  private static func refuseRepeated(_ ids: [CKRecord.ID]) throws {
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
  public var zoneIDForModels: CKRecordZone.ID { self == .private ? DatabaseName.private.zoneForChanges : .default }
}
