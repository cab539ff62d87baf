internal import Foundation

extension CKDatabase {
  /// The results of saving and deleting items, by their IDs: Apple's tuple under a name.
  public typealias ModifyResults<ID: Hashable, Item> = (
    saveResults: [ID: Result<Item, any Error>], deleteResults: [ID: Result<Void, any Error>]
  )

  /// Saves and deletes several records, each with its own result. Updates the saved instances.
  ///
  /// Changes are grouped by zone and sent in requests of at most 200 changes, four requests at a time. A request whose
  /// records have a parent or a `VALIDATE` reference in another request waits for it, and deletions wait for saves. A
  /// new share is saved in its own request after its root and belongs to no atomic group: if it fails, the root stays
  /// saved and is not shared.
  ///
  /// - Parameters:
  ///   - recordsToSave: The records to save.
  ///   - recordIDsToDelete: The records to delete, in any version.
  ///   - savePolicy: The behavior when the server has another version.
  ///   - atomically: Whether all changes of a zone take effect, or none. Ignored for default zones, which have no
  ///     atomic changes.
  /// - Throws: `CKError` if the call is invalid, an atomic group is too large for one request, or a request failed as a
  ///   whole and the server answered none. With `serverResponseLost` the changes may have taken effect. Once the server
  ///   has answered a request, later failures are reported as results of their items.
  @discardableResult
  public func modifyRecords(
    saving recordsToSave: [CKRecord],
    deleting recordIDsToDelete: [CKRecord.ID],
    savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged,
    atomically: Bool = true
  ) async throws -> ModifyResults<CKRecord.ID, CKRecord> {
    var plan = try await ModifyPlan(
      saving: recordsToSave,
      deleting: recordIDsToDelete,
      savePolicy: savePolicy,
      atomically: atomically
    )
    var outcome = ModifyOutcome()
    let deletes = Set(recordIDsToDelete)
    for (id, error) in plan.unsendable { outcome.fail(id, isDelete: deletes.contains(id), error) }
    let newShares = plan.requests.filter(\.makesShare)
    let deleting = plan.requests.filter { $0.deletes && !$0.atomic }
    // Each wave is removed as it is sent, so that its memory is released while the rest is sent.
    var waves = plan.takeWaves()
    while !waves.isEmpty { try await send(waves.removeFirst(), &outcome) }
    // Requests that delete are sent together, so a target may have been deleted before a record that refers to it.
    if deleting.count > 1, outcome.stopped == nil {
      try await send(deleting.compactMap { $0.refused(in: outcome) }, &outcome)
    }
    await refreshRoots(of: newShares, &outcome)
    await explainConflicts(&outcome)
    return (outcome.saves, outcome.deletes)
  }

  /// The maximum number of concurrent requests of one call.
  private static let requestsInFlight = 4

  /// Sends requests that do not depend on each other. After one has failed as a whole, no more are sent.
  ///
  /// - Throws: The error of the first failed request, if the server answered no request of the call.
  private func send(_ wave: consuming [ModifyPlan.Request], _ outcome: inout ModifyOutcome) async throws(CKError) {
    var waiting: [ModifyPlan.Request] = []
    // From the end, because `popLast()` moves elements out of the array.
    while let planned = wave.popLast() {
      if let request = await namingRoot(in: planned, &outcome) { waiting.append(request) }
    }
    var failed: [(request: ModifyPlan.Request, error: CKError)] = []
    await withTaskGroup(of: (AssetSupply, Result<ModifyOutcome, Failure>).self) { group in
      var underWay = 0
      while true {
        while outcome.stopped == nil, underWay < Self.requestsInFlight, let request = waiting.popLast() {
          group.addTask { [self] in await send(request) }
          underWay += 1
        }
        guard let (supply, answer) = await group.next() else { return }
        underWay -= 1
        for (change, error) in supply.refused { outcome.fail(change, error) }
        switch answer {
        case .success(let answered):
          outcome.isAnswered = true
          outcome.add(answered)
        case .failure(.server(let failure)) where failure.isOfWholeZone:
          outcome.isAnswered = true
          for change in supply.request.changes { outcome.fail(change, CKError(failure, in: .item)) }
        case .failure(let failure):
          // A request whose assets could not be supplied was not sent.
          failed.append((supply.request, failure.error(supply.failure == nil ? .write : .read)))
          // The remaining requests were not sent, so they cannot have taken effect: their error is that of a read.
          outcome.stopped = outcome.stopped ?? failure.error(.read)
        }
      }
    }
    if let first = failed.first, !outcome.isAnswered { throw first.error }
    for (request, error) in failed {
      for change in request.changes { outcome.fail(change, error) }
    }
    if let stopped = outcome.stopped {
      for change in waiting.flatMap(\.changes) { outcome.fail(change, stopped) }
    }
  }

