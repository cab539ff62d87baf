import CloudKit
import Facts

/// Writing what feeds bring. The token behind a page is written with the last of it: it is never ahead.
extension SyncStore {
  /// What a page changed, counted.
  struct PageEffect: Sendable {
    var changed = 0
    var deleted = 0
    /// Why an element of the page failed to come.
    var failure: WebServicesError?
    /// The feed is read from elsewhere since the page was asked for: nothing of it counts.
    var isStale = false

    fileprivate mutating func add(_ other: PageEffect) {
      changed += other.changed
      deleted += other.deleted
      failure = other.failure ?? failure
      isStale = isStale || other.isStale
    }
  }

  // MARK: - Database changes

  func databaseToken() throws(StoreError) -> String? {
    try read { try $0.value("databaseToken") }
  }

  /// Takes one page of `changes/database`: zones to read, zones that are gone, the token.
  ///
  /// - Returns: How many records went with zones.
  func apply(_ page: WireDatabaseChanges, policy: MergePolicy, _ lease: Lease) throws(StoreError) -> Int {
    let isShared = scope.database == .shared
    return try write(lease) { ledger, now in
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      try Throttles.endTrouble(ledger)
      var lost = 0
      // In the private database every zone is one's own; the server names the owner there, we do not.
      let key = { (id: WireZoneID) in ZoneKey(zone: id.zoneName, owner: isShared ? id.ownerRecordName ?? "" : "") }
      for result in page.zones {
        switch result {
        case .zone(let zone) where zone.deleted == true:
          lost += try ZoneLoss.take(key(zone.zoneID), reconciliation)
        case .zone(let zone):
          let key = key(zone.zoneID)
          let known = try ledger.zone(key)
          // One that was gone in between is there again, though all that is in it may have been read by now.
          let isUnread = zone.syncToken == nil || known?.token != zone.syncToken || known?.state == .deleted
          if isUnread { try Self.readSoon([key], ledger) }
        // The feed could not tell of a zone, and the token moves on: the zone's own feed is asked.
        case .failure(let id?, _): try Self.readSoon([key(id)], ledger)
        case .failure(nil, _): try Self.readSoon(ledger.zones().filter { $0.state == .ready }.map(\.key), ledger)
        }
      }
      try ledger.setValue("databaseToken", page.syncToken)
      return lost
    }
  }

  /// Zones have, or may have, news. A default zone has no feed.
  static func readSoon(_ zones: [ZoneKey], _ ledger: Ledger) throws {
    let zones = zones.filter { !$0.isDefaultZone }
    guard !zones.isEmpty else { return }
    for zone in zones { try ledger.needsFetch(zone) }
    // Until they have been read, also should this process end before.
    try ledger.changeActivity { $0.reachedEnd = false }
  }

  /// Starts over with the database's feed after its token was refused. What happened since it was given is not told any
  /// more, the deletion of zones included: every zone has to be asked itself.
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

  /// Zones whose feed has to be read. A default zone has no feed: it is read by modification time.
  func zonesToRead() throws(StoreError) -> [ZoneKey] {
    try read { ledger in
      try ledger.zones().filter { zone in
        zone.needsFetch && zone.state != .deleted && !zone.key.isDefaultZone
      }.map(\.key)
    }
  }

  /// Whether a feed, or the zone that it is of, has to wait.
  func isHeld(_ feed: WaitScope, of zone: ZoneKey? = nil) throws(StoreError) -> Bool {
    let now = now()
    let scopes = [feed] + (zone.map { [WaitScope.zone($0)] } ?? [])
    return try read { ledger in
      try scopes.contains { try ledger.isWaiting($0, now: now) }
    }
  }

