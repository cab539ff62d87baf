import CloudKit
import GRDB

/// The wire types of a record type's fields.
package struct FieldTypes: Hashable, Sendable {
  /// As the newest records in the mirror have them, with the encrypted fields that older records had.
  package var fetched: [String: String] = [:]
  /// As the newest operations that have not failed have them, with the encrypted fields that only operations had.
  package var queued: [String: String] = [:]

  /// Those of both; the mirror knows better than the queue.
  var all: [String: String] { queued.merging(fetched) { $1 } }
}

/// The types of the fields of records, as the newest records and changes have them.
extension Ledger {
  func newestFields(of type: String, in zone: ZoneKey) throws -> [String: FieldValue] {
    let sql = """
      SELECT \(MirrorRecord.columns) FROM records WHERE zone = ? AND owner = ? AND type = ? ORDER BY rowid DESC LIMIT 1
      """
    return try rows(sql, [zone.zone, zone.owner, type]).first.map(MirrorRecord.init(row:))?.fields ?? [:]
  }

  /// The wire types of a record type's fields, from its newest records in the mirror, else from its newest operations
  /// that have not failed. A type can have any number of records, so only some are read.
  ///
  /// - Parameter wanted: the fields to look for in older ones if the newest lack them; nil if any field is of interest.
  func fieldTypes(of type: String, wanted: Set<String>? = nil) throws -> [String: String] {
    let (few, many) = (500, 2000)
    guard let wanted else { return try fieldTypesBySource(of: type, inNewest: many).all }
    let types = try fieldTypesBySource(of: type, inNewest: few).all
    return wanted.isSubset(of: types.keys) ? types : try fieldTypesBySource(of: type, inNewest: many).all
  }

  /// The wire types of a record type's fields, by where they are known from.
  func fieldTypesBySource(of type: String, inNewest limit: Int = 2000) throws -> FieldTypes {
    func types(_ sql: String, _ arguments: StatementArguments) throws -> [String: String] {
      try rows(sql, arguments).reduce(into: [:]) { $0[$1["name"]] = $1["type"] as String? }
    }
    let queued = """
      SELECT f.key AS name, max(\(Self.wireType)) AS type
        FROM (SELECT state, changes FROM operations WHERE type = ? ORDER BY id DESC LIMIT ?) o,
          json_each(iif(json_valid(o.changes), o.changes, '{}'), '$.values') f
        WHERE o.state <> 'failed' GROUP BY f.key
      """
    let mirrored = """
      SELECT f.key AS name, max(\(Self.wireType)) AS type
        FROM (SELECT fields FROM records WHERE zone = ? AND owner = ? AND type = ? ORDER BY rowid DESC LIMIT ?) r,
          json_each(iif(json_valid(r.fields), r.fields, '{}')) f
        GROUP BY f.key
      """
    // The index finds the newest records of a zone. Each zone has its share, and leaves what it does not need to the
    // next.
    let zones = try rows(
      "SELECT zone, owner, mirrored FROM recordCounts WHERE type = ? AND mirrored > 0 ORDER BY mirrored LIMIT ?",
      [type, limit]
    )
    var (found, left) = (FieldTypes(), limit)
    for (index, zone) in zones.enumerated() {
      let share = min(left / (zones.count - index), zone["mirrored"])
      left -= share
      found.fetched.merge(try types(mirrored, [zone["zone"], zone["owner"], type, share]), uniquingKeysWith: max)
    }
    found.queued = try types(queued, [type, limit])
    for field in try encryptedFields(of: type) {
      if field.isFetched, found.fetched[field.name] == nil { found.fetched[field.name] = field.wireType }
      if !field.isFetched { found.queued[field.name] = field.wireType }
    }
    return found
  }

  /// A field of a record type that has had an encrypted value, in a record of the server or only in an operation.
  struct EncryptedField {
    var name: String
    var wireType: String
    var isFetched: Bool
  }

  /// The encrypted fields of a record type, which triggers remember. An operation that is discarded takes those along
  /// that only it has had.
  func encryptedFields(of type: String) throws -> [EncryptedField] {
    try rows("SELECT field, wireType, operation IS NULL FROM encryptedFields WHERE type = ?", [type])
      .map { EncryptedField(name: $0[0], wireType: $0[1], isFetched: $0[2]) }
  }

  /// An encrypted value is stored as it is sent: the plain type with a flag.
  static let wireType =
    "iif(json_extract(f.value, '$.isEncrypted'), 'ENCRYPTED_', '') || json_extract(f.value, '$.type')"
}
