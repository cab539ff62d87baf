import CloudKit
import GRDB

/// The table `records`: every record in the server's last known version, which is the merge base of new changes.
extension Ledger {
  /// The change tag is read first, because most keys are new and a single value is cheaper than a row.
  func record(_ key: RecordKey) throws -> MirrorRecord? {
    guard try changeTag(key) != nil else { return nil }
    return try row(
      "SELECT \(MirrorRecord.columns) FROM records WHERE zone = ? AND owner = ? AND name = ?",
      [key.zone, key.owner, key.name]
    ).map(MirrorRecord.init(row:))
  }

  /// The change tag, which shows whether anything changed without decoding the record.
  func changeTag(_ key: RecordKey) throws -> String? {
    try one(
      "SELECT changeTag FROM records WHERE zone = ? AND owner = ? AND name = ?",
      [key.zone, key.owner, key.name]
    )
  }

  /// The part of the mirror and of the queue that decides about a fetched record.
  struct KnownRecord {
    var version: MirrorVersion?
    /// Nil without a version.
    var epoch: Int64?
    /// Whether a change to it is queued.
    var isQueued = false
  }

  /// Returns the stored state of some records of a zone, in their order.
  func known(_ names: [String], in zone: ZoneKey) throws -> [KnownRecord] {
    let sql = """
      SELECT v.key, r.changeTag, r.modifiedAt, r.formerTags, r.epoch, o.id IS NOT NULL FROM json_each(:names) v
        LEFT JOIN records r ON r.zone = :zone AND r.owner = :owner AND r.name = v.value
        LEFT JOIN operations o ON o.zone = :zone AND o.owner = :owner AND o.name = v.value
      """
    var known = Array(repeating: KnownRecord(), count: names.count)
    for row in try rows(sql, ["names": try Self.json(names), "zone": zone.zone, "owner": zone.owner]) {
      var version: MirrorVersion?
      if let changeTag: String = row[1] {
        // The last of the former tags may be truncated.
        let tags = (row[3] as String).split(separator: " ", omittingEmptySubsequences: false).dropLast()
        version = MirrorVersion(changeTag: changeTag, modifiedAt: row[2], formerTags: tags.map(String.init))
      }
      known[row[0]] = KnownRecord(version: version, epoch: row[4], isQueued: row[5])
    }
    return known
  }

  func records(_ names: [String], in zone: ZoneKey) throws -> [RecordKey: MirrorRecord] {
    guard !names.isEmpty else { return [:] }
    let sql = """
      SELECT \(MirrorRecord.columns) FROM records
      WHERE zone = ? AND owner = ? AND name IN (SELECT value FROM json_each(?))
      """
    return try rows(sql, [zone.zone, zone.owner, try Self.json(names)]).reduce(into: [:]) { records, row in
      let record = try MirrorRecord(row: row)
      records[record.key] = record
    }
  }

  /// Stores a record in the server's version, as seen in `epoch`, and remembers some of its earlier tags.
  func put(_ record: MirrorRecord, epoch: Int64) throws {
    try removeUnreadable([record.key.name], in: record.key.zoneKey)
    try put([(record, epoch)])
  }

  /// Stores records in the server's version, each as seen in its epoch.
  func put(_ records: [(record: MirrorRecord, epoch: Int64)]) throws {
    try insert(
      "INSERT INTO records(\(MirrorRecord.columns), epoch)",
      records.map { try $0.values + [$1] },
      """
      ON CONFLICT(zone, owner, name) DO UPDATE SET
        type = excluded.type, changeTag = excluded.changeTag, fields = excluded.fields,
        createdAt = excluded.createdAt, modifiedAt = excluded.modifiedAt, modifiedBy = excluded.modifiedBy,
        createdBy = excluded.createdBy, share = excluded.share,
        epoch = excluded.epoch,
        formerTags = CASE records.changeTag WHEN excluded.changeTag THEN records.formerTags
          ELSE substr(records.changeTag || ' ' || records.formerTags, 1, 200) END
      """
    )
  }

  /// Marks a record as seen in `epoch`.
  func touch(_ key: RecordKey, epoch: Int64) throws { try touch([key.name], of: key.zoneKey, epoch: epoch) }

  /// Marks records of a zone as seen in `epoch`.
  func touch(_ names: [String], of zone: ZoneKey, epoch: Int64) throws {
    guard !names.isEmpty else { return }
    let sql = """
      UPDATE records SET epoch = ?3
      WHERE zone = ?1 AND owner = ?2 AND name IN (SELECT value FROM json_each(?4)) AND epoch <> ?3
      """
    try run(sql, [zone.zone, zone.owner, epoch, try Self.json(names)])
  }

  func removeRecord(_ key: RecordKey) throws {
    try removeUnreadable([key.name], in: key.zoneKey)
    try run("DELETE FROM records WHERE zone = ? AND owner = ? AND name = ?", [key.zone, key.owner, key.name])
  }

  /// Some records of the mirror.
  func recordKeys(limit: Int) throws -> [RecordKey] {
    try rows("SELECT zone, owner, name FROM records LIMIT ?", [limit])
      .map { RecordKey(zone: $0["zone"], owner: $0["owner"], name: $0["name"]) }
  }

