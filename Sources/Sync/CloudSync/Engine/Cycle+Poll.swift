import CloudKit

/// Polling zones that have no change feed: queries by modification time, and full scans for deletions.
extension Cycle {
  /// Fetches all polled queries, and scans for deletions. Returns whether each was fetched to its end.
  func fetchPolled(types: [String], fullScans: FullScans) async throws -> Bool {
    var isComplete = true
    let polledQueries = try store.polledQueries(types: types, lease)
    let toScan = try queriesToScan(polledQueries, fullScans)
    for zone in Set(polledQueries.map(\.zoneKey)) { try await refetchUnreadable(in: zone) }
    for polled in polledQueries {
      let isFetched = try await fetching(.feed(of: polled.zoneKey, type: polled.type), of: polled.zoneKey) {
        let end = try await fetch(polled, scans: toScan.contains(polled))
        switch end {
        case .done: try store.noteReadable(polled.zoneKey, type: polled.type, lease)
        case .unreadable(let error): try noteUnreadable(polled, error)
        case .waits, .failed: break
        }
        return end
      }
      isComplete = isComplete && isFetched
    }
    guard !isInterrupted else { return false }
    for zone in Set(toScan.map(\.zoneKey)) {
      summary.deleted += try store.concludeFullScans(of: zone, policy: merging, lease)
    }
    return isComplete
  }

  /// Fetches the records that could not be read again: a query shows neither that one is gone nor, before the next
  /// change of it, that it can be read.
  private func refetchUnreadable(in zone: ZoneKey) async throws {
    let names = try store.unreadableNames(in: zone)
    guard !names.isEmpty, case .success(let results) = try await refetch(names, in: zone) else { return }
    note(try store.applyFullScan(results, of: zone, policy: merging, lease))
  }

  private func noteUnreadable(_ polled: PolledQuery, _ error: WebServicesError) throws {
    try store.markScanned(polled, lease)
    // Only a type that was fetched before, or is requested, is missing. Others may be write-only.
    if polled.lastFetchAt != nil || requests.types.contains(polled.type) {
      try store.noteUnreadable(polled.zoneKey, type: polled.type, error, lease)
    } else {
      try store.noteReadable(polled.zoneKey, type: polled.type, lease)
    }
  }

  /// The polled queries that need a full scan now: all types of a zone together, because the mass-deletion guard counts
  /// them together. A type that cannot be read does not hold up others.
  private func queriesToScan(_ polledQueries: [PolledQuery], _ fullScans: FullScans) throws -> [PolledQuery] {
    // A type without local records has nothing that could have been deleted.
    let known = try store.read { ledger in
      try polledQueries.filter { try ledger.recordTypes(in: $0.zoneKey).contains($0.type) }
    }
    let due = try known.filter { polled in
      try isDue(polled, fullScans)
        && !store.isBackingOff(.feed(of: polled.zoneKey, type: polled.type), of: polled.zoneKey)
    }
    let zones = Set(due.map(\.zoneKey))
    return known.filter { zones.contains($0.zoneKey) }
  }

  private func fetch(_ polled: PolledQuery, scans: Bool) async throws -> FeedEnd {
    let end = try await poll(polled)
    if case .done = end, scans { return try await scan(polled) }
    return end
  }

  /// Fetches records modified since the watermark, oldest first, so that each page raises the watermark. After an
  /// interruption a new query continues from there: an old continuation marker would skip changes made meanwhile.
  private func poll(_ polled: PolledQuery) async throws -> FeedEnd {
    let modified = WireFieldName.system("modifiedTimestamp")
    let filters = polled.watermark.map { watermark in
      [WireFilter(modified, "GREATER_THAN_OR_EQUALS", .timestamp(max(0, watermark - PolledQuery.overlap)))]
    }
    let query = WireQuery(
      recordType: polled.type,
      filterBy: filters ?? [],
      sortBy: [WireSort(modified, ascending: true)]
    )
    return try await fetch(
      feed(query, of: polled) { [self] page in
        // This cycle may have sent the first record of the type since it asked before.
        summary.unknownTypes.removeAll { $0 == polled.type }
        let records: [WireResult<WireRecord>]
        switch try await withoutDeleted(page.elements, polled.zoneKey) {
        case .success(let current): records = current
        case .failure(let error): return .refused(error)
        }
        let effect = try store.apply(records, of: polled, page: page.elements, policy: merging, lease)
        note(effect)
        return effect.failure.map(FeedStep.refused) ?? page.step
      }
    )
  }

