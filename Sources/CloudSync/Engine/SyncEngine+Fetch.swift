import CloudKit

/// Reading the feeds to their ends.
extension SyncEngine {
  /// More pages than this in one reading mean a feed that never ends.
  private static let pageLimit = 100_000

  /// - Returns: whether every feed was read to its end; a zone in trouble holds up itself only.
  func fetch(_ lease: Lease, types: [String], sweeps: Sweeps, _ summary: inout PassSummary) async throws -> Bool {
    try store.setActivity(.fetching, lease)
    var isComplete = true
    if database != .public {
      let isRead = try await reading(.feed(of: nil), lease, &summary) { summary in
        try await self.fetchDatabaseChanges(lease, &summary)
      }
      isComplete = isRead
      for zone in try store.zonesToRead() {
        let isRead = try await reading(.feed(of: zone), of: zone, lease, &summary) { summary in
          try await self.fetchZone(zone, lease, &summary)
        }
        if !isRead { isComplete = false }
      }
    }
    for pull in try store.pulls(types: types, lease) {
      let isRead = try await reading(.feed(of: pull.zone, type: pull.type), of: pull.zone, lease, &summary) { summary in
        // Where nothing was known before, there is nothing to have been deleted.
        let isKnown = try self.store.read { try $0.recordTypes(in: pull.zone).contains(pull.type) }
        try await self.read(pull, lease, &summary)
        if isKnown, self.isDue(pull, sweeps) { try await self.sweep(pull, lease, &summary) }
      }
      if !isRead { isComplete = false }
    }
    return isComplete
  }

  /// Reads one feed. One that cannot be read waits by itself: the others go on, and so does what is to be sent.
  ///
  /// - Returns: whether it was read to its end.
  private func reading(
    _ feed: WaitScope,
    of zone: ZoneKey? = nil,
    _ lease: Lease,
    _ summary: inout PassSummary,
    _ body: (inout PassSummary) async throws -> Void
  ) async throws -> Bool {
    guard try !store.isHeld(feed, of: zone) else { return false }
    do {
      try await body(&summary)
      try store.release(feed, lease)
      return true
    } catch let held as Held {
      summary.lastItemError = held.error
      try store.hold(held.scope, held.error, random: configuration.random(), lease)
      return false
    } catch let error as WebServicesError {
      guard !error.concernsEverything else { throw error }
      summary.lastItemError = error
      try store.hold(feed, error, random: configuration.random(), lease)
      return false
    }
  }

  /// What a feed's trouble holds up, where that is more than the feed.
  private struct Held: Error {
    let scope: WaitScope
    let error: WebServicesError
  }

  private func isDue(_ pull: Pull, _ sweeps: Sweeps) -> Bool {
    switch sweeps {
    case .never: return false
    case .always: return true
    case .whenDue: break
    }
    guard let sweptAt = pull.sweptAt, configuration.sweepInterval > 0 else { return true }
    // Also where the clock was set back behind the last one.
    return abs(Double(store.now() - sweptAt)) >= configuration.sweepInterval * 1000
  }

  // MARK: - Change feeds

  private func fetchDatabaseChanges(_ lease: Lease, _ summary: inout PassSummary) async throws {
    let client = client
    let database = database
    var token = try store.databaseToken()
    var hasRestarted = false
    for _ in 0..<Self.pageLimit {
      try Task.checkCancellation()
      let page: WireDatabaseChanges
      do {
        page = try await request(lease) { [token] () async throws(WebServicesError) in
          try await client.databaseChanges(since: token, in: database)
        }
      } catch {
        // A server that refuses the tokens that it has just given would be asked for ever.
        guard error.refusesToken, token != nil, !hasRestarted else { throw error }
        try store.forgetDatabaseToken(lease)
        token = nil
        hasRestarted = true
        continue
      }
      summary.requests += 1
      summary.deleted += try store.apply(page, policy: configuration.merging, lease)
      guard page.moreComing else { return }
      // A token that stands still would be asked for ever.
      guard page.syncToken != token else { throw Self.stalled("changes/database") }
      token = page.syncToken
    }
  }

  private func fetchZone(_ zone: ZoneKey, _ lease: Lease, _ summary: inout PassSummary) async throws {
    let client = client
    let database = database
    var token = try store.startReading(zone, lease)
    var hasRestarted = false
    for _ in 0..<Self.pageLimit {
      try Task.checkCancellation()
      let answer = try await request(lease) { [token] () async throws(WebServicesError) in
        try await client.zoneChanges(zone.wire, since: token, in: database)
      }
      summary.requests += 1
      switch answer {
      case .failure(_, let error) where error.code == .zoneNotFound:
        summary.deleted += try store.zoneIsGone(zone, policy: configuration.merging, lease)
        return
      case .failure(_, let error) where error.refusesToken && token != nil && !hasRestarted:
        try store.restartReading(zone, lease)
        token = nil
        hasRestarted = true
      case .failure(_, let error):
        throw Held(scope: .zone(zone), error: error)
      case .changes(let page):
        let effect = try store.apply(page, to: zone, since: token, policy: configuration.merging, lease)
        guard !effect.isStale else {
          token = try store.startReading(zone, lease)
          continue
        }
        summary.fetched += effect.changed
        summary.deleted += effect.deleted
        try store.setFetched(summary.fetched + summary.deleted, lease)
        if let failure = effect.failure { throw failure }
        guard page.moreComing else { return }
        // Empty pages with more to come are normal; a token that stands still is not.
        guard page.syncToken != token else { throw Self.stalled("changes/zone") }
        token = page.syncToken
      }
    }
    throw Self.stalled("changes/zone")
  }