  /// Something cannot be read now: it waits, the rest goes on. A refusal that no wait will cure stands as an error.
  func hold(_ scope: WaitScope, _ error: WebServicesError, random: Double, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      let isKnown = try ledger.wait(scope)?.code == error.code.name
      try Throttles.set(scope, error, now: now, random: random, ledger)
      if !isKnown {
        let event = Event.error(code: error.code.name, message: error.reason, scope: scope.asCause.text)
        try EventLog.add(event, now: now, ledger)
      }
      try ledger.noteError(error, stands: error.retryAfter == nil, now: now)
    }
  }

  /// A feed was read to its end: it waits for nothing.
  func release(_ feed: WaitScope, _ lease: Lease) throws(StoreError) {
    guard try read({ try $0.wait(feed) != nil }) else { return }
    try write(lease) { ledger, now in
      try Throttles.clear(feed, ledger)
    }
  }

  /// The token to read a zone from; nil reads from the beginning, which is begun here: what was written since an earlier try
  /// is not what this one sees.
  func startReading(_ zone: ZoneKey, _ lease: Lease) throws(StoreError) -> String? {
    return try write(lease) { ledger, now in
      guard let known = try ledger.zone(zone) else { return nil }
      if known.token == nil { try ledger.restart(zone) }
      return known.token
    }
  }

  /// Takes one page of a zone's feed, with the token behind it.
  ///
  /// Where an element failed to come, the token stays: the page is read again, so that nothing is passed over.
  ///
  /// - Parameter token: what the page was asked for with.
  func apply(
    _ page: WireZoneChanges,
    to zone: ZoneKey,
    since token: String?,
    policy: MergePolicy,
    _ lease: Lease
  ) throws(StoreError) -> PageEffect {
    let parts = try writeInSlices(page.records, lease) { slice, ledger, now -> (effect: PageEffect, rest: [String]) in
      guard let known = try ledger.zone(zone), known.token == token else { return (PageEffect(isStale: true), []) }
      try Throttles.endTrouble(ledger)
      try DeletionHold.release(zone, ledger)
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      var effect = try take(&slice, zone, epoch: known.epoch, isWhole: known.readingAll, reconciliation)
      guard slice.isLast, !hasFailed(page.records) else { return (effect, []) }
      guard !page.moreComing else {
        try Self.advance(zone, page, now: now, ledger)
        return (effect, [])
      }
      let hold = DeletionHold(reconciliation: reconciliation)
      // A reading from the beginning has seen all there is: what it did not see was deleted meanwhile.
      if known.readingAll {
        for name in try ledger.namesNotSeen(zone, epoch: known.epoch) { try hold.note(RecordKey(zone, name)) }
      }
      let names = try hold.conclude(zone)
      effect.deleted += names.count
      try ledger.count(fetched: names.count, now: now)
      guard names.count <= Planner.requestLimit else { return (effect, names) }
      try hold.carryOut(names, of: zone)
      try Self.advance(zone, page, now: now, ledger)
      return (effect, [])
    }
    let rest = parts.flatMap(\.rest)
    if !rest.isEmpty {
      // Many: others write in between, and the token is last.
      _ = try writeInSlices(rest, lease) { slice, ledger, now in
        let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
        while let name = slice.next() { try reconciliation.takeDeletion(of: RecordKey(zone, name)) }
        guard slice.isLast else { return }
        try DeletionHold.release(zone, ledger)
        if try ledger.zone(zone)?.token == token { try Self.advance(zone, page, now: now, ledger) }
      }
    }
    return parts.reduce(into: PageEffect()) { $0.add($1.effect) }
  }

  private static func advance(_ zone: ZoneKey, _ page: WireZoneChanges, now: Int64, _ ledger: Ledger) throws {
    try ledger.setToken(zone, page.syncToken, atEnd: !page.moreComing, now: now)
    // What is sent may have been told to wait since the page was asked for.
    if try !ledger.isWaiting(.zone(zone), now: now) { try Throttles.clear(.zone(zone), ledger) }
  }

  /// Reads a zone from the beginning, since the server no longer knows its token. Queued changes are untouched.
  func restartReading(_ zone: ZoneKey, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      try ledger.restart(zone)
      try EventLog.add(.zoneRestarted(zone: zone.zone), now: now, ledger)
    }
  }

  /// The zone's feed says that there is no such zone.
  ///
  /// - Returns: How many records went with it.
  func zoneIsGone(_ zone: ZoneKey, policy: MergePolicy, _ lease: Lease) throws(StoreError) -> Int {
    return try write(lease) { ledger, now in
      try ZoneLoss.take(zone, Reconciliation(policy: policy, now: now, ledger: ledger))
    }
  }

  // MARK: - Pulls by modification time

  /// Without a change feed only types that somebody has named can be read, and nobody has named any.
  package var knowsNoTypes: Bool {
    guard scope.database == .public else { return false }
    return (try? read { try $0.isBlank() }) ?? false
  }

  /// Feeds by modification time: zones without a change feed, with the types that are known or asked for.
  func pulls(types: [String], _ lease: Lease) throws(StoreError) -> [Pull] {
    return try write(lease) { ledger, now in
      var known = try ledger.pulls()
      for type in types { try ledger.insertPull(.defaultZone, type, among: &known) }
      // Deletions that are found are held back, or not, by zone.
      if !known.isEmpty { try ledger.insertZone(.defaultZone, state: .ready) }
      for zone in try ledger.zones() where zone.key.isDefaultZone {
        for type in try ledger.recordTypes(in: zone.key) + ledger.queuedTypes(in: zone.key) {
          try ledger.insertPull(zone.key, type, among: &known)
        }
      }
      return try ledger.pulls()
    }
  }

  /// The record types that are read by modification time.
  func pulledTypes() throws(StoreError) -> [String] {
    try read { ledger in Array(Set(try ledger.pulls().map(\.type))).sorted() }
  }

  /// Names of the records among these that the mirror does not have and that were deleted from here within the last hour, or
  /// are to be made from here: an index may show what was deleted for a while still.
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

  /// Takes a page of a pull.
  ///
  /// - Parameter page: what the query showed: by its times, and not by those of what was looked up besides, later pages follow.
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
      let effect = try take(&slice, pull.zone, epoch: 0, reconciliation)
      guard slice.isLast, !hasFailed(records) else { return effect }
      let latest = page.compactMap { result -> Int64? in
        if case .record(let record) = result { record.modified?.timestamp } else { nil }
      }.max()
      try ledger.advance(pull, seen: latest, now: now)
      return effect
    }.reduce(into: PageEffect()) { $0.add($1) }
  }

  /// Names and change tags of the records that the mirror has of a pull.
  func tagsInMirror(of pull: Pull) throws(StoreError) -> [RecordKey: String] {
    try read { try $0.changeTags(pull.zone, type: pull.type) }
  }

  /// Takes what a lookup said of records that a sweep missed or found otherwise.
  func applySweep(
    _ results: [WireRecordResult],
    of pull: Pull,
    policy: MergePolicy,
    _ lease: Lease
  ) throws(StoreError) -> PageEffect {
    let known = results.compactMap { result -> WireRecordResult? in
      guard case .failure(let name?, let error) = result else { return result }
      // What we may not read any more stays as it was known last.
      if error.code == .accessDenied { return nil }
      return error.code == .notFound ? .deleted(recordName: name) : result
    }
    return try writeInSlices(known, lease) { slice, ledger, now in
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      // These were asked for by name: whatever the mirror has, so it is now.
      return try take(&slice, pull.zone, epoch: 0, isWhole: true, reconciliation)
    }.reduce(into: PageEffect()) { $0.add($1) }
  }

  /// The end of a sweep, by which records that are gone have been marked.
  func markSwept(_ pull: Pull, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      try ledger.markSwept(pull, now: now)
      try DeletionHold.release(pull.zone, ledger)
    }
  }

  /// What the sweeps of a zone have marked comes true, or is held back.
  ///
  /// - Returns: how many records are deleted by that.
  func concludeSweeps(of zone: ZoneKey, policy: MergePolicy, _ lease: Lease) throws(StoreError) -> Int {
    guard try read({ try $0.goneCount(zone) > 0 && $0.zone(zone)?.heldSince == nil }) else { return 0 }
    return try write(lease) { ledger, now in
      let hold = DeletionHold(reconciliation: Reconciliation(policy: policy, now: now, ledger: ledger))
      let names = try hold.conclude(zone)
      try hold.carryOut(names, of: zone)
      return names.count
    }
  }

  private func hasFailed(_ results: [WireRecordResult]) -> Bool {
    results.contains { result in
      switch result {
      case .record(let wire): wire.recordType == nil || wire.recordChangeTag == nil
      case .deleted: false
      case .failure: true
      }
    }
  }

  private func take(
    _ results: inout TransactionSlice<WireRecordResult>,
    _ zone: ZoneKey,
    epoch: Int64,
    isWhole: Bool = false,
    _ reconciliation: Reconciliation
  ) throws -> PageEffect {
    var effect = PageEffect()
    while let result = results.next() {
      switch result {
      case .record(let wire):
        guard let record = MirrorRecord(wire, in: zone) else {
          let reason = "\(wire.recordName): the feed holds it without its type or tag"
          effect.failure = WebServicesError(.unexpectedServerResponse, reason)
          continue
        }
        let known = try reconciliation.ledger.changeTag(record.key)
        try reconciliation.take(record, epoch: epoch, isWhole: isWhole)
        if known != record.changeTag { effect.changed += 1 }
      case .deleted(let name):
        let key = RecordKey(zone, name)
        try DeletionHold(reconciliation: reconciliation).note(key)
        if try !reconciliation.ledger.isGone(key) { effect.deleted += 1 }
      case .failure(let name, let error):
        effect.failure = error
        if let name { effect.failure?.reason = "\(name): \(error.reason)" }
      }
    }
    try reconciliation.ledger.count(fetched: effect.changed + effect.deleted, now: reconciliation.now)
    return effect
  }
}
