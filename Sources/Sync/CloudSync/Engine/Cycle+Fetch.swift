import CloudKit

/// Fetching changes to the end.
extension Cycle {
  /// Fetches all change feeds and polled queries.
  ///
  /// - Returns: whether each was fetched to its end; one that fails does not hold up others.
  func fetch(types: [String], fullScans: FullScans) async throws -> Bool {
    lease.shown.start(.fetching)
    lease.shown.setFetching(true)
    defer { lease.shown.setFetching(false) }
    hasMoreToFetch = false
    let hasFetchedFeeds = database == .public ? true : try await fetchChanges()
    guard !isInterrupted else { return false }
    return try await fetchPolled(types: types, fullScans: fullScans) && hasFetchedFeeds
  }

  /// Fetches one change feed or polled query. If it fails, it backs off alone; others and the sending continue.
  ///
  /// - Returns: whether it was fetched to its end.
  func fetching(_ feed: WaitScope, of zone: ZoneKey? = nil, _ body: () async throws -> FeedEnd) async throws
    -> Bool
  {
    guard try !isInterrupted && !store.isBackingOff(feed, of: zone) else { return false }
    switch try await body() {
    case .done, .unreadable:
      try store.release(feed, lease)
      return true
    case .waits: return false
    case .failed(let scope, let error):
      summary.lastItemError = error
      try store.backOff(scope, error, random: configuration.random(), lease)
      return false
    }
  }

  // MARK: - Change feeds

  private func fetchChanges() async throws -> Bool {
    unwrittenZones = []
    var isComplete = try await fetching(.feed(of: nil)) { try await fetch(databaseFeed()) }
    let stored = isInterrupted ? [] : try store.zonesToFetch()
    for zone in isInterrupted ? [] : stored + unwrittenZones.filter({ !stored.contains($0) }) {
      let isFetched = try await fetching(.feed(of: zone), of: zone) {
        let end = try await fetchZone(zone)
        switch end {
        case .done: try store.noteReadable(zone, type: nil, lease)
        case .failed(_, let error) where error.means(.denied, during: .fetchingZone):
          try store.noteUnreadable(zone, type: nil, error, lease)
        case .failed, .waits, .unreadable: break
        }
        return end
      }
      isComplete = isComplete && isFetched
    }
    return isComplete
  }

  private func databaseFeed() throws -> Feed<WireResults<WireZone>> {
    Feed(
      scope: .feed(of: nil),
      start: try store.databaseToken(),
      turn: configuration.feedTurn,
      limit: configuration.zoneListLimit,
      restart: { [self] in
        try await requireSameUser()
        try store.forgetDatabaseToken(lease)
        engine.broadcast.send(.refetching(nil))
        return nil
      },
      request: { [self] token throws(WebServicesError) in
        try await request { (client, database) async throws(WebServicesError) in
          try await client.databaseChanges(since: token, in: database)
        }
      },
      apply: { [self] page, _ in
        if let zones = try store.join(page, policy: merging, lease) {
          unwrittenZones = zones
        } else {
          if try store.loses(page) { try await requireSameUser() }
          summary.deleted += try store.apply(page, policy: merging, lease)
        }
        return page.step
      }
    )
  }

  private func fetchZone(_ zone: ZoneKey) async throws -> FeedEnd {
    // A page that is requested before the one before it is applied.
    var ahead: (token: String, page: ZonePage)?
    var pages = 0
    defer { ahead?.page.cancel() }
    return try await fetch(
      Feed(
        scope: .feed(of: zone),
        zone: zone,
        start: try store.startFetch(zone, lease),
        turn: configuration.feedTurn,
        limit: FeedLength.Limit(pages: configuration.pageLimit),
        restart: { [self] in
          try await requireSameUser()
          try store.restartFetch(zone, lease)
          engine.broadcast.send(.refetching(zone.zoneID))
          return nil
        },
        request: { [self] token throws(WebServicesError) in
          let requested = ahead?.token == token ? ahead?.page : nil
          ahead = nil
          pages += 1
          return try await request { (client, database) async throws(WebServicesError) in
            if let requested { return try await Self.answer(requested) }
            return try await client.zoneChanges(zone.wire, since: token, in: database)
          }
        },
        apply: { [self] result, token in
          guard case .item(let page) = result else { return try await failed(result, zone) }
          if page.moreComing, pages < configuration.feedTurn, let next = page.syncToken, next != token, mayFetchAhead {
            ahead = (next, requestAhead(zone, at: next))
          }
          return try apply(page, to: zone, since: token)
        }
      )
    )
  }

  private func failed(_ result: WireResult<WireZoneChanges>, _ zone: ZoneKey) async throws -> FeedStep {
    guard case .failure(_, let error) = result else { return result.step }
    guard error.means(.zoneMissing, during: .fetchingZone), try await isMissing(zone) else { return .refused(error) }
    summary.deleted += try store.zoneIsGone(zone, policy: merging, lease)
    return .end(.done)
  }

  private func apply(_ page: WireZoneChanges, to zone: ZoneKey, since token: String?) throws -> FeedStep {
    let effect = try store.apply(page, to: zone, since: token, policy: merging, lease)
    guard !effect.isStale else {
      // Deleted here meanwhile: the database's change feed reports a recreated zone.
      guard try store.read({ try $0.zone(zone) }) != nil else { return .end(.done) }
      return .from(try store.startFetch(zone, lease))
    }
    note(effect)
    if let failure = effect.failure { return .end(.failed(.feed(of: zone), of: zone, failure)) }
    return page.moreComing ? .more(page.syncToken) : .end(.done)
  }

  /// Adds the effects of a page or of re-fetched records.
  func note(_ effect: SyncStore.PageEffect) {
    summary.fetched += effect.changed
    summary.deleted += effect.deleted
    lease.shown.show(Progress(fetched: summary.fetched + summary.deleted))
    misfit = effect.misfit ?? misfit
  }

  // MARK: - The next page

  /// Whether to request the next page while the current one is applied. Not if something is sent in between, because
  /// the page could be older than what was sent; and not in simulated time, in which nothing runs at the same time.
  private var mayFetchAhead: Bool {
    configuration.heartbeat != nil && !(pages + 1).isMultiple(of: configuration.turn.pages)
  }

  private func requestAhead(_ zone: ZoneKey, at token: String) -> ZonePage {
    let (client, database, signIn) = (client, database, session.authenticatedSignIn)
    let page = { @Sendable in
      await Self.result(as: signIn) { () async throws(WebServicesError) in
        try await client.zoneChanges(zone.wire, since: token, in: database)
      }
    }
    return Task.detached { await page() }
  }

  private typealias ZonePage = Task<Result<WireResult<WireZoneChanges>, WebServicesError>, Never>

  private static func answer(_ page: ZonePage) async throws(WebServicesError) -> WireResult<WireZoneChanges> {
    let result = await withTaskCancellationHandler {
      await page.value
    } onCancel: {
      page.cancel()
    }
    return try result.get()
  }
}
