import CloudKit
import Facts

/// One look at a store: everything that is read through it comes from one transaction, with secrets masked.
package struct StoreView {
  let ledger: Ledger
  let now: Int64
  /// Whether the process that has the lease has not ended.
  let hasEngine: Bool
  /// Looks why nothing can be written to the store; nil if it can, as far as is known. Only the status asks.
  let storageTrouble: () -> StorageTrouble?
  let redaction: Redaction
  /// Looks whether a process waits until the store can be written. Only the status asks.
  var isAwaited: () -> Bool = { false }
  /// Returns the process that has or had the lease, if it is one of this machine that has not ended. Only the status
  /// asks.
  var process: (LeaseHolder) -> RunningProcess? = { _ in nil }
  /// Returns a fencing token in a range whose process has not ended. Only the status asks.
  var holder: (ClosedRange<Int64>) -> Int64? = { _ in nil }
  /// See `SystemClock.offset()`.
  var clockOffset: Int64?
  /// Milliseconds for which a full sync counts while no process polls. Only the status asks.
  var freshFor = StoreStatus.standardFreshness

  // MARK: - Queue

  /// Operations, oldest first.
  package func operations(matching filter: QueueFilter? = nil, limit: Int? = nil) throws -> Window<QueueRow> {
    try operations(QueueListing(matching: filter, order: .oldest), limit: limit ?? .max).window
  }

  func holdUp() throws -> HoldUp { try HoldUp(hasEngine: hasEngine, now: now, ledger) }

  /// Returns the row as lists show it.
  func listed(_ row: QueueRow, _ holdUp: inout HoldUp) throws -> QueueRow {
    redaction.redact(try holdUp.explained(row)).listed
  }

  /// Everything about one operation; nil if neither the queue nor the history has it.
  package func detail(of id: Int64) throws -> OperationDetail? {
    if let operation = try ledger.operation(id) {
      var holdUp = try holdUp()
      return try detail(of: namingReferrers(operation), &holdUp)
    }
    // Dropped changes are kept longer than the history of their operation.
    let (ended, dropped) = (try ledger.history(of: id), try shownDropped(of: id))
    guard ended != nil || !dropped.isEmpty else { return nil }
    let attempts = try ledger.attempts(of: id)
    return redaction.redact(
      OperationDetail(operation: nil, server: nil, attempts: attempts, history: ended, dropped: dropped)
    )
  }

  func detail(of operation: QueuedOperation, _ holdUp: inout HoldUp) throws -> OperationDetail {
    var operation = operation
    operation.blockedBy = try ledger.blockers(of: operation.id)
    let explained = try holdUp.explained(QueueRow(operation, serverTag: nil))
    (operation.cause, operation.blockedBy) = (explained.cause, explained.blockedBy)
    operation.explainedAttemptAt = explained.nextAttemptAt
    return redaction.redact(
      OperationDetail(
        operation: operation,
        server: try ledger.record(operation.key),
        attempts: try ledger.attempts(of: operation.id),
        history: nil,
        dropped: try shownDropped(of: operation.id),
        recreatesZone: explained.recreatesZone
      )
    )
  }

  /// Names the records that keep one from being deleted. They are looked for among many records, so only for a single
  /// operation.
  func namingReferrers(_ operation: QueuedOperation) throws -> QueuedOperation {
    guard operation.cause.isStillReferredTo, let referrers = try ledger.referrers(of: operation.key) else {
      return operation
    }
    var operation = operation
    operation.cause = operation.cause.naming(referrers)
    return operation
  }

  /// Returns an operation's dropped and overwritten values, without decisions that kept none.
  private func shownDropped(of id: Int64) throws -> [DroppedChange] {
    try ledger.dropped(of: id).filter { $0.dropsChange || $0.overwritten != nil }
  }

  // MARK: - Conflicts

  /// The oldest conflicts.
  package func conflicts(limit: Int? = nil) throws -> Window<Conflict> {
    let rows = try ledger.operationIDs(in: .conflict, limit: limit).compactMap(conflict)
    return Window(total: try ledger.operationCount(in: .conflict), offset: 0, rows: rows)
  }

  package func conflict(_ id: Int64) throws -> Conflict? { try SyncStore.conflict(id, ledger).map(redaction.redact) }

  /// Dropped changes that can still be undone, newest first.
  package func dropped(limit: Int = 1000) throws -> [DroppedChange] {
    var changes: [DroppedChange] = []
    try dropped(before: .max, limit: limit, unseenToo: false) { _, change in
      changes.append(change)
      return true
    }
    return changes
  }

  /// A window of the dropped changes that a list shows, newest first.
  package func dropped(_ listing: DroppedListing, offset: Int, limit: Int) throws -> Window<DroppedRow> {
    var window = try ledger.dropped(listing, offset: offset, limit: limit)
    for index in window.rows.indices { window.rows[index].change = redaction.redact(window.rows[index].change) }
    return window
  }

  /// The wire types of a record type's fields, as its newest records have them.
  package func fieldTypes(of type: String) throws -> [String: String] { try ledger.fieldTypes(of: type) }

  // MARK: - Records and zones

  /// Records by zone, owner and name.
  ///
  /// - Parameter mirrorOnly: whether to show the server's version; else pending edits are applied to it.
  package func records(mirrorOnly: Bool = false, offset: Int = 0, limit: Int? = nil) throws -> Window<RecordRow> {
    let rows = try ledger.records(mirrorOnly: mirrorOnly, offset: offset, limit: limit)
    return Window(total: try ledger.recordCount(mirrorOnly: mirrorOnly), offset: offset, rows: rows)
  }

  package func zones() throws -> [ZoneRow] {
    let held = Dictionary(uniqueKeysWithValues: try SyncStore.heldDeletions(ledger).map { ($0.zone, $0) })
    let paused = Set(try ledger.pauses().map(\.rule))
    let deleted = try ledger.deletedZones()
    let denied = Set(try ledger.unreadable().filter { $0.type == nil && $0.record == nil }.map(\.zone))
    let records = try ledger.recordCounts()
    let queued = try ledger.queueParts().reduce(into: [ZoneKey: [OperationState: Int]]()) { queued, part in
      queued[part.zone, default: [:]][part.state, default: 0] += part.count
    }
    return try ledger.zones().map { zone in
      ZoneRow(
        key: zone.key,
        state: zone.state.rawValue,
        records: records[zone.key] ?? 0,
        queued: queued[zone.key] ?? [:],
        tokenAt: zone.tokenAt,
        lastFetchAt: zone.lastFetchAt,
        held: held[zone.key],
        isDeletePending: deleted.contains(zone.key),
        isPaused: paused.contains(.zone(zone.key)),
        isDenied: denied.contains(zone.key),
        fetch: zone.needsFetch ? .init(isOfAll: zone.fetchingAll, fetched: zone.fetched) : nil
      )
    }
  }

  /// The first zones of a list, and how many it has.
  package func zones(_ listing: ZoneListing, limit: Int) throws -> Window<ZoneRow> {
    let rows = try zones().filter { $0.matches(listing.filter.words) }.sorted { $0.precedes($1) }
    return Window(total: rows.count, offset: 0, rows: Array(rows.prefix(limit)))
  }

  // MARK: - Events

  /// The number of the latest event; 0 before the first.
  package func lastEvent() throws -> Int64 { try ledger.lastEvent() }

  /// The latest events of a list, newest first.
  ///
  /// - Parameter id: only events after this one.
  package func events(_ listing: EventListing = EventListing(), after id: Int64 = 0, limit: Int? = nil) throws
    -> [EventRow]
  {
    let query = ListQuery(listing.filter, now: now)
    return try ledger.events(matching: query, after: id, in: listing.time, limit: limit).map(redaction.redact)
  }
}

