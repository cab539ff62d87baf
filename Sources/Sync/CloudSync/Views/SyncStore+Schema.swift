package import CloudKitSchema
import GRDB

/// The part of the server's schema that a store needs.
extension SyncStore {
  /// The record types, fields and queries that the local copy, the queue and the polled queries use.
  ///
  /// - Parameter type: the record type; nil for all.
  package func schemaUsage(of type: String? = nil) throws(StoreError) -> CKSchema.Usage {
    try read { try $0.schemaUsage(of: type) }
  }

  /// The unsent saves that a problem with the schema is about, oldest first.
  package func saves(with problem: CKSchema.Problem, limit: Int) throws(StoreError) -> [Int64] {
    try read { try $0.saves(with: problem, limit: limit) }
  }
}

extension Ledger {
  fileprivate func schemaUsage(of type: String?) throws -> CKSchema.Usage {
    var usage = CKSchema.Usage()
    func add(_ sql: String, _ count: WritableKeyPath<CKSchema.Usage.Count, Int>) throws {
      for row in try rows(sql, [type, type]) {
        guard let name = row["recordType"] as String?, let number = row["number"] as Int? else { continue }
        guard let field = row["field"] as String? else {
          usage.types[name, default: CKSchema.Usage.TypeUsage()].count[keyPath: count] += number
          continue
        }
        guard let wireType = row["wireType"] as String?, let type = CKSchema.FieldType(name: wireType) else { continue }
        usage.types[name]?.fields[field, default: [:]][type, default: CKSchema.Usage.Count()][keyPath: count] += number
      }
    }
    // The rows without a field come first, because NULL does.
    try add(
      """
      SELECT type AS recordType, NULL AS field, NULL AS wireType, sum(mirrored) AS number FROM recordCounts
        WHERE mirrored > 0 AND (? IS NULL OR type = ?) GROUP BY type
      """,
      \.records
    )
    try add(
      """
      SELECT type AS recordType, NULL AS field, NULL AS wireType, count(*) AS number FROM operations
        WHERE operation = 'save' AND type IS NOT NULL AND (? IS NULL OR type = ?) GROUP BY type
      """,
      \.changes
    )
    try add(
      """
      SELECT r.type AS recordType, f.key AS field, \(Self.wireType) AS wireType, count(*) AS number
        FROM records r, json_each(iif(json_valid(r.fields), r.fields, '{}')) f
        WHERE ? IS NULL OR r.type = ? GROUP BY 1, 2, 3
      """,
      \.records
    )
    try add(
      """
      SELECT o.type AS recordType, f.key AS field, \(Self.wireType) AS wireType, count(*) AS number
        FROM operations o, json_each(iif(json_valid(o.changes), o.changes, '{}'), '$.values') f
        WHERE o.operation = 'save' AND o.type IS NOT NULL AND (? IS NULL OR o.type = ?) GROUP BY 1, 2, 3
      """,
      \.changes
    )
    for polled in try polledQueries() where type == nil || polled.type == type {
      usage.types[polled.type, default: CKSchema.Usage.TypeUsage()].queries = PolledQuery.indexes
    }
    return usage
  }

  fileprivate func saves(with problem: CKSchema.Problem, limit: Int) throws -> [Int64] {
    let (field, wireType) = (problem.field, problem.fieldType?.name)
    return try all(
      """
      SELECT id FROM operations o WHERE operation = 'save' AND type = ? AND (? IS NULL OR EXISTS (
        SELECT 1 FROM json_each(iif(json_valid(o.changes), o.changes, '{}'), '$.values') f
          WHERE f.key = ? AND (? IS NULL OR \(Self.wireType) = ?)
      )) ORDER BY id LIMIT ?
      """,
      [problem.type, field, field, wireType, wireType, limit]
    )
  }
}

extension PolledQuery {
  /// The indexes that a poll needs: it sorts and filters by the time of modification, and a full scan has no filter.
  fileprivate static let indexes: [String: CKSchema.Indexes] = [
    CKSchema.SystemField.modTime.rawValue: .sortable, CKSchema.SystemField.recordID.rawValue: .queryable,
  ]
}
