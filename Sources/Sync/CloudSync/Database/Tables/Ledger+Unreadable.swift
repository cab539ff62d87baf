import GRDB

/// The table `unreadable`. Its type is empty for a whole zone, and a slash with the name for a record: no type has one.
extension Ledger {
  private static let shownRecords = 100

  /// Everything that cannot be read: zones and types, then the first records.
  func unreadable() throws -> [Unreadable] {
    try rows(
      """
      SELECT * FROM (SELECT * FROM unreadable WHERE NOT \(Self.isOfRecord) ORDER BY owner, zone, type)
      UNION ALL SELECT * FROM
        (SELECT * FROM unreadable WHERE \(Self.isOfRecord) ORDER BY owner, zone, type LIMIT \(Self.shownRecords))
      """
    ).map { row in
      let place: String = row["type"]
      return Unreadable(
        zone: ZoneKey(zone: row["zone"], owner: row["owner"]),
        type: place.isEmpty || place.hasPrefix("/") ? nil : place,
        record: place.hasPrefix("/") ? String(place.dropFirst()) : nil,
        message: row["message"],
        since: row["since"]
      )
    }
  }

  private static let isOfRecord = "(type >= '/' AND type < '0')"

  /// Stores an entry; a known one keeps its time.
  func put(_ unreadable: Unreadable) throws {
    try run(
      """
      INSERT INTO unreadable(zone, owner, type, message, since) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT(zone, owner, type) DO UPDATE SET message = excluded.message
      """,
      [
        unreadable.zone.zone, unreadable.zone.owner, unreadable.record.map { "/\($0)" } ?? unreadable.type ?? "",
        unreadable.message, unreadable.since,
      ]
    )
  }

  func removeUnreadable(_ zone: ZoneKey, type: String?) throws {
    try run(
      "DELETE FROM unreadable WHERE zone = ? AND owner = ? AND type = ?",
      [zone.zone, zone.owner, type ?? ""]
    )
  }

  /// Removes the entries of these records: they were read, or are gone. Mostly there are none.
  func removeUnreadable(_ records: [String], in zone: ZoneKey) throws {
    guard try hasUnreadableRecords(in: zone) else { return }
    try run(
      """
      DELETE FROM unreadable
      WHERE zone = ? AND owner = ? AND type IN (SELECT '/' || value FROM json_each(?))
      """,
      [zone.zone, zone.owner, try Self.json(records)]
    )
  }

  /// Removes the entries of a zone's records: all of them are fetched again, or are gone.
  func removeUnreadableRecords(in zone: ZoneKey) throws {
    guard try hasUnreadableRecords(in: zone) else { return }
    try run(
      "DELETE FROM unreadable WHERE zone = ? AND owner = ? AND \(Self.isOfRecord)",
      [zone.zone, zone.owner]
    )
  }

  private func hasUnreadableRecords(in zone: ZoneKey) throws -> Bool {
    try one(
      "SELECT EXISTS (SELECT 1 FROM unreadable WHERE zone = ? AND owner = ? AND \(Self.isOfRecord))",
      [zone.zone, zone.owner]
    ) ?? false
  }
}
