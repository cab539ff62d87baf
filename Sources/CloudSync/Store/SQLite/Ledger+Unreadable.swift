import GRDB

/// The table `unreadable`.
extension Ledger {
  /// Everything that cannot be read, by zone and type.
  func unreadable() throws -> [Unreadable] {
    try rows("SELECT * FROM unreadable ORDER BY owner, zone, type").map { row in
      let type: String = row["type"]
      return Unreadable(
        zone: ZoneKey(zone: row["zone"], owner: row["owner"]),
        type: type.isEmpty ? nil : type,
        message: row["message"],
        since: row["since"]
      )
    }
  }

  /// Stores an entry; a known one keeps its time.
  func put(_ unreadable: Unreadable) throws {
    try run(
      """
      INSERT INTO unreadable(zone, owner, type, message, since) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT(zone, owner, type) DO UPDATE SET message = excluded.message
      """,
      [
        unreadable.zone.zone, unreadable.zone.owner, unreadable.type ?? "", unreadable.message, unreadable.since,
      ]
    )
  }

  func removeUnreadable(_ zone: ZoneKey, type: String?) throws {
    try run(
      "DELETE FROM unreadable WHERE zone = ? AND owner = ? AND type = ?",
      [zone.zone, zone.owner, type ?? ""]
    )
  }
}