  /// The names of a zone's records, in order.
  func names(of zone: ZoneKey, after name: String = "", limit: Int) throws -> [String] {
    try all(
      "SELECT name FROM records WHERE zone = ? AND owner = ? AND name > ? ORDER BY name LIMIT ?",
      [zone.zone, zone.owner, name, limit]
    )
  }

  /// The names in a zone that were not seen in `epoch`.
  func namesNotSeen(_ zone: ZoneKey, epoch: Int64) throws -> [String] {
    try all(
      "SELECT name FROM records WHERE zone = ? AND owner = ? AND epoch < ? ORDER BY name",
      [zone.zone, zone.owner, epoch]
    )
  }

  /// The first names in a zone whose records are marked as deleted (a negative epoch), in order.
  func namesGone(_ zone: ZoneKey, limit: Int) throws -> [String] {
    try all(
      """
      SELECT name FROM records INDEXED BY recordsGone WHERE zone = ? AND owner = ? AND epoch < 0 ORDER BY name LIMIT ?
      """,
      [zone.zone, zone.owner, limit]
    )
  }

  /// The number of records marked as deleted that have a queued edit.
  func goneCountWithEdits(_ zone: ZoneKey) throws -> Int {
    try goneCount(zone, where: "EXISTS", "o.operation = 'save'")
  }

  /// The number of records marked as deleted that restoring recreates: the deletions of others end, or are being sent.
  func goneCountToRestore(_ zone: ZoneKey) throws -> Int {
    try goneCount(zone, where: "NOT EXISTS", "(o.operation = 'delete' OR o.state = 'inFlight')")
  }

  private func goneCount(_ zone: ZoneKey, where exists: String, _ condition: String) throws -> Int {
    try one(
      """
      SELECT count(*) FROM records r INDEXED BY recordsGone WHERE zone = ? AND owner = ? AND epoch < 0 AND \(exists)
        (SELECT 1 FROM operations o WHERE o.zone = r.zone AND o.owner = r.owner AND o.name = r.name AND \(condition))
      """,
      [zone.zone, zone.owner]
    ) ?? 0
  }

  /// The number of records marked as deleted that have asset files. Only records whose text names the type of assets
  /// are decoded.
  func goneCountWithFiles(_ zone: ZoneKey) throws -> Int {
    var count = 0
    let records = try Row.fetchCursor(
      database,
      sql: """
        SELECT \(MirrorRecord.columns) FROM records INDEXED BY recordsGone
        WHERE zone = ? AND owner = ? AND epoch < 0 AND instr(fields, 'ASSETID') > 0
        """,
      arguments: [zone.zone, zone.owner]
    )
    while let row = try records.next() {
      let fields = try MirrorRecord(row: row).fields.values
      if fields.contains(where: { $0.assets?.isEmpty == false }) { count += 1 }
    }
    return count
  }

  func goneCount(_ zone: ZoneKey) throws -> Int {
    try one(
      "SELECT count(*) FROM records INDEXED BY recordsGone WHERE zone = ? AND owner = ? AND epoch < 0",
      [zone.zone, zone.owner]
    ) ?? 0
  }

  /// Whether the record is in the mirror and marked as deleted.
  func isGone(_ key: RecordKey) throws -> Bool {
    try one(
      "SELECT 1 FROM records INDEXED BY recordsGone WHERE zone = ? AND owner = ? AND name = ? AND epoch < 0",
      [key.zone, key.owner, key.name]
    ) ?? false
  }

  /// The change tags of a zone's records of one type in the mirror.
  func changeTags(_ zone: ZoneKey, type: String) throws -> [RecordKey: String] {
    let sql = "SELECT name, changeTag FROM records WHERE zone = ? AND owner = ? AND type = ?"
    return try rows(sql, [zone.zone, zone.owner, type]).reduce(into: [:]) { tags, row in
      tags[RecordKey(zone, row[0])] = row[1]
    }
  }

  func recordCount(of zone: ZoneKey) throws -> Int {
    try one("SELECT sum(mirrored) FROM recordCounts WHERE zone = ? AND owner = ?", [zone.zone, zone.owner]) ?? 0
  }

  /// The number of records in the mirror by zone, without empty zones.
  func recordCounts() throws -> [ZoneKey: Int] {
    try rows("SELECT zone, owner, sum(mirrored) AS number FROM recordCounts GROUP BY zone, owner HAVING number > 0")
      .reduce(into: [:]) { $0[ZoneKey(zone: $1["zone"], owner: $1["owner"])] = $1["number"] }
  }

  /// The types of a zone's records in the mirror.
  func recordTypes(in zone: ZoneKey) throws -> [String] {
    try all(
      "SELECT type FROM recordCounts WHERE zone = ? AND owner = ? AND mirrored > 0 ORDER BY type",
      [zone.zone, zone.owner]
    )
  }

  /// The record types of a zone's queued operations.
  func queuedTypes(in zone: ZoneKey) throws -> [String] {
    try all(
      "SELECT DISTINCT type FROM queueCounts WHERE zone = ? AND owner = ? AND type <> '' AND count > 0 ORDER BY type",
      [zone.zone, zone.owner]
    )
  }

  /// Whether there is no record, no operation and no polled query.
  func isBlank() throws -> Bool {
    try one(
      """
      SELECT NOT EXISTS (SELECT 1 FROM polledQueries) AND NOT EXISTS (SELECT 1 FROM records)
        AND NOT EXISTS (SELECT 1 FROM operations)
      """
    ) ?? true
  }
}
