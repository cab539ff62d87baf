import CloudKit
import Facts

/// Writing fetched changes. The change token is written with the last of its page, so it is never ahead of the data.
extension SyncStore {
  // MARK: - Database changes

  func databaseToken() throws(StoreError) -> String? {
    try read { try $0.value(.databaseToken) }
  }

  /// Applies a page of `changes/database`: changed zones, deleted zones, the token.
  ///
  /// - Returns: the number of records deleted with their zones.
  func apply(_ page: WireResults<WireZone>, policy: MergePolicy, _ lease: Lease) throws(StoreError) -> Int {
    // Most pages report nothing.
    if page.elements.isEmpty,
      try read({ try $0.value(.databaseToken) == page.syncToken && !Throttles.hasOpenTrouble($0) })
    {
      return 0
    }
    return try write(lease) { try take(page, Reconciliation(policy: policy, now: $1, ledger: $0)) }
  }

  /// Whether a page reports the deletion of a zone that is here.
  func loses(_ page: WireResults<WireZone>) throws(StoreError) -> Bool {
    let deleted = page.elements.compactMap { if case .deleted(let zone, _) = $0 { key(zone) } else { nil } }
    guard !deleted.isEmpty else { return false }
    return try read { ledger in try deleted.contains { try ledger.zone($0)?.state == .ready } }
  }

  /// Joins the last page of `changes/database` with the engine's next transaction, if it names only known zones that
  /// were fetched before.
  ///
  /// - Returns: the zones to fetch; nil if the page has to be applied in a transaction.
  func join(_ page: WireResults<WireZone>, policy: MergePolicy, _ lease: Lease) throws(StoreError) -> [ZoneKey]? {
    guard !page.moreComing, !page.elements.isEmpty else { return nil }
    let zones = try read { ledger -> [ZoneKey]? in
      guard try !Throttles.hasOpenTrouble(ledger) else { return nil }
      var unread: [ZoneKey] = []
      for result in page.elements {
        guard case .item(let zone) = result, let known = try ledger.zone(key(zone.zoneID)),
          known.state == .ready, let token = known.token
        else { return nil }
        if token != zone.syncToken, !known.key.isDefaultZone { unread.append(known.key) }
      }
      return unread
    }
    guard let zones else { return nil }
    lease.joined.add { [self] ledger, now in
      _ = try take(page, Reconciliation(policy: policy, now: now, ledger: ledger))
    }
    return zones
  }

  /// In the private database the server names the owner of each zone; the store does not.
  private func key(_ id: WireZoneID) -> ZoneKey {
    ZoneKey(zone: id.zoneName, owner: scope.database == .shared ? id.ownerRecordName ?? "" : "")
  }

  private func take(_ page: WireResults<WireZone>, _ reconciliation: Reconciliation) throws -> Int {
    let ledger = reconciliation.ledger
    try Throttles.endTrouble(ledger)
    var lost = 0
    for result in page.elements {
      switch result {
      case .deleted(let zone, _): lost += try ZoneLoss.take(key(zone), reconciliation)
      case .item(let zone):
        let key = key(zone.zoneID)
        let known = try ledger.zone(key)
        // A zone that was deleted and recreated needs a fetch even if its token is known.
        let isUnread = zone.syncToken == nil || known?.token != zone.syncToken || known?.state == .deleted
        if isUnread { try Self.fetchSoon([key], ledger) }
      // The page has no data on this zone and the token advances, so fetch the zone's own changes.
      case .failure(let id?, _): try Self.fetchSoon([key(id)], ledger)
      case .failure(nil, _): try Self.fetchSoon(ledger.zones().filter { $0.state == .ready }.map(\.key), ledger)
      }
    }
    try ledger.setValue(.databaseToken, page.syncToken)
    try ledger.count(fetched: lost, now: reconciliation.now)
    return lost
  }

