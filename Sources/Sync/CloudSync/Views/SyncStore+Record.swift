package import CloudKit
import GRDB

extension SyncStore {
  /// The store's knowledge of a record.
  package enum Knowledge: Hashable, Sendable {
    /// The record as this machine has it.
    case present(MirrorRecord)
    /// The server did not have it when its zone was last fetched to the end, or it is deleted here.
    case absent
    /// Its zone has not been fetched to the end.
    case unknown
  }

  package func knowledge(of key: RecordKey) throws(StoreError) -> Knowledge {
    try read { ledger in
      let local = try ledger.local(key)
      if let record = local.record { return .present(record) }
      // Deleted here, by itself or with its zone.
      let zone = key.zoneKey
      if try local.queued?.kind == .delete || ledger.hasZoneDelete(zone) { return .absent }
      guard let known = try ledger.zone(zone) else { return .unknown }
      if known.state == .deleted { return .absent }
      // A poll fetches by type, so records of other types may exist.
      let hasFeed = scope.database != .public && !zone.isDefaultZone
      let isFetched = known.lastFetchAt != nil && !known.needsFetch && !known.fetchingAll
      return hasFeed && isFetched ? .absent : .unknown
    }
  }

  /// One record as this machine has it: the server's version with queued edits applied. Its change tag is empty if the
  /// server is not known to have it. Nil if there is none, or a delete is queued.
  package func record(_ key: RecordKey) throws(StoreError) -> MirrorRecord? { try read { try $0.local(key).record } }

  /// The records of a type with queued changes, as this machine has them, in the order of these changes; nil for a
  /// queued delete, also of a record whose type is unknown.
  ///
  /// - Parameter zone: nil for all zones.
  package func queuedRecords(of type: String, in zone: ZoneKey?) throws -> [(id: CKRecord.ID, record: MirrorRecord?)] {
    try read { ledger in
      let ids: [Int64] = try ledger.all(
        """
        SELECT id FROM operations WHERE (?1 IS NULL OR (zone = ?1 AND owner = ?2)) AND operation IN ('save', 'delete')
          AND (type = ?3 OR type IS NULL) ORDER BY id
        """,
        [zone?.zone, zone?.owner, type]
      )
      return try ledger.operations(ids).map { ($0.key.recordID, try ledger.local($0).record) }
    }
  }

  /// A digest of what makes up the records of a type, as this machine has them: the server's versions and the queued
  /// changes. It costs less than reading the records, because nothing is decoded, and compares within one process.
  ///
  /// - Parameter zone: only this zone; nil for all.
  package func recordsDigest(of type: String, in zone: ZoneKey?) throws(StoreError) -> Int {
    try read { ledger in
      var hasher = Hasher()
      func add(_ sql: String, _ arguments: StatementArguments) throws {
        _ = try ledger.rows(sql, arguments) { row in
          for column in 0..<row.count { hasher.combine(row[column] as String?) }
        }
      }
      let deletedZones = try ledger.deletedZones()
      for zone in try ledger.zones(of: type, in: zone) {
        hasher.combine(deletedZones.contains(zone))
        // A queued change may take a record of the mirror out of its type.
        try add(
          """
          SELECT r.zone, r.owner, r.name, r.changeTag, o.operation, o.type, o.changes FROM records r
            LEFT JOIN operations o ON o.zone = r.zone AND o.owner = r.owner AND o.name = r.name
            WHERE r.zone = ?1 AND r.owner = ?2 AND r.type = ?3
          """,
          [zone.zone, zone.owner, type]
        )
      }
      try add(
        """
        SELECT zone, owner, name, operation, changes FROM operations
          WHERE type = ?1 AND name IS NOT NULL AND (?2 IS NULL OR (zone = ?2 AND owner = ?3))
        """,
        [type, zone?.zone, zone?.owner]
      )
      return hasher.finalize()
    }
  }
}

extension MirrorRecord {
  /// The record with these fields alone, and its parent.
  package func only(_ names: [String]) -> MirrorRecord {
    var part = self
    part.fields = fields.filter { names.contains($0.key) || $0.key == FieldChanges.parent }
    return part
  }
}
