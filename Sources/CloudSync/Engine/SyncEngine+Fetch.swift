import CloudKit

/// Fetching changes to the end.
extension SyncEngine {
  /// - Returns: whether every change feed was fetched to its end; a failing zone does not hold up others.
  func fetch(_ lease: Lease, types: [String], sweeps: Sweeps, _ summary: inout SyncSummary) async throws -> Bool {
    lease.shown.start(.fetching)
    lease.shown.setFetching(true)
    defer { lease.shown.setFetching(false) }
    summary.hasMoreToFetch = false
    return try await fetchAll(lease, types: types, sweeps: sweeps, &summary)
  }

  private func fetchAll(_ lease: Lease, types: [String], sweeps: Sweeps, _ summary: inout SyncSummary) async throws
    -> Bool
  {
    var isComplete = true
    if database != .public {
      let isRead = try await reading(.feed(of: nil), lease, &summary) { summary in
        try await self.fetchDatabaseChanges(lease, &summary)
      }
      isComplete = isRead
      for zone in try store.zonesToRead() {
        let isRead = try await reading(.feed(of: zone), of: zone, lease, &summary) { summary in
          do {
            guard try await self.fetchZone(zone, lease, &summary) else { return false }
            try self.store.noteReadable(zone, type: nil, lease)
            return true
          } catch let held as Held where held.error.means(.denied, during: .fetchingZone) {
            try self.store.noteUnreadable(zone, type: nil, held.error, lease)
            throw held
          }
        }
        if !isRead { isComplete = false }
      }
    }
    let pulls = try store.pulls(types: types, lease)
    let toSweep = try pullsToSweep(pulls, sweeps)
    for pull in pulls {
      let feed = WaitScope.feed(of: pull.zone, type: pull.type)
      let isRead = try await reading(feed, of: pull.zone, lease, &summary) { summary in
        do {
          try await self.read(pull, lease, &summary)
          if toSweep.contains(pull) { try await self.sweep(pull, lease, &summary) }
          try self.store.noteReadable(pull.zone, type: pull.type, lease)
        } catch let refused as NotReadable {
          try self.store.markSwept(pull, lease)
          // Only a type that was fetched before, or is requested, is missing. Others may be write-only.
          if pull.lastFetchAt != nil || summary.askedTypes.contains(pull.type) {
            try self.store.noteUnreadable(pull.zone, type: pull.type, refused.error, lease)
          } else {
            try self.store.noteReadable(pull.zone, type: pull.type, lease)
          }
        }
        return true
      }
      if !isRead { isComplete = false }
    }
    for zone in Set(toSweep.map(\.zone)) {
      summary.deleted += try store.concludeSweeps(of: zone, policy: merging, lease)
    }
    return isComplete
  }

  /// The polled queries that need a full scan now: all types of a zone together, because the mass-deletion guard counts
  /// them together. A type that cannot be read does not hold up others.
  private func pullsToSweep(_ pulls: [Pull], _ sweeps: Sweeps) throws -> [Pull] {
    // A type without local records has nothing that could have been deleted.
    let known = try store.read { ledger in
      try pulls.filter { try ledger.recordTypes(in: $0.zone).contains($0.type) }
    }
    let due = try known.filter { pull in
      try isDue(pull, sweeps) && !store.isHeld(.feed(of: pull.zone, type: pull.type), of: pull.zone)
    }
    let zones = Set(due.map(\.zone))
    return known.filter { zones.contains($0.zone) }
  }

