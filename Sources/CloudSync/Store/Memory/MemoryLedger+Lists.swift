import CloudKit

/// Lists and counts, for people: every row is looked at.
extension MemoryLedger {
  // MARK: - Queue

  func operations(matching query: QueueQuery, offset: Int, limit: Int?) throws -> Window<QueueRow> {
    let text = SoughtText(query.text)
    let ids = try operationIDs(matching: query.filter, now: query.now).filter { id in
      guard let operation = operations[id]?.operation else { return false }
      return text.isIn(
        operation.key.name,
        operation.type ?? "",
        operation.key.zone,
        operation.state.rawValue,
        operation.kind.rawValue,
        operation.reason,
        operation.errorMessage ?? ""
      )
    }
    let rows = try ids.dropFirst(offset).prefix(limit ?? .max).compactMap { id -> QueueRow? in
      guard var operation = operations[id]?.operation else { return nil }
      operation.blockedBy = try blockers(of: id)
      return QueueRow(operation)
    }
    return Window(total: ids.count, offset: offset, rows: rows)
  }

  func operationIDs(matching filter: QueueFilter?, now: Int64) throws -> [Int64] {
    guard let filter else { return Array(queue.all) }
    let needsPayload = filter.columns.contains(.payload)
    return try queue.all.filter { id in
      guard let operation = operations[id]?.operation else { return false }
      let payload = needsPayload ? try JSONColumn.text(operation.changes) : ""
      return filter.matches(FilterRow(operation, payload: payload), now: now)
    }
  }

  func queueTotals() throws -> [OperationState: QueueTotals] {
    var totals: [OperationState: QueueTotals] = [:]
    for row in operations.rows.values {
      let operation = row.operation
      totals[operation.state, default: QueueTotals()].count += 1
      totals[operation.state, default: QueueTotals()].bytes += operation.bytes
      let oldest = totals[operation.state]?.oldest ?? .max
      totals[operation.state]?.oldest = min(oldest, operation.enqueuedAt)
    }
    return totals
  }

  func queueParts() throws -> [QueuePart] {
    var parts: [[String]: QueuePart] = [:]
    for operation in operations.rows.values.map(\.operation) {
      let (zone, type) = (operation.key.zoneKey, operation.type ?? "")
      let place = [operation.state.rawValue, zone.zone, zone.owner, type]
      var part = parts[place] ?? QueuePart(state: operation.state, zone: zone, type: type, count: 0, bytes: 0)
      part.count += 1
      part.bytes += operation.bytes
      parts[place] = part
    }
    return parts.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
  }

  // MARK: - Records

  func records(matching query: RecordQuery, offset: Int, limit: Int?) throws -> Window<RecordRow> {
    let rows = try records(matching: query).sorted { left, right in
      let (a, b) = (left.record, right.record)
      return (a.key.zone, a.key.owner, a.type, a.key.name) < (b.key.zone, b.key.owner, b.type, b.key.name)
    }
    return Window(total: rows.count, offset: offset, rows: Array(rows.dropFirst(offset).prefix(limit ?? .max)))
  }

  func records(after key: RecordKey?, of zone: ZoneKey?, type: String?, mirrorOnly: Bool, limit: Int) throws
    -> [RecordRow]
  {
    let place = { (key: RecordKey) in (key.zone, key.owner, key.name) }
    let rows = try records(matching: RecordQuery(zone: zone, type: type, mirrorOnly: mirrorOnly))
      .filter { row in key.map { place($0) < place(row.record.key) } ?? true }
    return Array(rows.sorted { place($0.record.key) < place($1.record.key) }.prefix(limit))
  }

  private func records(matching query: RecordQuery) throws -> [RecordRow] {
    let text = SoughtText(query.text)
    let keys = try query.zone.map(keys(of:)) ?? Array(Set(records.rows.keys).union(queue.byKey.keys))
    var rows: [RecordRow] = []
    for key in keys {
      guard let row = row(key, mirrorOnly: query.mirrorOnly) else { continue }
      if let type = query.type, row.record.type != type { continue }
      if !text.isEmpty {
        let mirrored = try records[key].map { try JSONColumn.text($0.record.fields) } ?? "{}"
        let changes = try row.operation.flatMap { try operation($0) }.map { try JSONColumn.text($0.changes) } ?? ""
        guard text.isIn(key.name, row.record.type, mirrored, changes) else { continue }
      }
      rows.append(row)
    }
    return rows
  }

