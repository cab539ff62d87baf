import CloudKit
import Facts

/// Writing fetched changes. The change token is written with the last of its page, so it is never ahead of the data.
extension SyncStore {
  /// Counts the changes that a page made.
  struct PageEffect: Sendable {
    var changed = 0
    var deleted = 0
    /// The error of an element that could not be fetched.
    var failure: WebServicesError?
    /// The error of a record that came with a value that does not fit its type.
    var misfit: WebServicesError?
    /// The zone's token has changed since the page was requested, so the page is discarded.
    var isStale = false

    fileprivate mutating func add(_ other: PageEffect) {
      changed += other.changed
      deleted += other.deleted
      failure = other.failure ?? failure
      misfit = other.misfit ?? misfit
      isStale = isStale || other.isStale
    }
  }

  // MARK: - Database changes

  func databaseToken() throws(StoreError) -> String? {
    try read { try $0.value("databaseToken") }
  }

  /// Applies a page of `changes/database`: changed zones, deleted zones, the token.
  ///
  /// - Returns: the number of records deleted with their zones.
  func apply(_ page: WireDatabaseChanges, policy: MergePolicy, _ lease: Lease) throws(StoreError) -> Int {
    let isShared = scope.database == .shared
    // In the private database the server names the owner of each zone; the store does not.
    let key = { (id: WireZoneID) in ZoneKey(zone: id.zoneName, owner: isShared ? id.ownerRecordName ?? "" : "") }
    // Most pages report nothing.
    if page.zones.isEmpty,
      try read({ try $0.value("databaseToken") == page.syncToken && !Throttles.hasOpenTrouble($0) })
    {
      return 0
    }
    var removed = 0
    for case .zone(let zone) in page.zones where zone.deleted == true {
      removed += try prepareLoss(of: key(zone.zoneID), policy: policy, lease)
    }
    return try removed
      + write(lease) { ledger, now in
        let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
        try Throttles.endTrouble(ledger)
        var lost = 0
        for result in page.zones {
          switch result {
          case .zone(let zone) where zone.deleted == true:
            lost += try ZoneLoss.take(key(zone.zoneID), reconciliation)
          case .zone(let zone):
            let key = key(zone.zoneID)
            let known = try ledger.zone(key)
            // A zone that was deleted and recreated needs a fetch even if its token is known.
            let isUnread = zone.syncToken == nil || known?.token != zone.syncToken || known?.state == .deleted
            if isUnread { try Self.readSoon([key], ledger) }
          // The page has no data on this zone and the token advances, so fetch the zone's own changes.
          case .failure(let id?, _): try Self.readSoon([key(id)], ledger)
          case .failure(nil, _): try Self.readSoon(ledger.zones().filter { $0.state == .ready }.map(\.key), ledger)
          }
        }
        try ledger.setValue("databaseToken", page.syncToken)
        try ledger.count(fetched: lost, now: now)
        return lost
      }
  }

  /// Marks zones to be fetched. A default zone has no change feed.
  static func readSoon(_ zones: [ZoneKey], _ ledger: Ledger) throws {
    let zones = zones.filter { !$0.isDefaultZone }
    guard !zones.isEmpty else { return }
    for zone in zones { try ledger.needsFetch(zone) }
    // Not in sync until they have been fetched, even if this process ends first.
    try ledger.changeActivity { $0.reachedEnd = false }
  }