  /// Fetches one change feed or polled query. If it fails, it backs off alone; others and the sending continue.
  ///
  /// - Returns: whether it was fetched to its end, as `body` returns.
  private func reading(
    _ feed: WaitScope,
    of zone: ZoneKey? = nil,
    _ lease: Lease,
    _ summary: inout SyncSummary,
    _ body: (inout SyncSummary) async throws -> Bool
  ) async throws -> Bool {
    guard try !store.isHeld(feed, of: zone) else { return false }
    do {
      guard try await body(&summary) else { return false }
      try store.release(feed, lease)
      return true
    } catch let failed as SendingFailed {
      throw failed.error
    } catch is MadeToWait {
      return false
    } catch let held as Held {
      summary.lastItemError = held.error
      try store.hold(held.scope, held.error, random: configuration.random(), lease)
      return false
    } catch let error as WebServicesError {
      guard !Disposition(of: error, during: .fetching).stopsSync else { throw error }
      summary.lastItemError = error
      try store.hold(feed, error, random: configuration.random(), lease)
      return false
    }
  }

  /// The server does not let us read records of a type.
  struct NotReadable: Error {
    var error: WebServicesError
  }

  /// A failure to fetch, with the scope that backs off.
  struct Held: Error {
    let scope: WaitScope
    let error: WebServicesError

    /// - Parameter error: the error of a change feed or of a record in it. If the server asks to wait, sending to the
    ///   zone waits too.
    init(_ error: WebServicesError, _ zone: ZoneKey, type: String? = nil) {
      self.error = error
      scope = Disposition(of: error, during: .fetchingZone).scope(in: zone) ?? .feed(of: zone, type: type)
    }
  }

  // MARK: - Change feeds

  /// - Returns: whether the feed was fetched to its end; otherwise its turn is over.
  private func fetchDatabaseChanges(_ lease: Lease, _ summary: inout SyncSummary) async throws -> Bool {
    let client = client
    let database = database
    var token = try store.databaseToken()
    if FeedPositions.isOversized(token) { token = try forgetDatabaseToken(lease) }
    var positions = FeedPositions("changes/database", from: token)
    var hasRestarted = false
    for pages in 0..<configuration.feedTurn {
      if pages > 0 { try await sendMeanwhile(reading: .feed(of: nil), of: nil, lease, &summary) }
      try Task.checkCancellation()
      let page: WireDatabaseChanges
      do {
        page = try await request(lease) { [token] () async throws(WebServicesError) in
          try await client.databaseChanges(since: token, in: database)
        }
      } catch {
        // Restart only once; a server that rejects its latest tokens would be asked for ever.
        guard error.means(.restart, during: .fetching), token != nil, !hasRestarted else { throw error }
        token = try forgetDatabaseToken(lease)
        positions = FeedPositions("changes/database", from: token)
        hasRestarted = true
        continue
      }
      summary.requests += 1
      try positions.check(page.syncToken)
      summary.deleted += try store.apply(page, policy: merging, lease)
      guard page.moreComing else { return true }
      token = try positions.next(page.syncToken)
    }
    try endTurn(of: .feed(of: nil), "changes/database", &summary)
    return false
  }

  /// Fetches the list of zones from the start. Returns nil, the token to continue with.
  private func forgetDatabaseToken(_ lease: Lease) throws -> String? {
    try store.forgetDatabaseToken(lease)
    broadcast.send(.refetching(nil))
    return nil
  }

  /// Fetches a zone from the start. Returns nil, the token to continue with.
  private func restartReading(_ zone: ZoneKey, _ lease: Lease) throws -> String? {
    try store.restartReading(zone, lease)
    broadcast.send(.refetching(zone.zoneID))
    return nil
  }

  /// Ends the turn of a change feed that has more pages. It goes on from its stored token.
  private func endTurn(of feed: WaitScope, _ operation: String, _ summary: inout SyncSummary) throws {
    let pages = feedPages[feed, default: 0] + configuration.feedTurn
    feedPages[feed] = pages
    guard pages < configuration.pageLimit else { throw FeedPositions.endless(operation, pages: pages) }
    summary.hasMoreToFetch = true
  }