  private func send(_ planned: ModifyPlan.Request) async -> (AssetSupply, Result<ModifyOutcome, Failure>) {
    // Upload URLs are valid for minutes, so files are uploaded right before the request that refers to them.
    let supply = await supplyAssets(of: planned)
    let request = supply.request
    let answer = await attempt { client throws(WebServicesError) -> [WireResult<WireRecord>] in
      if let failure = supply.failure { throw failure }
      guard !request.changes.isEmpty else { return [] }
      return try await client.modify(
        request.changes.map(\.json),
        zone: request.zoneID.wire,
        atomic: request.atomic,
        in: name
      )
    }
    let outcome = answer.map { elements in
      var outcome = ModifyOutcome()
      outcome.read(elements, of: request)
      adoptAssets(of: outcome.saves.values.compactMap { try? $0.get() })
      return outcome
    }
    return (supply, outcome)
  }

  /// Adds the server's records to the errors of conflicts, because replies do not include them (reference 6.3). They
  /// are left out if the server must not be asked now.
  private func explainConflicts(_ outcome: inout ModifyOutcome) async {
    guard !outcome.conflicts.isEmpty else { return }
    let ids = outcome.stopped == nil ? outcome.conflicts.map(\.record.recordID) : []
    let serverRecords = try? await readRecords(for: ids)
    adoptAssets(of: serverRecords?.values.compactMap { try? $0.get() } ?? [])
    for conflict in outcome.conflicts {
      let id = conflict.record.recordID
      var info: [String: any Sendable] = [CKRecordChangedErrorClientRecordKey: conflict.record]
      info[CKRecordChangedErrorAncestorRecordKey] = conflict.record.ancestorRecord
      switch serverRecords?[id] {
      case .success(let serverRecord): info[CKRecordChangedErrorServerRecordKey] = serverRecord
      case .failure(CKError.unknownItem):
        // The record was deleted, so there is no other version to merge with.
        outcome.saves[id] = .failure(CKError(.unknownItem, "The record no longer exists on the server."))
        continue
      case .failure, nil: break
      }
      outcome.saves[id] = .failure(CKError(.serverRecordChanged, conflict.failure, adding: info))
    }
  }
}

/// The results of a call, collected from its replies.
struct ModifyOutcome: Sendable {
  var saves: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
  var deletes: [CKRecord.ID: Result<Void, any Error>] = [:]
  var conflicts: [(record: CKRecord, failure: WebServicesError)] = []
  /// Whether the server answered a request of the call, with success or with errors of its items.
  var isAnswered = false
  /// The error after which no more requests are sent.
  var stopped: CKError?

  /// Notes an error after which the server must not be asked again in this call.
  mutating func stop(after error: any Error) {
    if stopped == nil, let error = error as? CKError, error.code == .requestRateLimited { stopped = error }
  }

  mutating func fail(_ change: ModifyPlan.Change, _ error: CKError) {
    fail(change.id, isDelete: change.isDelete, error)
  }

  mutating func fail(_ id: CKRecord.ID, isDelete: Bool, _ error: CKError) {
    if isDelete { deletes[id] = .failure(error) } else { saves[id] = .failure(error) }
  }

  /// Adds the results of a request.
  mutating func add(_ answered: ModifyOutcome) {
    saves.merge(answered.saves) { $1 }
    deletes.merge(answered.deletes) { $1 }
    conflicts += answered.conflicts
    stopped = stopped ?? answered.stopped
  }

  mutating func read(_ elements: [WireResult<WireRecord>], of request: ModifyPlan.Request) {
    for (change, element) in zip(request.changes, elements.matched(to: request.changes.map(\.id.recordName))) {
      switch (change.kind, SentResult(element, ofDelete: change.isDelete)) {
      case (.save(let record, let sent), .saved(let saved)):
        record.accept(saved, sent: sent)
        saves[change.id] = .success(record)
      case (.save(let record, _), .failed(let failure)) where [.conflict, .exists].contains(failure.code):
        // The conflict of a new share concerns the root record, so there is no server version of the share.
        if failure.code == .exists || !request.makesShare { conflicts.append((record, failure)) }
        fail(change, CKError(failure, in: .writtenItem))
      case (_, .failed(let failure)):
        let error = CKError(failure, in: .writtenItem)
        fail(change, error)
        stop(after: error)
      case (_, .deleted), (.delete, .saved): deletes[change.id] = .success(())
      }
    }
  }
}

extension CKDatabase.Failure {
  fileprivate func error(_ context: FailureContext) -> CKError {
    switch self {
    case .local(let error): error
    case .server(let error): CKError(error, in: context)
    }
  }
}

extension WebServicesError {
  /// Whether the error fails all changes of a request to one zone, but no request to another zone.
  fileprivate var isOfWholeZone: Bool { code == .zoneNotFound || code == .atomicError }
}
