/// A fetch: first which zones changed, then their records, page by page.
struct FetchRun: Sendable {
  let session: EngineSession
  let context: CKSyncEngine.FetchChangesContext

  private var database: CKDatabase { session.database }
  private var state: EngineState { session.state.value }

  /// Fetches and returns the error that ended it; nil if it succeeded.
  func failure() async -> CKError? {
    await session.post(.willFetchChanges(.init(context: context)))
    var failure: CKError?
    do {
      try await fetchDatabase()
      try await fetchZones()
    } catch {
      failure = CKError(any: error)
    }
    await session.post(.didFetchChanges(.init(context: context)))
    return failure
  }

  private func fetchDatabase() async throws {
    do {
      try await fetchPages()
    } catch CKError.changeTokenExpired {
      // Zones that were deleted meanwhile are not in the new list, so they are found by their absence.
      await session.update { $0.databaseToken = nil }
      let present = try await fetchPages()
      let gone = state.zones.keys.filter { !present.contains($0) }
      guard !gone.isEmpty else { return }
      await session.post(
        .fetchedDatabaseChanges(
          .init(modifications: [], deletions: gone.map { .init(zoneID: $0, reason: .deleted) })
        ),
        after: { state in for zoneID in gone { state.forget(zoneID) } }
      )
    }
  }

  /// Fetches the changes since the token and returns the changed zones.
  @discardableResult
  private func fetchPages() async throws -> Set<CKRecordZone.ID> {
    var all: Set<CKRecordZone.ID> = []
    try await FetchPositions.follow(from: state.databaseToken) { _ in
      let token = state.databaseToken
      let page = try await database.databaseChanges(since: token)
      let changed = page.modifications.map(\.zoneID)
      let deleted = page.deletions.map(\.zoneID)
      all.formUnion(changed)
      let take: @Sendable (inout EngineState) -> Void = {
        $0.take(changed: changed, deleted: deleted, token: page.changeToken)
      }
      if changed.isEmpty, deleted.isEmpty {
        if page.changeToken != token { await session.update(take) }
      } else {
        await session.post(
          .fetchedDatabaseChanges(.init(modifications: page.modifications, deletions: page.deletions)),
          after: take
        )
      }
      return page.moreComing ? page.changeToken : nil
    }
    return all
  }

  // MARK: - Zones

  /// Fetches one page after the other, each of the zone that comes first by then.
  private func fetchZones() async throws {
    var begun: [CKRecordZone.ID] = []
    var failed: [CKRecordZone.ID: CKError] = [:]
    var incomplete: [CKRecordZone.ID: CKError] = [:]
    var positions: [CKRecordZone.ID: FetchPositions] = [:]
    var stopped: CKError?
    while stopped == nil, let zoneID = await nextZone(without: failed) {
      if !begun.contains(zoneID) {
        begun.append(zoneID)
        await session.post(.willFetchRecordZoneChanges(.init(zoneID: zoneID)))
      }
      do {
        switch try await fetchPage(of: zoneID, &positions[zoneID]) {
        case .more: continue
        case .last: await end(zoneID, nil)
        case .incomplete(let error): incomplete[zoneID] = error
        case .failed(let error):
          failed[zoneID] = error
          await end(zoneID, error)
        }
      } catch {
        let error = CKError(any: error)
        failed[zoneID] = error
        if !error.concernsZoneOnly { stopped = error }
        await end(zoneID, error)
      }
      begun.removeAll { $0 == zoneID }
    }
    // These are zones that the delegate excluded after their first page.
    for zoneID in begun { await end(zoneID, nil) }
    if let stopped { throw stopped }
    let errors = incomplete.merging(failed) { $1 }
    guard errors.isEmpty else { throw CKError(.partialFailure, itemErrors: errors) }
  }

  private func nextZone(without failed: [CKRecordZone.ID: CKError]) async -> CKRecordZone.ID? {
    let (delegate, engine) = (session.delegate, session.engine)
    var state = self.state
    for zoneID in failed.keys { state.forget(zoneID) }
    guard !state.unfetched.isEmpty else { return nil }
    let options = await engine.call { await delegate.nextFetchChangesOptions(context, syncEngine: engine) }
    return state.nextZone(for: options)
  }

  private enum Page {
    case more
    case last
    /// The page was taken without the records that cannot be read, and the error was reported.
    case incomplete(CKError)
    /// A record cannot be read now, so that the page has to be fetched again.
    case failed(CKError)
  }

  /// Fetches a page of a zone.
  ///
  /// - Parameter positions: The positions of the zone's feed in this run; nil before the first page.
  private func fetchPage(of zoneID: CKRecordZone.ID, _ positions: inout FetchPositions?) async throws -> Page {
    let token = state.zones[zoneID]
    var reached = positions ?? FetchPositions(from: token)
    defer { positions = reached }
    let page: CKDatabase.ChangesPage
    do {
      page = try await database.changesPage(of: zoneID, since: token, desiredKeys: nil, resultsLimit: nil)
    } catch CKError.changeTokenExpired where token != nil {
      // The engine keeps no records, so it cannot know which were deleted since: the app gets all that are there.
      await session.update { $0.take(zoneID, token: nil, isLast: false) }
      reached = FetchPositions()
      return .more
    } catch CKError.zoneNotFound {
      await session.update { $0.forget(zoneID) }
      throw CKError(.zoneNotFound, "The zone \(zoneID.zoneName) does not exist.")
    }
    let modifications = page.modifications.compactMap { try? $0.1.get() }
    var failures: [CKRecord.ID: CKError] = [:]
    for (id, result) in page.modifications { failures[id] = result.failure.map { CKError(any: $0) } }
    let isLast = !page.moreComing
    let take: @Sendable (inout EngineState) -> Void = {
      $0.take(zoneID, token: page.changeToken, isLast: isLast)
    }
    if modifications.isEmpty, page.deletions.isEmpty {
      if failures.isEmpty { await session.update(take) }
    } else {
      await session.post(
        .fetchedRecordZoneChanges(.init(modifications: modifications, deletions: page.deletions)),
        after: failures.isEmpty ? take : nil
      )
    }
    // An error that lasts, as that of a file that is gone, would hold up the zone for ever.
    if let error = failures.values.first(where: \.keepsChangePending) { return .failed(error) }
    if !isLast { _ = try reached.next(page.changeToken) }
    guard failures.isEmpty else {
      let error = CKError(.partialFailure, itemErrors: failures)
      await end(zoneID, error, after: take)
      return .incomplete(error)
    }
    return isLast ? .last : .more
  }

  private func end(
    _ zoneID: CKRecordZone.ID,
    _ error: CKError?,
    after: (@Sendable (inout EngineState) -> Void)? = nil
  ) async {
    await session.post(.didFetchRecordZoneChanges(.init(zoneID: zoneID, error: error)), after: after)
  }
}
