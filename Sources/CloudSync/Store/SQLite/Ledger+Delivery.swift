import CloudKit
import GRDB

/// The table `deliveries`, which triggers on `records` and `operations` fill.
extension Ledger {
  /// Starts recording changes for the app: first every record in the mirror, from then on each record that changes in
  /// the mirror or whose operation ends. Does nothing if it has started already.
  func startDelivering() throws {
    guard try value("delivers") == nil else { return }
    try run("INSERT OR IGNORE INTO deliveries(zone, owner, name, type) SELECT zone, owner, name, type FROM records")
    try setValue("delivers", "1")
  }

  /// Returns the deliveries of existing records (in the mirror or with a queued save) or of deleted ones, oldest first.
  /// Each record has only its latest delivery.
  func deliveries(isGone: Bool, limit: Int) throws -> [Delivery] {
    let isThis = "zone = noted.zone AND owner = noted.owner AND name = noted.name"
    return try rows(
      """
      SELECT * FROM deliveries AS noted
      WHERE (EXISTS (SELECT 1 FROM records WHERE \(isThis))
        OR EXISTS (SELECT 1 FROM operations WHERE \(isThis) AND operation = 'save')) <> ?
      ORDER BY number LIMIT ?
      """,
      [isGone, limit]
    ).map(Delivery.init(row:))
  }

  func delivery(of key: RecordKey) throws -> Delivery? {
    try row("SELECT * FROM deliveries WHERE zone = ? AND owner = ? AND name = ?", [key.zone, key.owner, key.name])
      .map(Delivery.init(row:))
  }

  /// Removes deliveries that the app has taken. A later change to the record has another number.
  func removeDeliveries(_ numbers: [Int64]) throws {
    for number in numbers { try run("DELETE FROM deliveries WHERE number = ?", [number]) }
  }

  /// Records the deletion of a zone, as a delivery without a record name. Does nothing if no app takes deliveries.
  func noteGone(_ zone: ZoneKey) throws {
    guard try value("delivers") != nil else { return }
    try run("DELETE FROM deliveries WHERE zone = ? AND owner = ? AND name = ''", [zone.zone, zone.owner])
    try run("INSERT INTO deliveries(zone, owner, name, type) VALUES (?, ?, '', '')", [zone.zone, zone.owner])
  }

  func deliveryCount() throws -> Int { try one("SELECT count(*) FROM deliveries") ?? 0 }
}

extension Delivery {
  init(row: Row) throws {
    let fields: [String: FieldValue]?
    do {
      fields = try (row["fields"] as String?).map { try JSONColumn.value($0) }
    } catch {
      throw UnreadableRow(.delivery(row["number"]), error)
    }
    self.init(
      number: row["number"],
      key: RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"]),
      type: row["type"],
      lastFields: fields
    )
  }
}
