import CloudKit

/// Polling zones that have no change feed: queries by modification time, and full scans for deletions.
extension SyncEngine {
  /// Fetches records modified since the watermark, oldest first, so that each page raises the watermark. After an
  /// interruption a new query continues from there: an old continuation marker would skip changes made meanwhile.
  func read(_ pull: Pull, _ lease: Lease, _ summary: inout SyncSummary) async throws {
    let modified = WireFieldName.system("modifiedTimestamp")
    let filters = pull.watermark.map { watermark in
      [WireFilter(modified, "GREATER_THAN_OR_EQUALS", .timestamp(max(0, watermark - Pull.overlap)))]
    }
    let query = WireQuery(
      recordType: pull.type,
      filterBy: filters ?? [],
      sortBy: [WireSort(modified, ascending: true)]
    )
    let isKnown = try await readPages(query, of: pull, lease, &summary) { page, summary in
      let records = try await self.withoutDeleted(page.records, pull.zone, lease, &summary)
      let effect = try self.store.apply(
        records,
        of: pull,
        page: page.records,
        policy: self.merging,
        lease
      )
      summary.fetched += effect.changed
      lease.shown.show(Progress(fetched: summary.fetched + summary.deleted))
      summary.note(effect)
      if let failure = effect.failure { throw Held(failure, pull.zone, type: pull.type) }
    }
    guard !isKnown else {
      // This sync may have sent the first record of the type since it asked before.
      summary.unknownTypes.removeAll { $0 == pull.type }
      return
    }
    summary.requests += 1
    if !summary.unknownTypes.contains(pull.type) { summary.unknownTypes.append(pull.type) }
  }

  /// Fetches the results of a query, page by page.
  ///
  /// - Returns: false if the type does not exist on the server (yet), so that there is nothing to fetch.
  private func readPages(
    _ query: WireQuery,
    desiredKeys: [String]? = nil,
    of pull: Pull,
    _ lease: Lease,
    _ summary: inout SyncSummary,
    _ take: (WireRecords, inout SyncSummary) async throws -> Void
  ) async throws -> Bool {
    let client = client
    let database = database
    let feed = WaitScope.feed(of: pull.zone, type: pull.type)
    var marker: String?
    var positions = FeedPositions("records/query", from: nil)
    for pages in 0..<configuration.pageLimit {
      if pages > 0 { try await sendMeanwhile(reading: feed, of: pull.zone, lease, &summary) }
      try Task.checkCancellation()
      let page: WireRecords
      do {
        page = try await request(lease) { [marker] () async throws(WebServicesError) in
          try await client.query(
            query,
            zone: pull.zone.wire,
            desiredKeys: desiredKeys,
            continuing: marker,
            in: database
          )
        }
      } catch {
        switch Disposition(of: error, during: .polling) {
        case .denied: throw NotReadable(error: error)
        // The schema does not have the record type.
        case .absent: return false
        default: throw error
        }
      }
      summary.requests += 1
      try await take(page, &summary)
      guard let next = page.continuationMarker else { return true }
      try positions.check(next)
      marker = try positions.next(next)
    }
    throw FeedPositions.endless("records/query", pages: configuration.pageLimit)
  }

  /// Finds deletions, and edits that the index showed too late. It lists names and tags of all records and re-fetches
  /// those that are missing or differ, because a query may lag behind.
  func sweep(_ pull: Pull, _ lease: Lease, _ summary: inout SyncSummary) async throws {
    let client = client
    let database = database
    // Records left here at the end were not seen in their local version.
    var suspects = try store.tagsInMirror(of: pull)
    guard !suspects.isEmpty else { return try store.markSwept(pull, lease) }
    var strangers: Set<RecordKey> = []
    _ = try await readPages(WireQuery(recordType: pull.type), desiredKeys: [], of: pull, lease, &summary) { page, _ in
      // The scan writes nothing else before its end, so renew the lease.
      try lease.renew(self.store)
      for case .record(let record) in page.records {
        let key = RecordKey(pull.zone, record.recordName)
        switch suspects[key] {
        case nil: strangers.insert(key)
        case record.recordChangeTag: suspects[key] = nil
        default: break
        }
      }
    }
    let names = strangers.union(suspects.keys).sorted().map(\.name)
    for start in stride(from: 0, to: names.count, by: 200) {
      let part = Array(names[start..<min(start + 200, names.count)])
      summary.requests += 1
      let results = try await request(lease) { () async throws(WebServicesError) in
        try await client.lookup(part, zone: pull.zone.wire, in: database)
      }
      let effect = try store.applySweep(results, of: pull, policy: merging, lease)
      summary.fetched += effect.changed
      summary.deleted += effect.deleted
      summary.note(effect)
      if let failure = effect.failure { throw Held(failure, pull.zone, type: pull.type) }
    }
    try store.markSwept(pull, lease)
  }

  /// Replaces records in query results that were recently deleted here by re-fetched ones, which shows whether they
  /// were recreated.
  private func withoutDeleted(
    _ results: [WireRecordResult],
    _ zone: ZoneKey,
    _ lease: Lease,
    _ summary: inout SyncSummary
  ) async throws -> [WireRecordResult] {
    let doubtful = try store.deletedLately(results, in: zone)
    guard !doubtful.isEmpty else { return results }
    let (names, client, database) = (doubtful.sorted(), client, database)
    summary.requests += 1
    let current = try await request(lease) { () async throws(WebServicesError) in
      try await client.lookup(names, zone: zone.wire, in: database)
    }
    return results.filter { !doubtful.contains($0.recordName ?? "") }
      + current.filter { result in
        switch result {
        case .record: true
        case .failure(_, let error): ![.absent, .denied].contains(Disposition(of: error, during: .fetchingRecord))
        case .deleted: false
        }
      }
  }

  func isDue(_ pull: Pull, _ sweeps: Sweeps) -> Bool {
    switch sweeps {
    case .never: return false
    case .always: return true
    case .whenDue: break
    }
    guard let sweptAt = pull.sweptAt, configuration.sweepInterval > 0 else { return true }
    // A difference in either direction, because the clock may have been moved back.
    return abs(Double(store.now() - sweptAt)) >= configuration.sweepInterval * 1000
  }
}
