import CloudKit
import GRDB

/// The table `deliveries`, which triggers on `records` and `operations` fill.
extension Ledger {
  /// Whether changes are recorded for the app, and the latest request for them is known to within a day.
  func isDelivering(now: Int64) throws -> Bool {
    guard let asked = try value(.deliveriesAskedAt) else { return false }
    return (0..<SystemClock.day).contains(now - asked)
  }

  /// Starts recording changes for the app, unless it has started already: first every record in the mirror, from then
  /// on each record that changes in the mirror or whose operation ends.
  func startDelivering(now: Int64) throws {
    if try value(.deliveriesAskedAt) == nil {
      let all = "INSERT OR IGNORE INTO deliveries(zone, owner, name, type) SELECT zone, owner, name, coalesce(type, '')"
      try run("\(all) FROM records")
      // The app takes what does not come for deleted, so its own unsent records come too.
      if try hasLapsedDeliveries() { try run("\(all) FROM operations WHERE operation = 'save'") }
    }
    try setValue(.deliveriesAskedAt, now)
  }

  /// Stops recording changes if no app has asked for them since a time, and removes some of those recorded. Returns the
  /// number removed.
  func removeDeliveries(notAskedSince time: Int64, limit: Int) throws -> Int {
    if let asked = try value(.deliveriesAskedAt) {
      guard asked < time else { return 0 }
      try setValue(.deliveriesAskedAt, nil)
      try setValue(.deliveriesLapsed, true)
    }
    return try remove(all("SELECT number FROM deliveries LIMIT ?", [limit]), from: "deliveries", "number")
  }

  /// Whether deliveries were dropped that were not reported to the app.
  func hasLapsedDeliveries() throws -> Bool { try isTrue(.deliveriesLapsed) }

  func endLapse() throws { try setValue(.deliveriesLapsed, false) }

  /// Returns the deliveries of existing records (in the mirror or with a queued save) or of deleted ones, oldest first.
  /// Each record has only its latest delivery.
  ///
  /// - Parameter types: only those of records of these types; nil: all.
  func deliveries(isGone: Bool, of types: Set<String>? = nil, limit: Int) throws -> [Delivery] {
    let types = try types.map { try Self.json($0.sorted()) }
    let isThis = "zone = noted.zone AND owner = noted.owner AND name = noted.name"
    return try rows(
      """
      SELECT * FROM deliveries AS noted
      WHERE (EXISTS (SELECT 1 FROM records WHERE \(isThis))
        OR EXISTS (SELECT 1 FROM operations WHERE \(isThis) AND operation = 'save')) <> ?
        AND (? IS NULL OR type IN (SELECT value FROM json_each(?)))
      ORDER BY number LIMIT ?
      """,
      [isGone, types, types, limit]
    ).map(Delivery.init(row:))
  }

  func delivery(of key: RecordKey) throws -> Delivery? {
    try row("SELECT * FROM deliveries WHERE zone = ? AND owner = ? AND name = ?", [key.zone, key.owner, key.name])
      .map(Delivery.init(row:))
  }

  /// Removes deliveries that the app has taken. A later change to the record has another number.
  func removeDeliveries(_ numbers: [Int64]) throws {
    _ = try remove(numbers, from: "deliveries", "number")
  }

  /// Records the deletion of a zone, as a delivery without a record name. Does nothing if no app takes deliveries.
  func noteGone(_ zone: ZoneKey) throws {
    guard try value(.deliveriesAskedAt) != nil else { return }
    try run("DELETE FROM deliveries WHERE zone = ? AND owner = ? AND name = ''", [zone.zone, zone.owner])
    try run("INSERT INTO deliveries(zone, owner, name, type) VALUES (?, ?, '', '')", [zone.zone, zone.owner])
  }

  func deliveryCount() throws -> Int { Int(try value(.deliveryCount) ?? 0) }
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