/// Reads a store for a screen or a command.
package struct StoreReader: Sendable {
  package let store: SyncStore
  let redaction: Redaction
  private let freshFor: Int64

  /// - Parameter freshFor: milliseconds for which a full sync counts while no process polls.
  package init(_ store: SyncStore, _ redaction: Redaction, freshFor: Int64 = StoreStatus.standardFreshness) {
    self.store = store
    self.redaction = redaction
    self.freshFor = freshFor
  }

  /// Reads everything that `body` asks for in one transaction.
  package func view<Value>(_ body: (StoreView) throws -> Value) throws(StoreError) -> Value {
    try store.view(masking: redaction) { view in
      var view = view
      view.freshFor = freshFor
      return try body(view)
    }
  }
}

extension SyncStore {
  /// Reads everything that `body` asks for in one transaction.
  package func view<Value>(masking redaction: Redaction = Redaction(), _ body: (StoreView) throws -> Value)
    throws(StoreError) -> Value
  {
    let now = now()
    return try read { try body(view(redaction, now: now, $0)) }
  }

  /// A look at the store in the transaction of a ledger.
  func view(_ redaction: Redaction = Redaction(), now: Int64, _ ledger: Ledger) throws -> StoreView {
    StoreView(
      ledger: ledger,
      now: now,
      hasEngine: try hasEngine(ledger),
      storageTrouble: { [storage] in storage.trouble },
      redaction: redaction,
      isAwaited: { [storage] in storage.isAwaited },
      process: \.process,
      holder: { [storage] in storage.holder(among: $0) },
      clockOffset: clockOffset()
    )
  }
}
