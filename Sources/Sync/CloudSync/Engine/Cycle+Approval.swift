import CloudKit
import Facts
import Foundation

/// Asking the delegate before a change is sent.
extension Cycle {
  /// Returns the operations that may be sent unchanged; none if the delegate changed or rejected one, because then a
  /// new plan is needed.
  func approved(_ ids: [Int64]) async throws -> [Int64] {
    guard engine.asksBeforeSending, let delegate = engine.delegate else { return ids }
    let drafts = try store.drafts(ids).filter { session.approvals[$0.id] != $0.generation }
    guard !drafts.isEmpty else { return ids }
    var isAsPlanned = true
    for draft in drafts {
      let record = CKRecord(draft.key, type: draft.type, fields: draft.fields, tag: draft.tag)
      let changes: FieldChanges
      do {
        let engine = engine
        // A question without an answer does not hold up the others.
        let answer = try await engine.ask(limit: SyncEngine.overdueLimit) {
          try await delegate.syncEngine(engine, willSend: record)
        }
        guard answer.recordID == record.recordID, answer.recordType == record.recordType else {
          throw StoreError(.invalid, "the app returned another record than it was asked about")
        }
        let fields = try answer.queueFields()
        changes = FieldChanges(values: fields, cleared: Set(draft.fields.keys).subtracting(fields.keys))
          .effective(on: draft.fields)
      } catch {
        // Rethrow our own cancellation; a `CancellationError` of the app is its rejection.
        try Task.checkCancellation()
        try store.keepBack(draft, error, random: configuration.random(), lease)
        isAsPlanned = false
        continue
      }
      if changes.isEmpty {
        session.approvals[draft.id] = draft.generation
      } else {
        session.approvals[draft.id] = try store.amend(draft, changes, lease)
        isAsPlanned = false
      }
    }
    // Asking twice about a version does no harm.
    if session.approvals.count > 10_000 { session.approvals = session.approvals.filter { ids.contains($0.key) } }
    return isAsPlanned ? ids : []
  }
}

extension SyncStore {
  /// A save that is about to be sent.
  struct Draft: Sendable {
    var id: Int64
    var generation: Int64
    var key: RecordKey
    var type: String
    var fields: [String: FieldValue]
    var tag: String?
  }

  func drafts(_ ids: [Int64]) throws(StoreError) -> [Draft] {
    try read { ledger in
      try ids.compactMap { id in
        guard let operation = try ledger.operation(id), operation.kind == .save, let type = operation.type else {
          return nil
        }
        let local = try ledger.local(operation)
        return Draft(
          id: id,
          generation: operation.generation,
          key: operation.key,
          type: type,
          fields: local.fields,
          tag: local.server?.changeTag
        )
      }
    }
  }

  /// Applies the changes that the app made to a record before it is sent. Returns the generation to send.
  func amend(_ draft: Draft, _ changes: FieldChanges, _ lease: Lease) throws(StoreError) -> Int64? {
    try change(draft, lease) { operation, server, now in
      operation.changes.apply(changes)
      for name in changes.names where operation.base[name] == nil { operation.base[name] = server?.fields[name] }
      operation.generation += 1
    }
  }

  /// Handles a save that the app rejected, or about which it did not answer in time.
  func keepBack(_ draft: Draft, _ error: any Error, random: Double, _ lease: Lease) throws(StoreError) {
    _ = try change(draft, lease) { operation, _, now in
      let reason = SyncEngine.reason(error)
      if let silence = error as? NoAnswer, !silence.wasAsked {
        let end = now + Backoff.milliseconds(max(silence.seconds, 1))
        operation.apply(.deferred(until: end, isServersWait: false))
        operation.cause = .appSilent(reason)
        return
      }
      operation.apply(.attempted)
      if error is NoAnswer {
        operation.apply(.backedOff(WebServicesError(ServerErrorCode("APP_SILENT"), reason), now: now, random: random))
      } else {
        operation.apply(.failed(.refusedByApp(reason)))
      }
    }
  }

  private func change(
    _ draft: Draft,
    _ lease: Lease,
    _ body: (inout QueuedOperation, MirrorRecord?, Int64) -> Void
  ) throws(StoreError) -> Int64? {
    return try write(lease) { ledger, now in
      // Edited, paused or discarded meanwhile: the app is asked again.
      guard var operation = try ledger.operation(draft.id), operation.generation == draft.generation,
        operation.state.isOpen
      else { return nil }
      body(&operation, try ledger.local(operation).server, now)
      try ledger.update(operation)
      return operation.generation
    }
  }
}