  /// Marks zones to be fetched. A default zone has no change feed.
  static func fetchSoon(_ zones: [ZoneKey], _ ledger: Ledger) throws {
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
      try ledger.setValue(.databaseToken, nil)
      for var zone in try ledger.zones() where zone.state == .ready && !zone.key.isDefaultZone {
        zone.needsFetch = true
        try ledger.put(zone)
      }
    }
  }

  // MARK: - Zone changes

  /// The zones with changes to fetch. A default zone has no change feed; it is polled.
  func zonesToFetch() throws(StoreError) -> [ZoneKey] {
    try read { ledger in
      // A zone that is still to be emptied would lose what is fetched.
      let emptied = try ledger.chores().compactMap(\.chore.emptiedZone)
      return try ledger.zones().filter { zone in
        zone.needsFetch && zone.state != .deleted && !zone.key.isDefaultZone && !emptied.contains(zone.key)
      }.map(\.key)
    }
  }

  /// Whether a change feed, or its zone, is backing off.
  func isBackingOff(_ feed: WaitScope, of zone: ZoneKey? = nil) throws(StoreError) -> Bool {
    let now = now()
    let scopes = [feed] + (zone.map { [WaitScope.zone($0)] } ?? [])
    return try read { ledger in
      try scopes.contains { try ledger.isWaiting($0, now: now) }
    }
  }

  /// Backs off one scope after an error; others go on. An error that waiting does not cure is shown until a sync
  /// succeeds.
  func backOff(_ scope: WaitScope, _ error: WebServicesError, random: Double, _ lease: Lease) throws(StoreError) {
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
  func startFetch(_ zone: ZoneKey, _ lease: Lease) throws(StoreError) -> String? {
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
    if !page.moreComing, try read({ try hasAll(of: page, zone, since: token, $0) }) {
      lease.joined.add { ledger, now in
        if try ledger.zone(zone)?.token == token { try Self.advance(zone, page, now: now, ledger) }
      }
      return PageEffect()
    }
    let parts = try writeInSlices(page.records, lease) { slice, ledger, now -> (effect: PageEffect, isOpen: Bool) in
      guard let known = try ledger.zone(zone), known.token == token else { return (PageEffect(isStale: true), false) }
      try Throttles.endTrouble(ledger)
      try DeletionHold.release(zone, ledger)
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      var effect = try take(&slice, zone, epoch: known.epoch, isWhole: known.fetchingAll, reconciliation)
      guard slice.isLast, !hasFailed(page.records) else { return (effect, false) }
      if !page.moreComing {
        let candidates = try known.fetchingAll ? ledger.recordCount(of: zone) : ledger.goneCount(zone)
        guard candidates <= Planner.requestLimit else { return (effect, true) }
        let hold = DeletionHold(reconciliation: reconciliation)
        // A full fetch has seen every record; those not seen were deleted.
        if known.fetchingAll {
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
      guard let known = try ledger.zone(zone), known.token == token, known.fetchingAll else { return [] }
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

  /// Whether the last page of a zone's changes changes only the token, as after sending.
  private func hasAll(of page: WireZoneChanges, _ zone: ZoneKey, since token: String?, _ ledger: Ledger) throws -> Bool
  {
    guard page.records.count <= Planner.requestLimit, let known = try ledger.zone(zone),
      known.token == token, !known.fetchingAll, known.heldSince == nil, try ledger.goneCount(zone) == 0,
      try !Throttles.hasOpenTrouble(ledger)
    else { return false }
    let records = page.records.compactMap {
      if case .item(let wire) = $0 { MirrorRecord(wire, in: zone) } else { nil }
    }
    guard records.count == page.records.count else { return false }
    return try zip(records, ledger.known(records.map(\.key.name), in: zone)).allSatisfy { record, mirror in
      mirror.version?.changeTag == record.changeTag && mirror.epoch == known.epoch
    }
  }

  /// Applies the deletions marked in a zone, or puts them on hold, however many there are.
  ///
  /// - Parameter end: called in the last transaction.
  /// - Returns: the number of records deleted.
  func conclude(
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
  func restartFetch(_ zone: ZoneKey, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      try ledger.restart(zone)
      try EventLog.add(.zoneRestarted(zone: zone.title), in: zone, now: now, ledger)
    }
  }

  /// Applies the deletion of a zone, as reported by its change feed.
  ///
  /// - Returns: the number of records deleted with it.
  func zoneIsGone(_ zone: ZoneKey, policy: MergePolicy, _ lease: Lease) throws(StoreError) -> Int {
    try write(lease) { ledger, now in
      let lost = try ZoneLoss.take(zone, Reconciliation(policy: policy, now: now, ledger: ledger))
      try ledger.count(fetched: lost, now: now)
      return lost
    }
  }
}