  private func feed(
    _ query: WireQuery,
    desiredKeys: [String]? = nil,
    of polled: PolledQuery,
    _ apply: @escaping (WireResults<WireRecord>) async throws -> FeedStep
  ) -> Feed<WireResults<WireRecord>> {
    Feed(
      scope: .feed(of: polled.zoneKey, type: polled.type),
      zone: polled.zoneKey,
      turn: configuration.pageLimit,
      limit: FeedLength.Limit(pages: configuration.pageLimit),
      request: { [self] marker throws(WebServicesError) in
        try await request { (client, database) async throws(WebServicesError) in
          try await client.query(
            query,
            zone: polled.zoneKey.wire,
            desiredKeys: desiredKeys,
            continuing: marker,
            in: database
          )
        }
      },
      apply: { page, _ in try await apply(page) },
      end: { [self] error in
        let disposition = Disposition(of: error, during: .polling)
        if disposition == .denied { return .unreadable(error) }
        guard disposition == .absent else { return nil }
        // The server does not have the type (yet), so there is nothing to fetch.
        summary.requests += 1
        if !summary.unknownTypes.contains(polled.type) { summary.unknownTypes.append(polled.type) }
        return .done
      }
    )
  }

  /// Finds deletions, and edits that the index showed too late. It lists names and tags of all records and re-fetches
  /// those that are missing or differ, because a query may lag behind.
  private func scan(_ polled: PolledQuery) async throws -> FeedEnd {
    // Records left here at the end were not seen in their local version.
    var unseen = try store.tagsInMirror(of: polled)
    guard !unseen.isEmpty else {
      try store.markScanned(polled, lease)
      return .done
    }
    var unknown: Set<RecordKey> = []
    let end = try await fetch(
      feed(WireQuery(recordType: polled.type), desiredKeys: [], of: polled) { [self] page in
        // The scan writes nothing else before its end, so renew the lease.
        try lease.renew(store)
        for case .item(let record) in page.elements {
          let key = RecordKey(polled.zoneKey, record.recordName)
          switch unseen[key] {
          case nil: unknown.insert(key)
          case record.recordChangeTag: unseen[key] = nil
          default: break
          }
        }
        return page.step
      }
    )
    guard case .done = end else { return end }
    return try await compare(unknown.union(unseen.keys).sorted().map(\.name), of: polled)
  }

  /// Re-fetches the records in which a full scan and the mirror differ.
  private func compare(_ names: [String], of polled: PolledQuery) async throws -> FeedEnd {
    let feed = WaitScope.feed(of: polled.zoneKey, type: polled.type)
    for asked in names.requests {
      let results: [WireResult<WireRecord>]
      switch try await refetch(asked, in: polled.zoneKey) {
      case .success(let found): results = found
      case .failure(let error): return .failed(feed, of: polled.zoneKey, error)
      }
      let effect = try store.applyFullScan(results, of: polled.zoneKey, policy: merging, lease)
      note(effect)
      if let failure = effect.failure { return .failed(feed, of: polled.zoneKey, failure) }
    }
    try store.markScanned(polled, lease)
    return .done
  }

  /// Replaces records in query results that were recently deleted here by re-fetched ones, which shows whether they
  /// were recreated.
  private func withoutDeleted(_ results: [WireResult<WireRecord>], _ zone: ZoneKey) async throws
    -> Result<[WireResult<WireRecord>], WebServicesError>
  {
    let doubtful = try store.deletedLately(results, in: zone)
    guard !doubtful.isEmpty else { return .success(results) }
    return try await refetch(doubtful.sorted(), in: zone).map { current in
      results.filter { !doubtful.contains($0.id ?? "") }
        + current.filter { result in
          switch result {
          case .item: true
          case .failure(_, let error): ![.absent, .denied].contains(Disposition(of: error, during: .fetchingRecord))
          case .deleted: false
          }
        }
    }
  }

  func isDue(_ polled: PolledQuery, _ fullScans: FullScans) -> Bool {
    switch fullScans {
    case .never: return false
    case .always: return true
    case .whenDue: break
    }
    guard let scannedAt = polled.scannedAt, configuration.fullScanInterval > 0 else { return true }
    // A difference in either direction, because the clock may have been moved back.
    return abs(Double(store.now() - scannedAt)) >= configuration.fullScanInterval * 1000
  }
}
