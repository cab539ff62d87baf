public import CloudKit
import CloudSync

/// Saving a record on the server.
extension CloudKitService {
  /// Saves a record and sends it now, and returns it as the server has it then.
  ///
  /// The change is accepted as by ``save(_:)-(CKRecord)``, then its database is synced once, whether or not ``start()``
  /// was called. Whatever is thrown after that, the change stays in the queue: it is sent later, or waits in
  /// ``conflicts(limit:)`` or ``failedChanges(limit:)``.
  ///
  /// ```swift
  /// do {
  ///   let saved = try await service.saveAndSend(record)
  /// } catch CloudKitServiceError.networkUnavailable(_, let queued) {
  ///   // It is on disk and sent later. `queued?.outcome` can be awaited.
  /// } catch CloudKitServiceError.conflictDetected(let local, let remote) {
  ///   // It waits for `resolve(_:taking:fields:)`.
  /// }
  /// ```
  ///
  /// - Returns: the server's record. If both sides changed a field and the policy keeps the server's value, it has
  ///   that.
  /// - Throws: the errors of ``save(_:)-(CKRecord)``, after which nothing is queued;
  ///   `CloudKitServiceError.networkUnavailable` if the server cannot be reached; `.conflictDetected` if a person has
  ///   to decide; `.queued` with the reason if it waits for anything else; `.recordNotFound` if the record was deleted;
  ///   the server's or the app's error if it was rejected; `StoreError` if the store cannot be used;
  ///   `CancellationError`.
  @discardableResult
  public func saveAndSend(_ record: CKRecord) async throws -> CKRecord {
    let service = try service(for: record.recordID.zoneID)
    guard let engine = service.engine else { throw CloudKitServiceError.writeNotSupportedOnPlatform }
    let change = try await save(record)
    var failure: (any Error)?
    do { try await service.syncOwn() } catch { failure = error }
    let store = engine.store
    let outcome = try await Task.detached { try store.outcome(of: change) }.value
    if outcome == nil {
      if let failure, !(failure is CloudKitServiceError) { throw failure }
      try Task.checkCancellation()
    }
    let reason = if let id = change.id { try await service.detail(of: id)?.operation?.cause.text } else { String?.none }
    return try Self.saved(change, outcome, after: failure as? CloudKitServiceError, waitingFor: reason ?? "")
  }

  /// Returns the record of a save as the server has it; throws if the server does not have the change.
  ///
  /// - Parameters:
  ///   - outcome: nil if the change is in the queue.
  ///   - failure: the error that stopped the sync, if any.
  ///   - reason: why the change is in the queue.
  nonisolated static func saved(
    _ change: QueuedChange,
    _ outcome: ChangeOutcome?,
    after failure: CloudKitServiceError?,
    waitingFor reason: String
  ) throws(CloudKitServiceError) -> CKRecord {
    switch (outcome, failure) {
    case (.sent(let record?), _), (.merged(let record?, _), _): return record
    case (.sent(nil), _), (.merged(nil, _), _): throw .recordNotFound()
    case (.superseded, _):
      throw .unknown(StoreError(.invalid, "a later change of the record took the place of this one before it was sent"))
    case (.discarded, _): throw .unknown(StoreError(.invalid, "the change was discarded before it was sent"))
    case (.failed(let failure), _): throw CloudKitServiceError(failure)
    case (.conflict(let conflict), _):
      guard let local = conflict.change.clientRecord, let remote = conflict.change.serverRecord else {
        throw .recordNotFound()
      }
      throw .conflictDetected(local: local, remote: remote)
    case (nil, .networkUnavailable(let error, _)?): throw .networkUnavailable(error, queued: change)
    case (nil, let failure?): throw failure
    case (nil, nil): throw .queued(change, reason: reason)
    }
  }
}