  /// - Returns: whether the feed was fetched to its end; otherwise its turn is over.
  private func fetchZone(_ zone: ZoneKey, _ lease: Lease, _ summary: inout SyncSummary) async throws -> Bool {
    let client = client
    let database = database
    var token = try store.startReading(zone, lease)
    if FeedPositions.isOversized(token) { token = try restartReading(zone, lease) }
    var positions = FeedPositions("changes/zone", from: token)
    var hasRestarted = false
    var ahead: NextPage?
    defer { ahead?.cancel() }
    for pages in 0..<configuration.feedTurn {
      if pages > 0 { try await sendMeanwhile(reading: .feed(of: zone), of: zone, lease, &summary) }
      try Task.checkCancellation()
      let answer: WireZoneChangesResult
      do {
        let requested = ahead?.token == token ? ahead : nil
        ahead = nil
        answer = try await request(lease) { [token] () async throws(WebServicesError) in
          if let requested { return try await requested.answer() }
          return try await client.zoneChanges(zone.wire, since: token, in: database)
        }
      } catch {
        guard error.means(.restart, during: .fetching) else { throw error }
        answer = .failure(zone.wire, error)
      }
      summary.requests += 1
      switch answer {
      case .failure(_, let error) where error.means(.zoneMissing, during: .fetchingZone):
        guard try await isMissing(zone, lease, &summary) else { throw Held(error, zone) }
        summary.deleted += try store.zoneIsGone(zone, policy: merging, lease)
        return true
      case .failure(_, let error)
      where error.means(.restart, during: .fetchingZone) && token != nil && !hasRestarted:
        token = try restartReading(zone, lease)
        positions = FeedPositions("changes/zone", from: token)
        hasRestarted = true
      case .failure(_, let error):
        throw Held(error, zone)
      case .changes(let page):
        try positions.check(page.syncToken)
        if page.moreComing, let next = page.syncToken, next != token, pages + 1 < configuration.feedTurn,
          mayFetchAhead(summary)
        {
          let signIn = authenticatedSignIn
          ahead = NextPage(token: next) {
            await Self.result(as: signIn) { () async throws(WebServicesError) in
              try await client.zoneChanges(zone.wire, since: next, in: database)
            }
          }
        }
        let effect = try store.apply(page, to: zone, since: token, policy: merging, lease)
        guard !effect.isStale else {
          // Deleted here meanwhile: the database's change feed reports a recreated zone.
          guard try store.read({ try $0.zone(zone) }) != nil else { return true }
          token = try store.startReading(zone, lease)
          positions = FeedPositions("changes/zone", from: token)
          continue
        }
        summary.fetched += effect.changed
        summary.deleted += effect.deleted
        lease.shown.show(Progress(fetched: summary.fetched + summary.deleted))
        summary.note(effect)
        if let failure = effect.failure { throw Held(failure, zone) }
        guard page.moreComing else { return true }
        // Empty pages with more to come are normal, but the token must change.
        token = try positions.next(page.syncToken)
      }
    }
    try endTurn(of: .feed(of: zone), "changes/zone", &summary)
    return false
  }

  /// Whether to request the next page while the current one is applied. Not if something is sent in between, because
  /// the page could be older than what was sent; and not in simulated time, in which nothing runs at the same time.
  private func mayFetchAhead(_ summary: SyncSummary) -> Bool {
    configuration.heartbeat != nil && !(summary.pages + 1).isMultiple(of: configuration.turn.pages)
  }

  /// A page of changes that was requested before the one before it was applied.
  private struct NextPage: Sendable {
    let token: String
    private let task: Task<Result<WireZoneChangesResult, WebServicesError>, Never>

    init(token: String, _ request: @escaping @Sendable () async -> Result<WireZoneChangesResult, WebServicesError>) {
      self.token = token
      task = Task.detached { await request() }
    }

    func answer() async throws(WebServicesError) -> WireZoneChangesResult {
      let result = await withTaskCancellationHandler {
        await task.value
      } onCancel: {
        task.cancel()
      }
      return try result.get()
    }

    func cancel() { task.cancel() }
  }
}
