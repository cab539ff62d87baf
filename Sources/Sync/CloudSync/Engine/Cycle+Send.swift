import CloudKit

/// Sending what the planner selects, and recording the outcome.
extension Cycle {
  /// Sends until nothing more can be sent now, it is time to fetch, or a pause or a wait interrupts the cycle. Returns
  /// whether anything was sent.
  func send() async throws -> Bool {
    guard !isInterrupted else { return false }
    try await resolveConflicts()
    if isInterrupted { return false }
    var hasSent = false
    hasMoreToSend = false
    var left = configuration.turn.requests
    while left > 0 {
      left -= 1
      try Task.checkCancellation()
      switch try store.plan(typeOrder: engine.typeOrder, savesMayGo: maySendSaves) {
      case .rest, .held: return hasSent
      case .noteBlockers(let ids):
        try store.noteBlockers(of: ids, lease)
        // Not a request, so it does not count.
        left += 1
        continue
      case .makeZones(let zones): try await makeZones(zones)
      case .sendZoneOperation(let id): try await sendZoneOperation(id)
      case .verify(let zone, let ids): try await verify(zone, ids)
      case .supplyAssets(let zone, let ids):
        try await supplyAssets(zone, ids)
        // An upload counts like several requests: up to 16 MB, or one file.
        left -= 10
      case .verifyZone(let id): try await verifyZone(id)
      case .send(let zone, let ids, let atomic, let isCycle):
        try await sendBatch(zone, ids, atomic: atomic, isCycle: isCycle)
      }
      hasSent = true
      try showProgress()
      if try isInterrupted || !store.mayRequest() {
        isInterrupted = true
        return true
      }
    }
    hasMoreToSend = true
    // One sync of a long queue adds more history than is kept.
    try store.write(lease) { ledger, now in try ledger.begin(.trimHistory, now: now) }
    return hasSent
  }

  /// Shows that changes are being sent.
  func showSending() throws {
    lease.shown.start(.sending)
    try showProgress()
  }

  private func showProgress() throws { lease.shown.show(rate.progress(left: try store.leftToSend(), at: store.now())) }

  /// Sends queued changes between the pages of a long fetch, now and then, unless the server or the network has
  /// problems.
  ///
  /// - Returns: whether the fetch may go on now.
  func sendMeanwhile(fetching feed: WaitScope, of zone: ZoneKey?) async throws -> Bool {
    pages += 1
    guard pages.isMultiple(of: configuration.turn.pages), session.hasAuthenticated, try !store.isInTrouble() else {
      return true
    }
    guard try await send() else { return !isInterrupted }
    hasSentMeanwhile = true
    lease.shown.start(.fetching)
    return try !isInterrupted && !store.isBackingOff(feed, of: zone)
  }

  private func sendBatch(_ zone: ZoneKey, _ ids: [Int64], atomic: Bool, isCycle: Bool) async throws {
    try showSending()
    let ids = try await approved(ids)
    // After a sign-in or sign-out the user must be verified first.
    if isOtherSignIn {
      isInterrupted = true
      return
    }
    let approved = engine.asksBeforeSending ? session.approvals : nil
    let operations =
      ids.isEmpty ? [] : try store.begin(ids, atomic: atomic, approved: approved, isCycle: isCycle, lease)
    guard !operations.isEmpty else { return }
    if operations.contains(where: { $0.kind == .delete }) { hasSentDeletes = true }
    let (answer, seconds) = await timed { (client, database) async throws(WebServicesError) in
      try await client.modify(
        operations.map(Interpreter.wireOperation),
        zone: zone.wire,
        atomic: atomic,
        in: database
      )
    }
    try concludeNothing(from: answer)
    if case .success(let results) = answer, let user = try otherUser(in: results) {
      // The records may have been written as another user: verify all of it after the next sign-in.
      try store.recoverInFlight(lease)
      session.hasAuthenticated = false
      isOtherUser = true
      throw WebServicesError(
        .authenticationFailed,
        "the server saved these changes as \(user), not this store's user; sign in again"
      )
    }
    let outcomes = Interpreter.outcomes(of: operations, answer)
    try await finish(operations, in: zone, verifying: outcomes, seconds)
    if Interpreter.missesZone(outcomes) { return }
    // The saves back off in any case, even if the server does not allow a re-fetch now.
    for (zone, targets) in Interpreter.doubtfulTargets(of: operations, outcomes)
    where try store.mayRequest() && store.serversWait(in: .zone(zone)) == nil {
      try await refetchTargets(zone, targets, of: operations)
    }
  }

