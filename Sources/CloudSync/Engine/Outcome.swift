package import CloudKit

/// What the server said of one operation that was sent.
package enum Outcome: Hashable, Sendable {
  /// Saved; the record as the server holds it now.
  case saved(MirrorRecord)
  case deleted
  /// The zone was made or deleted.
  case zoneDone
  case failed(WebServicesError, Disposition)
}

/// Turns an answer into one outcome for each operation sent. Pure; elements are matched by name, by index only where a
/// name is missing, since the order of an answer is not promised (reference 7.20).
package enum Interpreter {
  package static func outcomes(
    of sent: [QueuedOperation],
    _ answer: Result<[WireRecordResult], WebServicesError>
  ) -> [Int64: Outcome] {
    let results: [WireRecordResult]
    switch answer {
    case .success(let elements):
      results = elements
    case .failure(let error):
      return failAll(sent, error)
    }
    var byName: [String: WireRecordResult] = [:]
    for (index, result) in results.enumerated() {
      let name = result.recordName ?? (index < sent.count ? sent[index].key.name : nil)
      if let name { byName[name] = result }
    }
    var outcomes: [Int64: Outcome] = [:]
    let blamesNobody =
      !results.isEmpty
      && results.allSatisfy { result in
        if case .failure(_, let error) = result { error.code == .atomicError } else { false }
      }
    for operation in sent {
      outcomes[operation.id] = outcome(of: operation, byName[operation.key.name], blamesNobody: blamesNobody)
    }
    return outcomes
  }

  package static func failAll(_ sent: [QueuedOperation], _ error: WebServicesError) -> [Int64: Outcome] {
    var outcomes: [Int64: Outcome] = [:]
    for operation in sent { outcomes[operation.id] = failure(of: operation, error, isRequestLevel: true) }
    return outcomes
  }

  private static func outcome(
    of operation: QueuedOperation,
    _ result: WireRecordResult?,
    blamesNobody: Bool
  ) -> Outcome {
    switch (operation.sentKind ?? operation.kind, result) {
    case (.save, .record(let wire)):
      if let record = MirrorRecord(wire, in: operation.key.zoneKey) { return .saved(record) }
      return lost(operation, "the answer holds the record without its type or tag")
    case (.delete, .deleted): return .deleted
    case (_, .failure(_, let error)): return failure(of: operation, error, isRequestLevel: blamesNobody)
    case (_, nil): return lost(operation, "the answer does not mention the record")
    default: return lost(operation, "the answer does not fit the operation")
    }
  }

  /// An answer that does not tell: read back.
  private static func lost(_ operation: QueuedOperation, _ reason: String) -> Outcome {
    let error = WebServicesError(.unexpectedServerResponse, reason, effect: .unknown)
    return failure(of: operation, error, isRequestLevel: false)
  }

  package static func failure(of operation: QueuedOperation, _ error: WebServicesError, isRequestLevel: Bool) -> Outcome
  {
    .failed(
      error,
      Disposition(
        error,
        kind: operation.sentKind ?? operation.kind,
        isCreation: operation.baseTag == nil,
        attempt: operation.attempts + 1,
        maxAttempts: operation.maxAttempts,
        isRequestLevel: isRequestLevel
      )
    )
  }

  /// The wire's operation for a queued one.
  package static func wireOperation(_ operation: QueuedOperation) -> WireRecordOperation {
    var record = WireRecord(recordName: operation.key.name, recordType: operation.type)
    record.recordChangeTag = operation.baseTag
    switch operation.kind {
    case .save:
      var values = operation.changes.values
      for field in Set(operation.assets.map(\.field)) {
        values[field] = values[field].map { operation.assets.granting(field, $0) }
      }
      // Nothing is there to be cleared in a record that does not exist yet.
      record.take(values, clearing: operation.baseTag == nil ? [] : operation.changes.cleared)
      return WireRecordOperation(operation.baseTag == nil ? .create : .update, record)
    case .delete:
      record.recordType = nil
      return WireRecordOperation(operation.baseTag == nil ? .forceDelete : .delete, record)
    case .zoneSave, .zoneDelete:
      preconditionFailure("A zone operation is no operation of records/modify.")
    }
  }
}
