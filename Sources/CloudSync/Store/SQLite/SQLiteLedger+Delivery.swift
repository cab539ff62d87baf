import CloudKit
import GRDB

/// The table `deliveries`, which triggers on `records` and `operations` fill.
extension SQLiteLedger {
  func startDelivering() throws {
    guard try value("delivers") == nil else { return }
    try run("INSERT OR IGNORE INTO deliveries(zone, owner, name, type) SELECT zone, owner, name, type FROM records")
    try setValue("delivers", "1")
  }

  func deliveries(limit: Int) throws -> [Delivery] {
    try rows("SELECT * FROM deliveries ORDER BY number LIMIT ?", [limit]).map(Delivery.init(row:))
  }

  func delivery(of key: RecordKey) throws -> Delivery? {
    try row("SELECT * FROM deliveries WHERE zone = ? AND owner = ? AND name = ?", [key.zone, key.owner, key.name])
      .map(Delivery.init(row:))
  }

  func removeDeliveries(_ numbers: [Int64]) throws {
    for number in numbers { try run("DELETE FROM deliveries WHERE number = ?", [number]) }
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
