import CloudKit

/// Reading the store: lists, details, history.
extension SyncStore {
  // MARK: - Queue

  /// Operations, oldest first.
  ///
  /// - Parameter text: a text to find in name, type, zone, state or error.
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

  /// Everything about one operation; nil if neither the queue nor the history has it.
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
      // Dropped changes are kept longer than the history of their operation.
      let (ended, dropped) = (try ledger.history(of: id), try ledger.dropped(of: id))
      guard ended != nil || !dropped.isEmpty else { return nil }
      return OperationDetail(operation: nil, server: nil, attempts: attempts, history: ended, dropped: dropped)
    }
  }

  /// The endings of the latest operations, newest first.
  package func history(limit: Int) throws(StoreError) -> [HistoryEntry] {
    try read { try $0.history(limit: limit) }
  }

  // MARK: - Records

  /// Records by zone, type and name.
  ///
  /// - Parameters:
  ///   - text: a text to find in name, type or fields.
  ///   - mirrorOnly: whether to show the server's version; else pending edits are applied to it.
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

  /// The next records by zone, owner and name. Iterating over all does not miss a record when others are added or
  /// removed.
  ///
  /// - Parameter key: the last record of the previous call; nil for the first.
  package func records(
    after key: RecordKey?,
    zone: ZoneKey? = nil,
    type: String? = nil,
    mirrorOnly: Bool = false,
    limit: Int
  ) throws(StoreError) -> [RecordRow] {
    try read { try $0.records(after: key, of: zone, type: type, mirrorOnly: mirrorOnly, limit: limit) }
  }

  /// Records of this name in any zone, or in the given one.
  package func records(named name: String, zone: ZoneKey? = nil, mirrorOnly: Bool = false) throws(StoreError)
    -> [RecordRow]
  {
    try read { try $0.records(named: name, mirrorOnly: mirrorOnly) }
      .filter { zone == nil || $0.record.key.zoneKey == zone }
  }

  /// The wire types of a record type's fields, from the mirror, else from the queue.
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
