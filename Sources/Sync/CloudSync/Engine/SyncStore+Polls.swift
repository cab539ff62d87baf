import CloudKit

/// Writing the results of polled queries and full scans, for zones without a change feed.
extension SyncStore {
  /// Whether no record type is known: without a change feed only known types can be fetched.
  package var knowsNoTypes: Bool {
    guard scope.database == .public else { return false }
    return (try? read { try $0.isBlank() }) ?? false
  }

  /// Returns the polled queries of zones without a change feed, for the given types and those known from mirror and
  /// queue.
  func polledQueries(types: [String], _ lease: Lease) throws(StoreError) -> [PolledQuery] {
    guard scope.hasDefaultZone else { return [] }
    let (known, isWhole) = try read { ledger in
      let known = try ledger.polledQueries()
      return try (
        known, Self.missingPolledQueries(types, ledger).isEmpty && (known.isEmpty || ledger.zone(.defaultZone) != nil)
      )
    }
    if isWhole { return known }
    return try write(lease) { ledger, now in
      // The zone's row is needed to put deletions on hold.
      try ledger.insertZone(.defaultZone, state: .ready)
      for polled in try Self.missingPolledQueries(types, ledger) { try ledger.put(polled) }
      return try ledger.polledQueries()
    }
  }

  private static func missingPolledQueries(_ types: [String], _ ledger: Ledger) throws -> [PolledQuery] {
    var wanted = types.map { PolledQuery(zone: .defaultZone, type: $0) }
    for zone in try ledger.zones().map(\.key) where zone.isDefaultZone {
      for type in try ledger.recordTypes(in: zone) + ledger.queuedTypes(in: zone) {
        wanted.append(PolledQuery(zone: zone, type: type))
      }
    }
    let known = try ledger.polledQueries()
    return wanted.filter { polled in !known.contains { $0.zoneKey == polled.zoneKey && $0.type == polled.type } }
  }

  func polledTypes() throws(StoreError) -> [String] {
    try read { ledger in Array(Set(try ledger.polledQueries().map(\.type))).sorted() }
  }

  /// Returns the records that are not in the mirror but were deleted here within the last hour, or have a queued
  /// operation: an index may still show deleted records for a while.
  func deletedLately(_ results: [WireResult<WireRecord>], in zone: ZoneKey) throws(StoreError) -> Set<String> {
    let since = now() - SystemClock.hour
    return try read { ledger in
      var names: Set<String> = []
      for case .item(let record) in results {
        let key = RecordKey(zone, record.recordName)
        guard try ledger.changeTag(key) == nil else { continue }
        if try ledger.operation(for: key) != nil || ledger.wasDeleted(key, since: since) { names.insert(key.name) }
      }
      return names
    }
  }

  /// Applies a page of a polled query.
  ///
  /// - Parameter page: the query's own results, whose times set the start of the next query; `records` may hold others
  ///   too.
  func apply(
    _ records: [WireResult<WireRecord>],
    of polled: PolledQuery,
    page: [WireResult<WireRecord>],
    policy: MergePolicy,
    _ lease: Lease
  ) throws(StoreError) -> PageEffect {
    return try writeInSlices(records, lease) { slice, ledger, now in
      try Throttles.endTrouble(ledger)
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      // The first poll, or one that repairs the local copy, fetches everything.
      let effect = try take(&slice, polled.zoneKey, epoch: 0, comparesContent: polled.watermark == nil, reconciliation)
      guard slice.isLast, !hasFailed(records) else { return effect }
      let latest = page.compactMap { result -> Int64? in
        if case .item(let record) = result { record.modified?.timestamp } else { nil }
      }.max()
      try ledger.advance(polled, seen: latest, now: now)
      return effect
    }.reduce(into: PageEffect()) { $0.add($1) }
  }

  /// The change tags of a polled query's records in the mirror.
  func tagsInMirror(of polled: PolledQuery) throws(StoreError) -> [RecordKey: String] {
    try read { try $0.changeTags(polled.zoneKey, type: polled.type) }
  }

  /// Applies the re-fetch of records that a full scan missed or found with another tag, or that could not be read.
  func applyFullScan(
    _ results: [WireResult<WireRecord>],
    of zone: ZoneKey,
    policy: MergePolicy,
    _ lease: Lease
  ) throws(StoreError) -> PageEffect {
    let known = results.compactMap { result -> WireResult<WireRecord>? in
      guard case .failure(let name?, let error) = result else { return result }
      switch Disposition(of: error, during: .fetchingRecord) {
      // Keep the last known version of records that may no longer be read.
      case .denied: return nil
      case .absent: return .deleted(name)
      default: return result
      }
    }
    return try writeInSlices(known, lease) { slice, ledger, now in
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      // These were fetched by name, so they replace the mirror's version even if it is newer.
      return try take(&slice, zone, epoch: 0, isWhole: true, reconciliation)
    }.reduce(into: PageEffect()) { $0.add($1) }
  }

  /// Marks the end of a full scan.
  func markScanned(_ polled: PolledQuery, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      try ledger.markScanned(polled, now: now)
      try DeletionHold.release(polled.zoneKey, ledger)
    }
  }

  /// Applies the deletions that full scans of a zone found, or puts them on hold.
  ///
  /// - Returns: the number of records deleted.
  func concludeFullScans(of zone: ZoneKey, policy: MergePolicy, _ lease: Lease) throws(StoreError) -> Int {
    guard try read({ try $0.goneCount(zone) > 0 && $0.zone(zone)?.heldSince == nil }) else { return 0 }
    return try conclude(zone, policy: policy, lease) { _, _ in }
  }
}
