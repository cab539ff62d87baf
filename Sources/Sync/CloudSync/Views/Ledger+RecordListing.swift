import CloudKit
import GRDB

/// The place of a record in the store.
enum RecordPlace: Hashable, Sendable {
  /// A record with a queued save, by the number of its operation.
  case operation(Int64)
  /// A record of the mirror, by its row.
  case mirror(Int64)
}

/// A part of a record list that is read from one source.
enum RecordPart: Hashable, Sendable, CaseIterable {
  /// Records with a queued save, the latest operation first.
  case unsent
  /// Other records, the latest change on the server first.
  case dated
  /// Records whose change has no time.
  case undated
  /// All records by zone, owner and name.
  case named

  static func all(of order: RecordListing.Order) -> [RecordPart] {
    order == .name ? [.named] : [.unsent, .dated, .undated]
  }

  /// Whether the part shows a record with a queued operation of this kind.
  func shows(_ operation: String?) -> Bool {
    switch self {
    case .unsent: true
    case .dated, .undated: operation == nil
    case .named: operation != OperationKind.delete.rawValue
    }
  }
}

/// A position in a part of a record list, from which a search goes on.
struct RecordPosition: Hashable, Sendable {
  var id = Int64.max
  var modifiedAt = Int64.max
  var key: RecordKey?
}

/// Records in the order of a listing.
extension Ledger {
  /// The total, and the places of a window of the latest changes.
  func latestPlaces(offset: Int, limit: Int) throws -> (total: Int, places: [RecordPlace]) {
    let total = try recordCount()
    let unsent = min(total, try one("SELECT coalesce(sum(count), 0) FROM queueCounts WHERE operation = 'save'") ?? 0)
    func places(_ count: Int, _ offset: Int, _ limit: Int, _ sql: (_ order: String) -> String) throws -> [Int64] {
      guard offset < count, limit > 0 else { return [] }
      let window = NearerEnd(offset: offset, limit: min(limit, count - offset), of: count)
      return try window.read { try all("\(sql($0 ? "" : "DESC")) LIMIT ? OFFSET ?", [$1, $2]) }
    }
    let saves = try places(unsent, offset, limit) {
      "SELECT id FROM operations WHERE operation = 'save' ORDER BY id \($0)"
    }
    let others = try places(total - unsent, max(0, offset - unsent), limit - saves.count) { order in
      """
      SELECT r.rowid FROM records r INDEXED BY recordsByChange WHERE NOT \(Self.isQueued)
      ORDER BY r.modifiedAt \(order), r.rowid \(order)
      """
    }
    return (total, saves.map(RecordPlace.operation) + others.map(RecordPlace.mirror))
  }

  private static let isQueued =
    "EXISTS (SELECT 1 FROM operations o WHERE o.name = r.name AND o.zone = r.zone AND o.owner = r.owner)"

  /// The records at these places, without those that are gone or deleted here.
  func records(at places: [RecordPlace]) throws -> [RecordRow] {
    try places.compactMap { place in
      let found =
        switch place {
        case .operation(let id): try row("\(ShownRecords.unsent.sql) AND o.id = ?", [id])
        case .mirror(let row): try self.row("\(ShownRecords.overlaid.sql) AND r.rowid = ?", [row])
        }
      return try found.map(RecordRow.init(row:))
    }
  }

  /// Finds those of the next records of a part that match. Only records whose stored text has what can be looked for
  /// there are decoded.
  ///
  /// - Returns: the number of records that were looked at, and the position of the last.
  func slice(
    _ part: RecordPart,
    _ condition: RecordCondition,
    after position: RecordPosition,
    limit: Int,
    _ found: (RecordPlace, MirrorRecord) -> Void
  ) throws -> (count: Int, last: RecordPosition) {
    let stored = "name || ' ' || type || ' ' || zone || ' ' || fields || ' ' || coalesce(changes, '')"
    let words = Self.condition(condition.storedTexts, in: [stored])
    let candidates = words.sql.isEmpty ? "1" : words.sql.joined(separator: " AND ")
    let (source, arguments) = Self.source(part, after: position, limit: limit)
    let rows = try Row.fetchCursor(
      database.cachedStatement(sql: "SELECT *, (\(candidates)) AS isCandidate FROM (\(source))"),
      arguments: words.arguments + arguments
    )
    var (count, last) = (0, position)
    while let row = try rows.next() {
      count += 1
      last = RecordPosition(
        id: row["position"],
        modifiedAt: row["modifiedAt"] ?? .max,
        key: RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"])
      )
      guard part.shows(row["operation"]), row["isCandidate"] ?? true else { continue }
      let record = try RecordRow(row: row).record
      guard condition.isTrue(of: record) else { continue }
      let mirror: Int64? = part == .unsent ? nil : row["mirror"]
      found(mirror.map(RecordPlace.mirror) ?? .operation(row["operationId"]), record)
    }
    return (count, last)
  }

  private static func source(_ part: RecordPart, after position: RecordPosition, limit: Int)
    -> (sql: String, arguments: StatementArguments)
  {
    let mirror = ShownRecords.joined.with("r.rowid AS mirror, r.rowid AS position")
    switch part {
    case .unsent:
      let unsent = ShownRecords.unsent.with("o.id AS position")
      return ("\(unsent) AND o.id < ? ORDER BY o.id DESC LIMIT ?", [position.id, limit])
    case .dated:
      let sql = "\(mirror) AND (r.modifiedAt, r.rowid) < (?, ?) ORDER BY r.modifiedAt DESC, r.rowid DESC LIMIT ?"
      return (sql, [position.modifiedAt, position.id, limit])
    case .undated:
      return ("\(mirror) AND r.modifiedAt IS NULL AND r.rowid < ? ORDER BY r.rowid DESC LIMIT ?", [position.id, limit])
    case .named:
      let created = ShownRecords.created.with("NULL AS mirror, o.id AS position")
      let sources = [(mirror, "r"), (created, "o")]
      let (sql, arguments) = ShownRecords.next(of: sources, after: position.key, limit: limit)
      return ("\(sql) LIMIT ?", arguments + [limit])
    }
  }
}
