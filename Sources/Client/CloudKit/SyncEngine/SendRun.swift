/// A send: first the changes to zones, then the batches of the delegate, until there are no more.
struct SendRun: Sendable {
  let session: EngineSession
  let context: CKSyncEngine.SendChangesContext

  private var scope: CKSyncEngine.SendChangesOptions.Scope { context.options.scope }

  /// Sends and returns the error that ended it; nil if it succeeded.
  func failure() async -> CKError? {
    await session.post(.willSendChanges(.init(context: context)))
    let untracked = session.state.value.untrackedSettings
    let failure = await sendAll()
    if failure == nil, scope == .all, session.state.value.hasUntracked {
      await session.update { $0.sentUntracked(settings: untracked) }
    }
    await session.post(.didSendChanges(.init(context: context)))
    return failure
  }

  private func sendAll() async -> CKError? {
    while true {
      if let failure = await sendDatabaseChanges() { return failure }
      switch await sendNextBatch() {
      case .sent: continue
      case .nothing: return nil
      case .failed(let error): return error
      }
    }
  }

  // MARK: - Zones

  private func sendDatabaseChanges() async -> CKError? {
    while true {
      let state = session.state.value
      let changes = state.nextDatabaseChanges(for: scope)
      guard !changes.isEmpty else { return nil }
      if let failure = await send(changes, addedUntil: state.databaseChanges.additions) { return failure }
    }
  }

  private func send(_ changes: [CKSyncEngine.PendingDatabaseChange], addedUntil additions: Int) async -> CKError? {
    var saves: [CKRecordZone] = []
    var deletes: [CKRecordZone.ID] = []
    for change in changes {
      switch change {
      case .saveZone(let zone): saves.append(zone)
      case .deleteZone(let zoneID): deletes.append(zoneID)
      }
    }
    let answer = await Result.catching { [saves, deletes] in
      try await session.database.modifyRecordZones(saving: saves, deleting: deletes)
    }
    let saved = ItemResults(of: saves.map(\.zoneID), in: answer.map(\.saveResults))
    let deleted = ItemResults(of: deletes, in: answer.map(\.deleteResults))
    let errors = saved.errors.merging(deleted.errors) { $1 }
    let failures = zip(saves, saved.elements).compactMap { zone, save in
      save.result.failure.map {
        CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave(zone: zone, error: CKError(any: $0))
      }
    }
    let done = changes.filter { change in errors[change.id].map { !CKError(any: $0).keepsChangePending } ?? true }
    let gone = deleted.successes
    await session.post(
      .sentDatabaseChanges(
        .init(
          savedZones: saved.values,
          failedZoneSaves: failures,
          deletedZoneIDs: gone,
          failedZoneDeletes: deleted.failures
        )
      ),
      before: { state in
        state.databaseChanges.remove(done, addedUntil: additions)
        for zoneID in gone { state.forget(zoneID) }
      }
    )
    return failure(of: answer.failure, errors)
  }

  // MARK: - Records

  private enum Step {
    case sent
    case nothing
    case failed(CKError)
  }

  private func sendNextBatch() async -> Step {
    let (delegate, engine) = (session.delegate, session.engine)
    guard !Task.isCancelled else { return .failed(CKError(.operationCancelled, "The send was cancelled.")) }
    // Before the delegate reads its records: a change that is added from now on is sent again.
    let additions = session.state.value.recordChanges.additions
    let batch = await engine.call { await delegate.nextRecordZoneChangeBatch(context, syncEngine: engine) }
    guard let batch, batch.count > 0 else { return .nothing }
    let others = (batch.recordsToSave.map(\.recordID) + batch.recordIDsToDelete).filter { !scope.contains($0) }
    if let other = others.first {
      return .failed(
        CKError(
          .invalidArguments,
          "The batch has \(others.count) changes outside the scope of the send, such as to \(other.recordName). Return "
            + "only changes that context.options.scope contains."
        )
      )
    }
    return await send(batch, addedUntil: additions).map(Step.failed) ?? .sent
  }

  private func send(_ batch: CKSyncEngine.RecordZoneChangeBatch, addedUntil additions: Int) async -> CKError? {
    let answer = await Result.catching {
      try await session.database.modifyRecords(
        saving: batch.recordsToSave,
        deleting: batch.recordIDsToDelete,
        atomically: batch.atomicByZone
      )
    }
    let saved = ItemResults(of: batch.recordsToSave.map(\.recordID), in: answer.map(\.saveResults))
    let deleted = ItemResults(of: batch.recordIDsToDelete, in: answer.map(\.deleteResults))
    let errors = saved.errors.merging(deleted.errors) { $1 }
    let failures = zip(batch.recordsToSave, saved.elements).compactMap { record, save in
      save.result.failure.map {
        CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave(record: record, error: CKError(any: $0))
      }
    }
    let changes: [CKSyncEngine.PendingRecordZoneChange] =
      saved.elements.map { .saveRecord($0.id) } + batch.recordIDsToDelete.map { .deleteRecord($0) }
    let done = changes.filter { change in errors[change.id].map { !CKError(any: $0).keepsChangePending } ?? true }
    await session.post(
      .sentRecordZoneChanges(
        .init(
          savedRecords: saved.values,
          failedRecordSaves: failures,
          deletedRecordIDs: deleted.successes,
          failedRecordDeletes: deleted.failures
        )
      ),
      before: { $0.recordChanges.remove(done, addedUntil: additions) }
    )
    if !saved.values.isEmpty || !deleted.successes.isEmpty { session.engine.automation?.progressed() }
    return failure(of: answer.failure, errors)
  }

  /// The error of a batch: that of the whole request, or those of its changes; nil if it succeeded.
  private func failure(of whole: (any Error)?, _ errors: [AnyHashable: any Error]) -> CKError? {
    if let whole { return CKError(any: whole) }
    return errors.isEmpty ? nil : CKError(.partialFailure, itemErrors: errors)
  }
}

extension ItemResults {
  /// The errors of the failed items, as `CKError`.
  fileprivate var failures: [ID: CKError] {
    var failures: [ID: CKError] = [:]
    for (id, result) in elements { failures[id] = result.failure.map { CKError(any: $0) } }
    return failures
  }
}

extension Result where Failure == any Error {
  fileprivate static func catching(_ body: () async throws -> Success) async -> Result {
    do { return .success(try await body()) } catch { return .failure(error) }
  }
}
