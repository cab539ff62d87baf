package import CloudKit
import Facts

/// Reading the store: lists, details, history.
extension SyncStore {
  // MARK: - The most frequent readings of a `StoreView`, each in a transaction of its own

  package func status() throws(StoreError) -> StoreStatus { try view { try $0.status() } }

  package func operations(matching filter: QueueFilter? = nil, limit: Int? = nil) throws(StoreError)
    -> Window<QueueRow>
  {
    try view { try $0.operations(matching: filter, limit: limit) }
  }

  /// The names of zones in lists. Only in the shared database can users have zones of one name.
  package func zoneTitles() throws(StoreError) -> ZoneTitles {
    ZoneTitles(scope.database == .shared ? try read { try $0.zones().map(\.key) } : [])
  }

  package func knows(_ zone: ZoneKey) throws(StoreError) -> Bool { try read { try $0.zone(zone) != nil } }

  /// Whether the store has the zone, has deleted it, or has a pause rule for it. Always true for the default zone.
  package func hasSeen(_ zone: ZoneKey) throws(StoreError) -> Bool {
    try read { ledger in
      try zone.isDefaultZone || ledger.zone(zone) != nil || ledger.wasDeleted(zone, since: 0)
        || ledger.pauses().contains { $0.rule == .zone(zone) }
    }
  }

  // MARK: - Records

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

  /// The wire types of a record type's fields, from its newest records in the mirror, else in the queue.
  ///
  /// - Parameter wanted: the fields to look for in older records if the newest lack them; nil if any field is of
  ///   interest.
  package func knownFieldTypes(of type: String, wanted: Set<String>? = nil) throws(StoreError) -> [String: String] {
    try read { try $0.fieldTypes(of: type, wanted: wanted) }
  }

  /// The wire types of a record type's fields, by where they are known from.
  package func fieldTypesBySource(of type: String) throws(StoreError) -> FieldTypes {
    try read { try $0.fieldTypesBySource(of: type) }
  }

  /// The fields of the newest record of a type in a zone, as the server has it; empty if there is none.
  package func newestFields(of type: String, in zone: ZoneKey) throws(StoreError) -> [String: FieldValue] {
    try read { try $0.newestFields(of: type, in: zone) }
  }

  /// Writes into the log what another device of the demo did.
  package func logSimulated(_ text: String) throws(StoreError) {
    let now = now()
    try write { try EventLog.add(.simulated(text), now: now, $0) }
  }
}