  private func keys(of zone: ZoneKey) throws -> [RecordKey] {
    let queued = try operations(of: zone).map(\.key).filter { !$0.name.isEmpty }
    return Array(Set(mirror.keys(of: zone) + queued))
  }

  func records(named name: String, mirrorOnly: Bool) throws -> [RecordRow] {
    let zones = Set(mirror.byZone.keys).union(queue.byZone.keys).sorted()
    return zones.compactMap { row(RecordKey($0, name), mirrorOnly: mirrorOnly) }
  }

  /// A record as a list shows it; nil where there is none, or where it is to be deleted.
  private func row(_ key: RecordKey, mirrorOnly: Bool) -> RecordRow? {
    let known = records[key]?.record
    let queued = mirrorOnly ? nil : queue.byKey[key].flatMap { operations[$0]?.operation }
    if queued?.kind == .delete { return nil }
    guard let type = known?.type ?? queued.map({ $0.type ?? "" }) else { return nil }
    var record = known ?? MirrorRecord(key: key, type: type, changeTag: "", fields: [:])
    if let queued { record.fields = queued.changes.applied(to: record.fields) }
    return RecordRow(
      record: record,
      changeTag: known?.changeTag,
      operation: queued?.id,
      operationState: queued?.state
    )
  }

  func recordTotals() throws -> [RecordTotal] {
    var totals: [String: [String: Int]] = [:]
    for (zone, types) in mirror.byZone {
      for (type, names) in types { totals[zone.zone, default: [:]][type, default: 0] += names.count }
    }
    for (key, id) in queue.byKey {
      guard let operation = operations[id]?.operation, let type = operation.type else { continue }
      let isKnown = records[key] != nil
      if operation.kind == .save, !isKnown { totals[key.zone, default: [:]][type, default: 0] += 1 }
      if operation.kind == .delete, isKnown { totals[key.zone, default: [:]][type, default: 0] -= 1 }
    }
    return totals.flatMap { zone, types in
      types.filter { $0.value > 0 }.map { RecordTotal(zone: zone, type: $0.key, count: $0.value) }
    }.sorted { ($0.zone, $0.type) < ($1.zone, $1.type) }
  }

  func fieldTypes(of type: String) throws -> [String: String] {
    var (mirrored, queued): ([String: String], [String: String]) = ([:], [:])
    for row in records.rows.values where row.record.type == type {
      for (name, value) in row.record.fields { mirrored[name] = max(mirrored[name] ?? "", value.wireType) }
    }
    for row in operations.rows.values where row.operation.type == type && row.operation.state != .failed {
      for (name, value) in row.operation.changes.values { queued[name] = max(queued[name] ?? "", value.wireType) }
    }
    return queued.merging(mirrored) { $1 }
  }
}

/// A text that is looked for, letters of ASCII alike in both cases, as SQLite's LIKE has it.
private struct SoughtText {
  private let scalars: [Unicode.Scalar]

  init(_ text: String) { scalars = text.unicodeScalars.map(\.foldedInASCII) }

  var isEmpty: Bool { scalars.isEmpty }

  /// Whether the text is in these, written one after the other with a space between them.
  func isIn(_ parts: String...) -> Bool {
    if isEmpty { return true }
    let all = parts.joined(separator: " ").unicodeScalars.map(\.foldedInASCII)
    guard all.count >= scalars.count else { return false }
    return (0...(all.count - scalars.count)).contains { all[$0..<($0 + scalars.count)].elementsEqual(scalars) }
  }
}

extension FilterRow {
  init(_ operation: QueuedOperation, payload: String) {
    self.init(
      state: operation.state.rawValue,
      type: operation.type,
      zone: operation.key.zone,
      name: operation.key.name.isEmpty ? nil : operation.key.name,
      operation: operation.kind.rawValue,
      error: operation.errorCode,
      message: operation.errorMessage,
      attempts: Int64(operation.attempts),
      enqueuedAt: operation.enqueuedAt,
      payload: payload
    )
  }
}
