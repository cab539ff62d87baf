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
      try await fetchDatabaseChanges(lease, &summary)
      let zones = try store.zonesToRead()
      isComplete = zones.held == 0
      for zone in zones.open {
        if try await fetchZone(zone, lease, &summary) == false { isComplete = false }
      }
    }
    for pull in try store.pulls(types: types) {
      // Where nothing was known before, there is nothing to have been deleted.
      let isKnown = try !store.namesInMirror(of: pull).isEmpty
      try await read(pull, lease, &summary)
      if isKnown, isDue(pull, sweeps) { try await sweep(pull, lease, &summary) }
    }
    return isComplete
  }

  private func isDue(_ pull: Pull, _ sweeps: Sweeps) -> Bool {
    switch sweeps {
    case .never: return false
    case .always: return true
    case .whenDue: break
    }
    guard let sweptAt = pull.sweptAt, configuration.sweepInterval > 0 else { return true }
    return Double(store.now() - sweptAt) >= configuration.sweepInterval * 1000
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
      try store.apply(page, policy: configuration.policy, lease)
      guard page.moreComing else { return }
      // A token that stands still would be asked for ever.
      guard page.syncToken != token else { throw Self.stalled("changes/database") }
      token = page.syncToken
    }
  }

  /// Whether the zone was read to its end; where not, it waits, and the others go on.
  private func fetchZone(_ zone: ZoneKey, _ lease: Lease, _ summary: inout PassSummary) async throws -> Bool {
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
        try store.zoneIsGone(zone, lease)
        return true
      case .failure(_, let error) where error.refusesToken && token != nil && !hasRestarted:
        try store.restartReading(zone, lease)
        token = nil
        hasRestarted = true
      case .failure(_, let error):
        summary.lastItemError = error
        try store.holdZone(zone, error, random: configuration.random(), lease)
        return false
      case .changes(let page):
        let effect = try store.apply(page, to: zone, policy: configuration.policy, lease)
        summary.fetched += effect.changed
        summary.deleted += effect.deleted
        try store.setFetched(summary.fetched + summary.deleted, lease)
        guard page.moreComing else { return true }
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
          return
        }
        throw error
      }
      summary.requests += 1
      let next = page.continuationMarker
      let effect = try store.apply(page.records, of: pull, policy: configuration.policy, lease)
      summary.fetched += effect.changed
      try store.setFetched(summary.fetched + summary.deleted, lease)
      guard let next else { return }
      guard next != marker else { throw Self.stalled("records/query") }
      marker = next
    }
  }

  /// Finds deletions: reads the names of all records, then asks for those that are missing one by one, since a query
  /// may lag behind.
  private func sweep(_ pull: Pull, _ lease: Lease, _ summary: inout PassSummary) async throws {
    let client = client
    let database = database
    let known = try store.namesInMirror(of: pull)
    guard !known.isEmpty else { return }
    var seen: Set<String> = []
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
      seen.formUnion(page.records.compactMap(\.recordName))
      guard let next = page.continuationMarker else { break }
      guard next != marker else { throw Self.stalled("records/query") }
      marker = next
    }
    var gone: [String] = []
    let missing = known.filter { !seen.contains($0) }
    for start in stride(from: 0, to: missing.count, by: 200) {
      let names = Array(missing[start..<min(start + 200, missing.count)])
      summary.requests += 1
      let results = try await request(lease) { () async throws(WebServicesError) in
        try await client.lookup(names, zone: pull.zone.wire, desiredKeys: [], in: database)
      }
      for result in results {
        switch result {
        case .deleted(let name): gone.append(name)
        case .failure(let name?, let error) where error.code == .notFound: gone.append(name)
        case .record, .failure: continue
        }
      }
    }
    summary.deleted += gone.count
    try store.applySweep(gone, of: pull, policy: configuration.policy, lease)
  }

  private static func stalled(_ operation: String) -> WebServicesError {
    WebServicesError(.unexpectedServerResponse, "\(operation) gave the same position twice; stopped reading")
  }
}

extension WebServicesError {
  /// A query for a record type that the schema does not have.
  fileprivate var isUnknownType: Bool { code == .notFound }

  /// A change token that the server no longer takes. There is no code for it on the wire, only reasons (reference 5.7).
  var refusesToken: Bool {
    guard case .badRequest = code else { return code.name == "CHANGE_TOKEN_EXPIRED" }
    let reason = reason.lowercased()
    return reason.contains("continuation") || reason.contains("sync token") || reason.contains("synctoken")
  }
}