  // MARK: - By modification time

  /// Reads what was modified since the watermark, oldest first, so that each page raises the watermark. A reading that
  /// is cut off goes on from there with a new query: an old continuation marker would skip what changed behind it.
  private func read(_ pull: Pull, _ lease: Lease, _ summary: inout PassSummary) async throws {
    let modified = WireFieldName.system("modifiedTimestamp")
    let filters = pull.watermark.map { watermark in
      [WireFilter(modified, "GREATER_THAN_OR_EQUALS", .timestamp(max(0, watermark - Pull.overlap)))]
    }
    let query = WireQuery(
      recordType: pull.type,
      filterBy: filters ?? [],
      sortBy: [WireSort(modified, ascending: true)]
    )
    let client = client
    let database = database
    var marker: String?
    for _ in 0..<Self.pageLimit {
      try Task.checkCancellation()
      let page: WireRecords
      do {
        page = try await request(lease) { [marker] () async throws(WebServicesError) in
          try await client.query(query, zone: pull.zone.wire, continuing: marker, in: database)
        }
      } catch {
        // The type does not exist on the server (yet): nothing to read.
        if error.isUnknownType {
          summary.requests += 1
          if !summary.unknownTypes.contains(pull.type) { summary.unknownTypes.append(pull.type) }
          return
        }
        throw error
      }
      summary.requests += 1
      let next = page.continuationMarker
      let effect = try store.apply(page.records, of: pull, policy: configuration.merging, lease)
      summary.fetched += effect.changed
      try store.setFetched(summary.fetched + summary.deleted, lease)
      if let failure = effect.failure { throw failure }
      guard let next else { return }
      guard next != marker else { throw Self.stalled("records/query") }
      marker = next
    }
  }

  /// Finds deletions, and edits that the index showed too late: reads names and tags of all records, then looks up one by
  /// one those that are missing or differ, since a query may lag behind.
  private func sweep(_ pull: Pull, _ lease: Lease, _ summary: inout PassSummary) async throws {
    let client = client
    let database = database
    // What is left of it at the end was not seen as it is known here.
    var suspects = try store.tagsInMirror(of: pull)
    guard !suspects.isEmpty else { return }
    var strangers: Set<String> = []
    var marker: String?
    for _ in 0..<Self.pageLimit {
      try Task.checkCancellation()
      let page: WireRecords
      do {
        page = try await request(lease) { [marker] () async throws(WebServicesError) in
          try await client.query(
            WireQuery(recordType: pull.type),
            zone: pull.zone.wire,
            desiredKeys: [],
            continuing: marker,
            in: database
          )
        }
      } catch {
        guard error.isUnknownType else { throw error }
        break
      }
      summary.requests += 1
      for case .record(let record) in page.records {
        switch suspects[record.recordName] {
        case nil: strangers.insert(record.recordName)
        case record.recordChangeTag: suspects[record.recordName] = nil
        default: break
        }
      }
      guard let next = page.continuationMarker else { break }
      guard next != marker else { throw Self.stalled("records/query") }
      marker = next
    }
    let names = strangers.union(suspects.keys).sorted()
    for start in stride(from: 0, to: names.count, by: 200) {
      let part = Array(names[start..<min(start + 200, names.count)])
      summary.requests += 1
      let results = try await request(lease) { () async throws(WebServicesError) in
        try await client.lookup(part, zone: pull.zone.wire, in: database)
      }
      let effect = try store.applySweep(results, of: pull, policy: configuration.merging, lease)
      summary.fetched += effect.changed
      summary.deleted += effect.deleted
      if let failure = effect.failure { throw failure }
    }
    summary.deleted += try store.markSwept(pull, policy: configuration.merging, lease)
  }

  private static func stalled(_ operation: String) -> WebServicesError {
    WebServicesError(.unexpectedServerResponse, "\(operation) gave the same position twice; stopped reading")
  }
}

extension WebServicesError {
  /// Whether no other request would fare better: the network, the account, or the server's word to wait.
  var concernsEverything: Bool {
    switch code {
    case .networkError, .authenticationFailed, .authenticationRequired, .accessDenied, .throttled, .tryAgainLater: true
    default: false
    }
  }

  /// A query for a record type that the schema does not have.
  fileprivate var isUnknownType: Bool { code == .notFound }

  /// A change token that the server no longer takes. There is no code for it on the wire, only reasons (reference 5.7).
  var refusesToken: Bool {
    guard case .badRequest = code else { return code.name == "CHANGE_TOKEN_EXPIRED" }
    let reason = reason.lowercased()
    return reason.contains("continuation") || reason.contains("sync token") || reason.contains("synctoken")
  }
}
