import CloudKit
import Facts

/// Applying re-fetched records to unconfirmed operations.
extension SyncStore {
  /// Applies the re-fetch of unconfirmed operations: a record, no record, or an error.
  func finishReadBack(
    _ ids: [Int64],
    found: [RecordKey: MirrorRecord?],
    failures: [RecordKey: WebServicesError] = [:],
    policy: MergePolicy,
    seconds: Double = 0,
    random: Double = 0,
    _ lease: Lease
  ) throws(StoreError) -> OutcomeCounts {
    return try write(lease) { ledger, now in
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      var result = OutcomeCounts()
      // One reply is one reason to wait, however many of its elements say so.
      var waits: [WaitScope: WebServicesError] = [:]
      for id in ids {
        guard var operation = try ledger.operation(id), operation.needsReadBack else { continue }
        if let error = failures[operation.key] {
          try failReadBack(&operation, error, seconds, now: now, random: random, &waits, ledger)
          if operation.state == .failed { result.failed += 1 }
          result.error = error
          continue
        }
        guard let record = found[operation.key] else { continue }
        if case .check? = operation.suspicion { operation.apply(.suspected(nil)) }
        try reconciliation.rebase(operation, onto: record, epoch: try ledger.epoch(operation.key.zoneKey))
        if try ledger.operation(id) == nil { result.acknowledged += 1 }
      }
      try Throttles.set(waits, now: now, random: random, ledger)
      try ledger.count(sent: result.acknowledged, failed: result.failed, now: now)
      return result
    }
  }

  /// Applies a re-fetch that failed because the zone does not exist. Returns the number of new dead letters.
  func finishReadBack(
    _ ids: [Int64],
    inLost zone: ZoneKey,
    _ error: WebServicesError,
    policy: MergePolicy,
    _ lease: Lease
  ) throws(StoreError) -> Int {
    return try write(lease) { ledger, now in
      var failed = 0
      for id in ids {
        guard var operation = try ledger.operation(id), operation.needsReadBack else { continue }
        operation.apply(.compared)
        operation.apply(.confirmed())
        let facts = try RecordFacts(of: operation, zoneIsMissing: true, policy, ledger)
        try ledger.write(operation.meetMissingZone(error, facts, now: now), now: now)
        if operation.state == .failed { failed += 1 }
        try ledger.update(operation)
      }
      return failed
    }
  }

  /// Applies a re-fetch that the server rejected as a whole: one of its names may be at fault, so bisection finds it.
  func finishReadBack(
    _ ids: [Int64],
    refused error: WebServicesError,
    seconds: Double = 0,
    random: Double,
    _ lease: Lease
  ) throws(StoreError) -> OutcomeCounts {
    return try write(lease) { ledger, now in
      var result = OutcomeCounts()
      var waits: [WaitScope: WebServicesError] = [:]
      result.error = error
      // The server may be failing in general: no operation is at fault unless other requests succeed or this lasts.
      let isPassing = try ledger.wait(.database).map { $0.seconds < Throttles.longWait } ?? false
      // One of the names is at fault, not the server.
      let isRejected = error.means(.isolate, during: .verifying(isWhole: true))
      if !isRejected { try Throttles.set(.database, error, now: now, random: random, ledger) }
      let operations = try ledger.operations(ids).filter(\.needsReadBack)
      for case .check(let request) in Set(operations.compactMap(\.suspicion)) {
        guard let zone = operations.first?.key.zoneKey else { break }
        for var other in try ledger.operations(of: zone, under: .check(request: request))
        where !ids.contains(other.id) {
          other.apply(.suspected(nil))
          try ledger.update(other)
        }
      }
      for var operation in operations {
        let wasSuspect = operation.suspicion != nil
        operation.apply(.suspected(ids.min().map { .check(request: $0) }))
        if operations.count == 1, (wasSuspect && !isPassing) || isRejected {
          try failReadBack(&operation, error, seconds, now: now, random: random, &waits, ledger)
          if operation.state == .failed { result.failed += 1 }
        } else {
          operation.cause = .checkRefused(code: error.code.name)
          try ledger.update(operation)
        }
      }
      try Throttles.set(waits, now: now, random: random, ledger)
      return result
    }
  }

  /// Applies the failed re-fetch of a single record, which does not hold up the others.
  ///
  /// - Parameter waits: the scopes that wait because of the reply, each with its longest wait.
  private func failReadBack(
    _ operation: inout QueuedOperation,
    _ error: WebServicesError,
    _ seconds: Double,
    now: Int64,
    random: Double,
    _ waits: inout [WaitScope: WebServicesError],
    _ ledger: Ledger
  ) throws {
    operation.errorCode = error.code.name
    operation.errorMessage = error.reason
    try Retention.addAttempt(of: operation.id, error, to: "read it back", seconds: seconds, now: now, ledger)
    let disposition = Disposition(of: error, during: .verifying(isWhole: false))
    if let scope = disposition.scope(in: operation.key.zoneKey) {
      if waits[scope].map({ $0.retryAfter ?? 0 < error.retryAfter ?? 0 }) ?? true { waits[scope] = error }
      operation.cause = .checkWaits(scope.asCause, code: error.code.name)
    } else {
      operation.apply(.attempted)
      if operation.attempts >= operation.maxAttempts {
        operation.apply(.failed(.cannotVerify(code: error.code.name, message: error.reason)))
      } else {
        operation.apply(.backedOff(error, now: now, random: random))
      }
    }
    try ledger.update(operation)
  }
}