  /// Applies outcomes. If the zone is reported as missing, or what was to be deleted, the server is asked once more:
  /// unless it confirms that, the operations back off.
  func finish(
    _ operations: [QueuedOperation],
    in zone: ZoneKey,
    verifying outcomes: [Int64: Outcome],
    _ seconds: Double
  ) async throws {
    summary.requests += 1
    let doubtful = Interpreter.doubtful(outcomes)
    guard !doubtful.isEmpty else { return try finish(operations, outcomes, seconds) }
    let disproved: Set<Int64>
    do {
      let asked = operations.filter { doubtful.contains($0.id) }
      disproved = try await present(asked, in: zone, zoneIsMissing: Interpreter.missesZone(outcomes))
    } catch {
      // The request was answered, so its operations must not stay in flight.
      try finish(operations, Interpreter.outcomes(outcomes, of: operations, disproved: doubtful), seconds)
      throw error
    }
    try finish(operations, Interpreter.outcomes(outcomes, of: operations, disproved: disproved), seconds)
  }

  /// Asks the server once more for what it reported as missing. Returns the operations whose zone or record exists.
  private func present(_ operations: [QueuedOperation], in zone: ZoneKey, zoneIsMissing: Bool) async throws -> Set<
    Int64
  > {
    let ids = Set(operations.map(\.id))
    if zoneIsMissing || operations.contains(where: \.kind.isOfZone) { return try await isMissing(zone) ? [] : ids }
    guard case .success(let results) = try await refetch(operations.map(\.key.name), in: zone) else { return ids }
    let absent = Interpreter.absent(in: results, zone)
    if !absent.isEmpty { try await requireSameUser() }
    return Set(operations.filter { !absent.contains($0.key) }.map(\.id))
  }

  /// Throws if a failure is not the server's: the task was cancelled, or the user changed. Operations in flight will be
  /// verified.
  func concludeNothing<Value>(from answer: Result<Value, WebServicesError>) throws {
    guard case .failure(let error) = answer, Task.isCancelled || isOtherSignIn else { return }
    try store.recoverInFlight(lease)
    try Task.checkCancellation()
    throw error
  }

  /// Re-fetches the records that rejected saves refer to: if they are missing, retrying does not help.
  private func refetchTargets(_ zone: ZoneKey, _ targets: [String], of operations: [QueuedOperation]) async throws {
    switch try await refetch(targets, in: zone) {
    case .success(let results):
      let absent = Interpreter.absent(in: results, zone)
      summary.failed += try store.finishTargets(absent, of: operations.map(\.id), policy: merging, lease)
    case .failure(let error) where error.asksToWait: throw error
    // The saves back off anyway.
    case .failure: return
    }
  }

  /// The other user as whom records of a private database were saved, if the account was switched meanwhile.
  private func otherUser(in results: [WireResult<WireRecord>]) throws -> String? {
    guard database == .private, engine.identity == nil, let owner = try store.owner() else { return nil }
    for case .item(let record) in results {
      if let user = record.modified?.userRecordName, user != owner { return user }
    }
    return nil
  }

  func finish(
    _ operations: [QueuedOperation],
    _ outcomes: [Int64: Outcome],
    _ seconds: Double
  ) throws {
    let counts = try store.finish(
      operations,
      outcomes,
      seconds: seconds,
      policy: merging,
      random: configuration.random(),
      lease
    )
    summary.add(counts)
    rate.add(counts.acknowledged)
  }

  /// Re-fetches records whose server version is unknown: after a lost reply, and after a conflict, which comes without
  /// the server's record (reference 6.3).
  private func verify(_ zone: ZoneKey, _ ids: [Int64]) async throws {
    let operations = try store.unconfirmed(ids)
    guard !operations.isEmpty else { return }
    let (answer, seconds) = await timed { (client, database) async throws(WebServicesError) in
      try await client.lookup(operations.map(\.key.name), zone: zone.wire, in: database)
    }
    summary.requests += 1
    let outcomes: [Int64: Outcome]
    switch answer {
    case .success(let results): outcomes = try Interpreter.outcomes(ofVerifying: operations, in: zone, results)
    case .failure(let error):
      var disposition = Disposition(of: error, during: .verifying(isWhole: true))
      if disposition.stopsSync { throw error }
      if disposition == .zoneMissing, try await !isMissing(zone) { disposition = .backOff }
      outcomes = Dictionary(uniqueKeysWithValues: operations.map { ($0.id, .notVerified(error, disposition)) })
    }
    try finish(operations, outcomes, seconds)
  }
}

extension SyncSummary {
  /// Adds the effects of a reply on the queue.
  mutating func add(_ counts: SyncStore.OutcomeCounts) {
    sent += counts.acknowledged
    failed += counts.failed
    if let error = counts.error { lastItemError = error }
  }
}
