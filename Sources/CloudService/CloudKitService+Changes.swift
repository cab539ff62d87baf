public import CloudKit
public import CloudSync

/// Changes of records and zones: on disk when a call returns, and sent as soon as possible.
extension CloudKitService {
  /// Requests a sync now: ends back-offs and fetches all changes. A server's wait is kept.
  public func syncNow() { give(.askForSync) }

  /// Accepts a record to be saved: its fields, the fields to clear, and its parent. It is on disk on return, and sent
  /// as soon as possible. The record counts as saved: the next save covers only later changes.
  ///
  /// If the server's record has changed since it was fetched, fields that both sides changed are a conflict.
  ///
  /// ```swift
  /// let change = try await service.save(record)      // on disk
  /// let outcome = try await change.outcome           // sent, failed, in conflict, or dropped
  /// ```
  ///
  /// - Returns: a value to await the outcome of the change.
  /// - Throws: the delegate's error if it does not accept the record; `CloudKitServiceError` if the service is read-only
  ///   or the record can never be sent (name, type, 1 MB, a share); `StoreError` if the store cannot accept it.
  @discardableResult
  public func save(_ record: CKRecord) async throws -> QueuedChange { try await save([record])[0] }

  /// Accepts records to be saved, all or none of each database.
  ///
  /// ```swift
  /// let outcome = try await service.save(records).outcomes
  /// for (recordID, failure) in outcome.failed { log(recordID, failure.ckError) }
  /// ```
  ///
  /// - Returns: a value for each record, in order, to await the outcome of its change.
  /// - Throws: the same errors as for one record. The changes of the other database may have been accepted.
  @discardableResult
  public func save(_ records: [CKRecord]) async throws -> [QueuedChange] {
    try engine?.validate(records)
    return try await accept(in: records.map(\.recordID.zoneID)) { places, store, origin in
      try store.save(places.map { records[$0] }, origin: origin)
    }
  }

  /// Accepts deletions, all or none of each database. They are on disk on return. Deleting a record that does not exist
  /// is no error.
  ///
  /// - Returns: a value for each record, in order, to await the outcome of its deletion.
  /// - Throws: the same errors as ``save(_:)-(CKRecord)``. The deletions of the other database may have been accepted.
  @discardableResult
  public func delete(_ recordIDs: [CKRecord.ID]) async throws -> [QueuedChange] {
    try await accept(in: recordIDs.map(\.zoneID)) { places, store, _ in try store.delete(places.map { recordIDs[$0] }) }
  }

  /// Accepts a deletion. It is on disk on return.
  ///
  /// - Returns: a value to await the outcome of the deletion.
  /// - Throws: the same errors as ``save(_:)-(CKRecord)``.
  @discardableResult
  public func delete(_ recordID: CKRecord.ID) async throws -> QueuedChange { try await delete([recordID])[0] }

  /// Accepts the deletion of a zone with all its records, as `SyncStore.deleteZone(_:)` does.
  @discardableResult
  public func deleteZone(_ zoneID: CKRecordZone.ID) async throws -> Bool {
    try await service(for: zoneID).accepting { try $0.acceptDeletion(of: $0.key(of: zoneID)) }
  }

  /// Accepts changes of records, each in the store of its database. A generic function in its place crashes the compiler
  /// in a release build (Swift 6.3.1).
  ///
  /// - Parameter body: Accepts the changes at these places of the call.
  private func accept(
    in zones: [CKRecordZone.ID],
    _ body: @escaping @Sendable ([Int], SyncStore, CKDatabase?) throws -> [QueuedChange]
  ) async throws -> [QueuedChange] {
    let services = try zones.map { try service(for: $0) }
    let own = zones.indices.filter { services[$0] === self }
    let others = zones.indices.filter { services[$0] !== self }
    var changes: [Int: QueuedChange] = [:]
    if !own.isEmpty || zones.isEmpty {
      for (place, change) in zip(own, try await accept(own, body)) { changes[place] = change }
    }
    if let shared, !others.isEmpty {
      for (place, change) in zip(others, try await shared.accept(others, body)) { changes[place] = change }
    }
    return zones.indices.compactMap { changes[$0] }
  }

  private func accept(
    _ places: [Int],
    _ body: @escaping @Sendable ([Int], SyncStore, CKDatabase?) throws -> [QueuedChange]
  ) async throws -> [QueuedChange] {
    let origin = engine?.configuration.origin
    return try await accepting { try body(places, $0, origin) }
  }

  /// Changes the store. That something can never be sent is an error of the service.
  private func accepting<Value: Sendable>(_ body: @escaping @Sendable (SyncStore) throws -> Value) async throws -> Value
  {
    do {
      return try await change(body)
    } catch  where error is CKError || (error as? StoreError)?.kind == .invalid {
      throw CloudKitServiceError(error)
    }
  }

  /// Changes the store, off the main actor. The published state has the effect on return.
  func change<Value: Sendable>(_ body: @escaping @Sendable (SyncStore) throws -> Value) async throws -> Value {
    guard !isReadOnly else { throw CloudKitServiceError.writeNotSupportedOnPlatform }
    let (changing, shown) = (changing, store)
    let result = await Task.detached { Result { try body(changing.get(shown: shown)) } }.value
    await readNow()
    return try result.get()
  }
}
