import CloudKit

/// Reading the store: lists, details, history.
extension SyncStore {
  // MARK: - Queue

  /// Operations, oldest first.
  ///
  /// - Parameter text: keeps those with the text in name, type, zone, state or error.
  package func operations(
    matching filter: QueueFilter? = nil,
    text: String = "",
    offset: Int = 0,
    limit: Int? = nil
  ) throws(StoreError) -> Window<QueueRow> {
    let now = now()
    let isDriven = storage.isDriven
    return try read { ledger in
      let query = QueueQuery(filter: filter, text: text, now: now)
      var window = try ledger.operations(matching: query, offset: offset, limit: limit)
      let holdUp = try HoldUp(of: window.rows, isDriven: isDriven, now: now, ledger)
      window.rows = window.rows.map(holdUp.explained)
      return window
    }
  }

  /// Failed and retrying operations by cause, the most frequent first; failed ones before retrying ones.
  package func causes(matching filter: QueueFilter? = nil) throws(StoreError) -> [QueueCause] {
    let now = now()
    return try read { try $0.causes(matching: filter, now: now) }
  }

  /// Everything about one operation; nil where the queue and the history know no such identifier.
  package func detail(of id: Int64) throws(StoreError) -> OperationDetail? {
    let now = now()
    let isDriven = storage.isDriven
    return try read { ledger in
      let attempts = try ledger.attempts(of: id)
      if var operation = try ledger.operation(id) {
        operation.blockedBy = try ledger.blockers(of: id)
        let row = QueueRow(operation, serverTag: nil)
        let explained = try HoldUp(of: [row], isDriven: isDriven, now: now, ledger).explained(row)
        (operation.cause, operation.blockedBy) = (explained.cause, explained.blockedBy)
        return OperationDetail(
          operation: operation,
          server: try ledger.record(operation.key),
          attempts: attempts,
          history: nil,
          dropped: try ledger.dropped(of: id)
        )
      }
      // What can be had back of it is kept longer than how it ended.
      let (ended, dropped) = (try ledger.history(of: id), try ledger.dropped(of: id))
      guard ended != nil || !dropped.isEmpty else { return nil }
      return OperationDetail(operation: nil, server: nil, attempts: attempts, history: ended, dropped: dropped)
    }
  }

  /// How the latest operations ended, newest first.
  package func history(limit: Int) throws(StoreError) -> [HistoryEntry] {
    try read { try $0.history(limit: limit) }
  }

  // MARK: - Records

  /// Records by zone, type and name.
  ///
  /// - Parameters:
  ///   - mirrorOnly: as the server is known to hold them; else with pending edits laid over them.
  ///   - text: keeps those with the text in name, type or fields.
  package func records(
    zone: ZoneKey? = nil,
    type: String? = nil,
    text: String = "",
    mirrorOnly: Bool = false,
    offset: Int = 0,
    limit: Int? = nil
  ) throws(StoreError) -> Window<RecordRow> {
    let query = RecordQuery(zone: zone, type: type, text: text, mirrorOnly: mirrorOnly)
    return try read { try $0.records(matching: query, offset: offset, limit: limit) }
  }

  /// The next records by zone, owner and name: a walk over all misses none that stays, whatever comes and goes meanwhile.
  ///
  /// - Parameter key: the last one that is known; nil to begin with.
  package func records(
    after key: RecordKey?,
    zone: ZoneKey? = nil,
    type: String? = nil,
    mirrorOnly: Bool = false,
    limit: Int
  ) throws(StoreError) -> [RecordRow] {
    try read { try $0.records(after: key, of: zone, type: type, mirrorOnly: mirrorOnly, limit: limit) }
  }

  /// Records of this name in whatever zone.
  package func records(named name: String, zone: ZoneKey? = nil, mirrorOnly: Bool = false) throws(StoreError)
    -> [RecordRow]
  {
    try read { try $0.records(named: name, mirrorOnly: mirrorOnly) }
      .filter { zone == nil || $0.record.key.zoneKey == zone }
  }

  /// The wire types of the fields of a record type: as the mirror knows them, else as the queue does.
  package func knownFieldTypes(of type: String) throws(StoreError) -> [String: String] {
    try read { try $0.fieldTypes(of: type) }
  }

  // MARK: - Zones and events

  package func zones() throws(StoreError) -> [ZoneRow] {
    try read { ledger in
      let held = try Self.heldDeletions(ledger)
      let paused = Set(try ledger.pausedZones())
      return try ledger.zones().map { zone in
        ZoneRow(
          key: zone.key,
          state: zone.state.rawValue,
          records: try ledger.recordCount(of: zone.key),
          tokenAt: zone.tokenAt,
          lastFetchAt: zone.lastFetchAt,
          held: held.first { $0.zone == zone.key },
          isPaused: paused.contains(zone.key)
        )
      }
    }
  }

  /// The number of the latest event; 0 before the first.
  package func lastEvent() throws(StoreError) -> Int64 { try read { try $0.lastEvent() } }

  /// The latest events that match, newest first.
  ///
  /// - Parameter id: only events after this one.
  package func events(matching filter: QueueFilter? = nil, after id: Int64 = 0, limit: Int? = nil) throws(StoreError)
    -> [EventRow]
  {
    let query = EventQuery(filter: filter, now: now())
    return try read { try $0.events(matching: query, after: id, limit: limit) }
  }
}
