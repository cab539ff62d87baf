import CloudKit

/// What an app has to be told of.
extension MemoryLedger {
  func startDelivering() throws {
    guard values["delivers"] == nil else { return }
    values["delivers"] = "1"
    for key in records.rows.keys.sorted() where deliveryRows[key] == nil {
      noteDelivery(key, type: records[key]?.record.type ?? "", lastFields: nil)
    }
  }

  func deliveries(isGone: Bool, limit: Int) throws -> [Delivery] {
    if deliveryRows.rows.isEmpty { return [] }
    let rows = try deliveryRows.rows.values.filter { row in
      try (records[row.key] != nil || operation(for: row.key)?.kind == .save) != isGone
    }
    return Array(rows.sorted { $0.number < $1.number }.prefix(limit))
  }

  func delivery(of key: RecordKey) throws -> Delivery? { deliveryRows[key] }

  func removeDeliveries(_ numbers: [Int64]) throws {
    let numbers = Set(numbers)
    for (key, row) in deliveryRows.rows where numbers.contains(row.number) { deliveryRows[key] = nil }
  }

  func noteGone(_ zone: ZoneKey) throws { noteDelivery(RecordKey(zone, ""), type: "", lastFields: nil) }

  func deliveryCount() throws -> Int { deliveryRows.rows.count }

  /// Notes that a record changed, where there is an app to be told.
  func noteDelivery(_ key: RecordKey, type: String, lastFields: [String: FieldValue]?) {
    guard values["delivers"] != nil else { return }
    singles.counters.delivery += 1
    deliveryRows[key] = Delivery(number: singles.counters.delivery, key: key, type: type, lastFields: lastFields)
  }
}
