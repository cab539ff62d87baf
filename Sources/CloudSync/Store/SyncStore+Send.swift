import CloudKit
import GRDB

/// The driver's two transactions around a request, and what it writes between them. Each checks that this process is
/// still the driver.
extension SyncStore {
  /// Marks operations in flight and returns them as they are to be sent.
  ///
  /// From here until `finish` their outcome is unknown: after a crash they are read back before anything is repeated.
  ///
  /// - Parameter atomic: an atomic group goes whole or not at all: without one of them, none is returned.
  func begin(_ ids: [Int64], atomic: Bool = false, _ lease: Lease) throws(StoreError) -> [QueuedOperation] {
    let now = now()
    return try write { database in
      try lease.check(database, now: now)
      // An operator may have paused or discarded some since the plan was made.
      let ready = try ids.compactMap { try QueueTable.operation($0, database) }.filter {
        ($0.state == .pending || $0.state == .waiting) && !$0.needsReadBack
      }
      guard ready.count == ids.count || !atomic else { return [] }
      return try ready.map { operation in
        var operation = operation
        operation.state = .inFlight
        operation.reason = "on its way"
        operation.nextAttemptAt = nil
        operation.sentGeneration = operation.generation
        operation.sentKind = operation.kind
        try database.cachedStatement(
          sql: """
            UPDATE operations SET state = 'inFlight', reason = ?, nextAttemptAt = NULL, isServersWait = 0,
              sentGeneration = generation, sentOperation = operation WHERE id = ?
            """
        ).execute(arguments: [operation.reason, operation.id])
        return operation
      }
    }
  }

  /// What a request's answer did to the queue, counted.
  struct Settled: Sendable {
    var acknowledged = 0
    var failed = 0
    var conflicts = 0
    var error: WebServicesError?
  }

  /// Writes a request's outcomes: acknowledgements with the mirror, failures with their next step, the attempt itself.
  func finish(
    _ sent: [QueuedOperation],
    _ outcomes: [Int64: Outcome],
    seconds: Double,
    policy: ConflictPolicy,
    random: Double,
    _ lease: Lease
  ) throws(StoreError) -> Settled {
    let now = now()
    return try write { database in
      try lease.check(database, now: now)
      var settlement = Settlement(
        reconciliation: Reconciliation(policy: policy, now: now, database: database),
        startedAt: now - Int64(seconds * 1000),
        seconds: seconds,
        random: random,
        // A request of one operation cannot be split, nor can an atomic group.
        isWhole: sent.count == 1 || sent.contains { $0.group != nil }
      )
      for operation in sent {
        guard let outcome = outcomes[operation.id] else { continue }
        try settlement.settle(operation, outcome)
      }
      try settlement.finish()
      return settlement.result
    }
  }

  /// Writes what a read-back showed: a record, or that there is none, or why it could not be told.
  func finishReadBack(
    _ ids: [Int64],
    found: [RecordKey: MirrorRecord?],
    failures: [RecordKey: WebServicesError] = [:],
    policy: ConflictPolicy,
    random: Double = 0,
    _ lease: Lease
  ) throws(StoreError) -> Settled {
    let now = now()
    return try write { database in
      try lease.check(database, now: now)
      let reconciliation = Reconciliation(policy: policy, now: now, database: database)
      var result = Settled()
      for id in ids {
        guard var operation = try QueueTable.operation(id, database), operation.needsReadBack else { continue }
        if let error = failures[operation.key] {
          try failReadBack(&operation, error, now: now, random: random, database)
          if operation.state == .failed { result.failed += 1 }
          result.error = error
          continue
        }
        guard let record = found[operation.key] else { continue }
        try reconciliation.rebase(operation, onto: record, epoch: try epoch(operation.key.zoneKey, database))
        switch try QueueTable.operation(id, database)?.state {
        case nil: result.acknowledged += 1
        case .conflict: result.conflicts += 1
        default: break
        }
      }
      return result
    }
  }

  /// Writes what a read-back showed that met no zone; how many operations became dead letters.
  func finishReadBack(_ ids: [Int64], inLost zone: ZoneKey, _ error: WebServicesError, _ lease: Lease)
    throws(StoreError)
    -> Int
  {
    let now = now()
    return try write { database in
      try lease.check(database, now: now)
      var failed = 0
      for id in ids {
        guard var operation = try QueueTable.operation(id, database), operation.needsReadBack else { continue }
        operation.needsReadBack = false
        if operation.kind == .delete {
          try QueueTable.end(operation, .acknowledged, "the server does not hold it", now: now, database)
          continue
        }
        operation.sentChanges = nil
        operation.attempts += 1
        try ZoneLoss.meet(&operation, error, now: now, database)
        if operation.state == .failed { failed += 1 }
        try QueueTable.update(operation, database)
      }
      return failed
    }
  }

  /// One record that cannot be read holds up itself, not those that were to be read with it.
  private func failReadBack(
    _ operation: inout QueuedOperation,
    _ error: WebServicesError,
    now: Int64,
    random: Double,
    _ database: Database
  ) throws {
    operation.errorCode = error.code.name
    operation.errorMessage = error.reason
    if error.code == .throttled || (error.code == .tryAgainLater && error.retryAfter != nil) {
      let zone = WaitScope.zone(operation.key.zoneKey)
      try Throttles.set(zone, error, now: now, random: random, database)
      operation.reason = "to be read back, held by \(error.code.name): \(zone.name)"
    } else {
      operation.attempts += 1
      if operation.attempts >= operation.maxAttempts {
        operation.fail(error.code.name, "cannot be read back: \(error.reason)")
      } else if operation.state != .paused {
        operation.backOff(error, now: now, random: random)
      }
    }
    try QueueTable.update(operation, database)
  }

  /// Operations that a dead driver left in flight: their outcome is unknown, so they are read back.
  func recoverInFlight(_ lease: Lease) throws(StoreError) -> Int {
    let now = now()
    return try write { database in
      try lease.check(database, now: now)
      try database.execute(
        sql: """
          UPDATE operations SET state = 'pending', sentGeneration = NULL, sentOperation = NULL,
            needsReadBack = name IS NOT NULL,
            reason = CASE WHEN name IS NULL THEN 'sent before a restart, to be sent again'
              ELSE 'sent before a restart, to be read back' END
          WHERE state = 'inFlight'
          """
      )
      let count = database.changesCount
      try database.execute(sql: "UPDATE activity SET state = 'idle', phase = NULL WHERE state <> 'idle'")
      return count
    }
  }

  func epoch(_ zone: ZoneKey, _ database: Database) throws -> Int64 {
    try ZoneTable.zone(zone, database)?.epoch ?? 0
  }
}
