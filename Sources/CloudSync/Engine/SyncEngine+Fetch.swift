import CloudKit

/// Reading the feeds to their ends.
extension SyncEngine {
  /// More pages than this in one reading mean a feed that never ends.
  private static let pageLimit = 100_000

  func fetch(_ lease: Lease, types: [String], sweeps: Bool, _ summary: inout PassSummary) async throws {
    try store.setActivity(.fetching, lease)
    if database != .public {
      try await fetchDatabaseChanges(lease, &summary)
      for zone in try store.zonesToRead() { try await fetchZone(zone, lease, &summary) }
    }
    for pull in try store.pulls(types: types) {
      let isFirst = pull.watermark == nil
      try await read(pull, lease, &summary)
      // A first reading found everything there is, so there is nothing to have been deleted.
      if sweeps, !isFirst, isDue(pull) { try await sweep(pull, lease, &summary) }
    }
  }

  private func isDue(_ pull: Pull) -> Bool {
    guard let sweptAt = pull.sweptAt, configuration.sweepInterval > 0 else { return true }
    return Double(store.now() - sweptAt) >= configuration.sweepInterval * 1000
  }

  // MARK: - Change feeds

  private func fetchDatabaseChanges(_ lease: Lease, _ summary: inout PassSummary) async throws {
    var token = try store.databaseToken()
    for _ in 0..<Self.pageLimit {
      let page: WireDatabaseChanges
      do {
        page = try await client.databaseChanges(since: token, in: database)
      } catch {
        guard error.refusesToken, token != nil else { throw error }
        try store.forgetDatabaseToken(lease)
        token = nil
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

  private func fetchZone(_ zone: ZoneKey, _ lease: Lease, _ summary: inout PassSummary) async throws {
    var token = try store.startReading(zone, lease)
    for _ in 0..<Self.pageLimit {
      try Task.checkCancellation()
      let answer = try await client.zoneChanges(zone.wire, since: token, in: database)
      summary.requests += 1
      switch answer {
      case .failure(_, let error) where error.code == .zoneNotFound:
        return try store.zoneIsGone(zone, lease)
      case .failure(_, let error) where error.refusesToken && token != nil:
        try store.restartReading(zone, lease)
        token = nil
      case .failure(_, let error):
        throw error
      case .changes(let page):
        let effect = try store.apply(page, to: zone, policy: configuration.policy, lease)
        summary.fetched += effect.changed
        summary.deleted += effect.deleted
        try store.setFetched(summary.fetched + summary.deleted, lease)
        guard page.moreComing else { return }
        // Empty pages with more to come are normal; a token that stands still is not.
        guard page.syncToken != token else { throw Self.stalled("changes/zone") }
        token = page.syncToken
      }
    }
  }

  // MARK: - By modification time

  /// Reads what was modified since the watermark, oldest first.
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
    var marker = pull.marker
    for _ in 0..<Self.pageLimit {
      try Task.checkCancellation()
      let page: WireRecords
      do {
        page = try await client.query(query, zone: pull.zone.wire, continuing: marker, in: database)
      } catch {
        // The type does not exist on the server (yet): nothing to read.
        if error.code == .notFound { return }
        throw error
      }
      summary.requests += 1
      let next = page.continuationMarker
      let effect = try store.apply(page.records, of: pull, marker: next, policy: configuration.policy, lease)
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
    let known = try store.namesInMirror(of: pull)
    guard !known.isEmpty else { return }
    var seen: Set<String> = []
    var marker: String?
    for _ in 0..<Self.pageLimit {
      try Task.checkCancellation()
      let page = try await client.query(
        WireQuery(recordType: pull.type),
        zone: pull.zone.wire,
        desiredKeys: [],
        continuing: marker,
        in: database
      )
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
      for result in try await client.lookup(names, zone: pull.zone.wire, desiredKeys: [], in: database) {
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
  /// A change token that the server no longer takes. There is no code for it on the wire, only reasons (reference 5.7).
  var refusesToken: Bool {
    guard case .badRequest = code else { return code.name == "CHANGE_TOKEN_EXPIRED" }
    let reason = reason.lowercased()
    return reason.contains("continuation") || reason.contains("sync token") || reason.contains("synctoken")
  }
}