  /// Forgets the database's token after the server rejected it. The change feed does not repeat older events such as
  /// zone deletions, so every zone is fetched itself.
  func forgetDatabaseToken(_ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      try ledger.setValue("databaseToken", nil)
      for var zone in try ledger.zones() where zone.state == .ready && !zone.key.isDefaultZone {
        zone.needsFetch = true
        try ledger.put(zone)
      }
    }
  }

  // MARK: - Zone changes

  /// The zones with changes to fetch. A default zone has no change feed; it is polled.
  func zonesToRead() throws(StoreError) -> [ZoneKey] {
    try read { ledger in
      try ledger.zones().filter { zone in
        zone.needsFetch && zone.state != .deleted && !zone.key.isDefaultZone
      }.map(\.key)
    }
  }

  /// Whether a change feed, or its zone, is backing off.
  func isHeld(_ feed: WaitScope, of zone: ZoneKey? = nil) throws(StoreError) -> Bool {
    let now = now()
    let scopes = [feed] + (zone.map { [WaitScope.zone($0)] } ?? [])
    return try read { ledger in
      try scopes.contains { try ledger.isWaiting($0, now: now) }
    }
  }

  /// Backs off one scope after an error; others go on. An error that waiting does not cure is shown until a sync
  /// succeeds.
  func hold(_ scope: WaitScope, _ error: WebServicesError, random: Double, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      try Throttles.set(scope, error, now: now, random: random, ledger)
      try ledger.noteError(error, stands: error.retryAfter == nil, now: now)
    }
  }

  /// Ends a change feed's back-off after it was fetched to its end.
  func release(_ feed: WaitScope, _ lease: Lease) throws(StoreError) {
    guard try read({ try $0.wait(feed) != nil }) else { return }
    try write(lease) { ledger, now in
      try Throttles.clear(feed, ledger)
    }
  }

  /// Returns the token to fetch a zone's changes from. Nil starts a full fetch, in a new epoch: writes during an
  /// earlier attempt do not count as seen.
  func startReading(_ zone: ZoneKey, _ lease: Lease) throws(StoreError) -> String? {
    if let token = try read({ try $0.zone(zone)?.token }) { return token }
    return try write(lease) { ledger, now in
      guard let known = try ledger.zone(zone) else { return nil }
      if known.token == nil { try ledger.restart(zone) }
      return known.token
    }
  }

  /// Applies one page of a zone's changes, with its token.
  ///
  /// If an element failed, the token is kept and the page is fetched again, so that nothing is skipped. Only a record
  /// with a value that does not fit its type does not hold up the rest, because it would come again as it is: it is
  /// logged, and its last known version is kept until it changes.
  ///
  /// - Parameter token: the token with which the page was requested.
  func apply(
    _ page: WireZoneChanges,
    to zone: ZoneKey,
    since token: String?,
    policy: MergePolicy,
    _ lease: Lease
  ) throws(StoreError) -> PageEffect {
    let parts = try writeInSlices(page.records, lease) { slice, ledger, now -> (effect: PageEffect, isOpen: Bool) in
      guard let known = try ledger.zone(zone), known.token == token else { return (PageEffect(isStale: true), false) }
      try Throttles.endTrouble(ledger)
      try DeletionHold.release(zone, ledger)
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      var effect = try take(&slice, zone, epoch: known.epoch, isWhole: known.readingAll, reconciliation)
      guard slice.isLast, !hasFailed(page.records) else { return (effect, false) }
      if !page.moreComing {
        let candidates = try known.readingAll ? ledger.recordCount(of: zone) : ledger.goneCount(zone)
        guard candidates <= Planner.requestLimit else { return (effect, true) }
        let hold = DeletionHold(reconciliation: reconciliation)
        // A full fetch has seen every record; those not seen were deleted.
        if known.readingAll {
          for name in try ledger.namesNotSeen(zone, epoch: known.epoch) { try hold.note(RecordKey(zone, name)) }
        }
        let names = try hold.conclude(hold.survey(zone))
        effect.deleted += names.count
        try ledger.count(fetched: names.count, now: now)
        try hold.carryOut(names, of: zone)
      }
      try Self.advance(zone, page, now: now, ledger)
      return (effect, false)
    }
    var effect = parts.reduce(into: PageEffect()) { $0.add($1.effect) }
    guard parts.last?.isOpen == true else { return effect }
    // Many deletions, or a large zone that was fetched in full: others write in between, and the token comes last.
    let unseen = try read { ledger -> [String] in
      guard let known = try ledger.zone(zone), known.token == token, known.readingAll else { return [] }
      return try ledger.namesNotSeen(zone, epoch: known.epoch)
    }
    if !unseen.isEmpty {
      _ = try writeInSlices(unseen, lease) { slice, ledger, now in
        let hold = DeletionHold(reconciliation: Reconciliation(policy: policy, now: now, ledger: ledger))
        while let name = slice.next() { try hold.note(RecordKey(zone, name)) }
      }
    }
    effect.deleted += try conclude(zone, policy: policy, lease) { ledger, now in
      if try ledger.zone(zone)?.token == token { try Self.advance(zone, page, now: now, ledger) }
    }
    return effect
  }

  /// Applies the deletions marked in a zone, or puts them on hold, however many there are.
  ///
  /// - Parameter end: called in the last transaction.
  /// - Returns: the number of records deleted.
  private func conclude(
    _ zone: ZoneKey,
    policy: MergePolicy,
    _ lease: Lease,
    _ end: (Ledger, _ now: Int64) throws -> Void
  ) throws(StoreError) -> Int {
    let start = now()
    let survey = try read { ledger in
      try DeletionHold(reconciliation: Reconciliation(policy: policy, now: start, ledger: ledger)).survey(zone)
    }
    let names = try write(lease) { ledger, now in
      let hold = DeletionHold(reconciliation: Reconciliation(policy: policy, now: now, ledger: ledger))
      let names = try hold.conclude(survey)
      try ledger.count(fetched: names.count, now: now)
      return names
    }
    _ = try writeInSlices(names, lease) { slice, ledger, now in
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      while let name = slice.next() { try reconciliation.takeDeletion(of: RecordKey(zone, name)) }
      guard slice.isLast else { return }
      try DeletionHold.release(zone, ledger)
      try end(ledger, now)
    }
    return names.count
  }

  private static func advance(_ zone: ZoneKey, _ page: WireZoneChanges, now: Int64, _ ledger: Ledger) throws {
    try ledger.setToken(
      zone,
      page.syncToken,
      fetched: page.records.count,
      atEnd: !page.moreComing,
      now: now
    )
    // A send may have set a new back-off since the page was requested.
    if try !ledger.isWaiting(.zone(zone), now: now) { try Throttles.clear(.zone(zone), ledger) }
  }

  /// Starts a full fetch of a zone whose token the server no longer knows. Queued changes are kept.
  func restartReading(_ zone: ZoneKey, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      try ledger.restart(zone)
      try EventLog.add(.zoneRestarted(zone: zone.zone), now: now, ledger)
    }
  }

  /// Applies the deletion of a zone, as reported by its change feed.
  ///
  /// - Returns: the number of records deleted with it.
  func zoneIsGone(_ zone: ZoneKey, policy: MergePolicy, _ lease: Lease) throws(StoreError) -> Int {
    return try prepareLoss(of: zone, policy: policy, lease)
      + write(lease) { ledger, now in
        let lost = try ZoneLoss.take(zone, Reconciliation(policy: policy, now: now, ledger: ledger))
        try ledger.count(fetched: lost, now: now)
        return lost
      }
  }

  // MARK: - Polled queries

  /// Whether no record type is known: without a change feed only known types can be fetched.
  package var knowsNoTypes: Bool {
    guard scope.database == .public else { return false }
    return (try? read { try $0.isBlank() }) ?? false
  }

  /// Returns the polled queries of zones without a change feed, for the given types and those known from mirror and
  /// queue.
  func pulls(types: [String], _ lease: Lease) throws(StoreError) -> [Pull] {
    let (known, isWhole) = try read { ledger in
      let known = try ledger.pulls()
      return try (
        known, Self.missingPulls(types, ledger).isEmpty && (known.isEmpty || ledger.zone(.defaultZone) != nil)
      )
    }
    if isWhole { return known }
    return try write(lease) { ledger, now in
      // The zone's row is needed to put deletions on hold.
      try ledger.insertZone(.defaultZone, state: .ready)
      var known = try ledger.pulls()
      for (zone, type) in try Self.missingPulls(types, ledger) { try ledger.insertPull(zone, type, among: &known) }
      return try ledger.pulls()
    }
  }

  private static func missingPulls(_ types: [String], _ ledger: Ledger) throws -> [(zone: ZoneKey, type: String)] {
    var wanted = types.map { (zone: ZoneKey.defaultZone, type: $0) }
    for zone in try ledger.zones().map(\.key) where zone.isDefaultZone {
      for type in try ledger.recordTypes(in: zone) + ledger.queuedTypes(in: zone) { wanted.append((zone, type)) }
    }
    let known = try ledger.pulls()
    return wanted.filter { pull in !known.contains { $0.zone == pull.zone && $0.type == pull.type } }
  }

  /// The polled record types.
  func pulledTypes() throws(StoreError) -> [String] {
    try read { ledger in Array(Set(try ledger.pulls().map(\.type))).sorted() }
  }

  /// Returns the records that are not in the mirror but were deleted here within the last hour, or have a queued
  /// operation: an index may still show deleted records for a while.
  func deletedLately(_ results: [WireRecordResult], in zone: ZoneKey) throws(StoreError) -> Set<String> {
    let since = now() - 3_600_000
    return try read { ledger in
      var names: Set<String> = []
      for case .record(let record) in results {
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
    _ records: [WireRecordResult],
    of pull: Pull,
    page: [WireRecordResult],
    policy: MergePolicy,
    _ lease: Lease
  ) throws(StoreError) -> PageEffect {
    return try writeInSlices(records, lease) { slice, ledger, now in
      try Throttles.endTrouble(ledger)
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      // The first poll, or one that repairs the local copy, fetches everything.
      let effect = try take(&slice, pull.zone, epoch: 0, comparesContent: pull.watermark == nil, reconciliation)
      guard slice.isLast, !hasFailed(records) else { return effect }
      let latest = page.compactMap { result -> Int64? in
        if case .record(let record) = result { record.modified?.timestamp } else { nil }
      }.max()
      try ledger.advance(pull, seen: latest, now: now)
      return effect
    }.reduce(into: PageEffect()) { $0.add($1) }
  }

  /// The change tags of a polled query's records in the mirror.
  func tagsInMirror(of pull: Pull) throws(StoreError) -> [RecordKey: String] {
    try read { try $0.changeTags(pull.zone, type: pull.type) }
  }

  /// Applies the re-fetch of records that a full scan missed or found with another tag.
  func applySweep(
    _ results: [WireRecordResult],
    of pull: Pull,
    policy: MergePolicy,
    _ lease: Lease
  ) throws(StoreError) -> PageEffect {
    let known = results.compactMap { result -> WireRecordResult? in
      guard case .failure(let name?, let error) = result else { return result }
      switch Disposition(of: error, during: .fetchingRecord) {
      // Keep the last known version of records that may no longer be read.
      case .denied: return nil
      case .absent: return .deleted(recordName: name)
      default: return result
      }
    }
    return try writeInSlices(known, lease) { slice, ledger, now in
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      // These were fetched by name, so they replace the mirror's version even if it is newer.
      return try take(&slice, pull.zone, epoch: 0, isWhole: true, reconciliation)
    }.reduce(into: PageEffect()) { $0.add($1) }
  }

  /// Marks the end of a full scan.
  func markSwept(_ pull: Pull, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      try ledger.markSwept(pull, now: now)
      try DeletionHold.release(pull.zone, ledger)
    }
  }

  /// Applies the deletions that full scans of a zone found, or puts them on hold.
  ///
  /// - Returns: the number of records deleted.
  func concludeSweeps(of zone: ZoneKey, policy: MergePolicy, _ lease: Lease) throws(StoreError) -> Int {
    guard try read({ try $0.goneCount(zone) > 0 && $0.zone(zone)?.heldSince == nil }) else { return 0 }
    return try conclude(zone, policy: policy, lease) { _, _ in }
  }

  private func hasFailed(_ results: [WireRecordResult]) -> Bool {
    results.contains { result in
      switch result {
      case .record(let wire): wire.recordType == nil || wire.recordChangeTag == nil
      case .deleted: false
      case .failure: result.misfit == nil
      }
    }
  }

  private func take(
    _ results: inout TransactionSlice<WireRecordResult>,
    _ zone: ZoneKey,
    epoch: Int64,
    isWhole: Bool = false,
    comparesContent: Bool = false,
    _ reconciliation: Reconciliation
  ) throws -> PageEffect {
    var effect = PageEffect()
    while let part = results.next(Self.writtenAtOnce) {
      let known =
        isWhole || comparesContent ? [] : try Self.placesInMirror(part, zone, epoch: epoch, reconciliation.ledger)
      for (place, result) in part.enumerated() where !known.contains(place) {
        try take(result, zone, epoch: epoch, reconciliation, &effect) { record in
          try reconciliation.take(record, epoch: epoch, isWhole: isWhole, comparesContent: comparesContent)
        }
      }
    }
    try reconciliation.ledger.count(fetched: effect.changed + effect.deleted, now: reconciliation.now)
    return effect
  }

  /// The places of records that the mirror has in this version, as seen in `epoch`: after sending, most of a page.
  /// Looks for none where a deletion or failure among them may concern one.
  private static func placesInMirror(
    _ results: [WireRecordResult],
    _ zone: ZoneKey,
    epoch: Int64,
    _ ledger: Ledger
  ) throws -> Set<Int> {
    let versions = results.compactMap { result -> [String]? in
      guard case .record(let wire) = result, wire.recordType != nil, let tag = wire.recordChangeTag else { return nil }
      return [wire.recordName, tag]
    }
    return versions.count == results.count ? try ledger.places(of: versions, in: zone, epoch: epoch) : []
  }

  private func take(
    _ result: WireRecordResult,
    _ zone: ZoneKey,
    epoch: Int64,
    _ reconciliation: Reconciliation,
    _ effect: inout PageEffect,
    record take: (MirrorRecord) throws -> Bool
  ) throws {
    switch result {
    case .record(let wire):
      guard let record = MirrorRecord(wire, in: zone) else {
        let reason = "\(wire.recordName): the server sent it without its type or tag"
        effect.failure = WebServicesError(.unexpectedServerResponse, reason)
        return
      }
      if try take(record) { effect.changed += 1 }
    case .deleted(let name, _):
      let key = RecordKey(zone, name)
      try DeletionHold(reconciliation: reconciliation).note(key)
      if try !reconciliation.ledger.isGone(key) { effect.deleted += 1 }
    case .failure(let name, let error):
      var error = error
      if let name { error.reason = "\(name): \(error.reason)" }
      guard let name = result.misfit else { return effect.failure = error }
      effect.misfit = error
      // It exists, so a full fetch or a scan must not take it for deleted.
      try reconciliation.ledger.touch(RecordKey(zone, name), epoch: epoch)
      try Self.note(misfit: error, zone, reconciliation)
    }
  }
}
