import CloudKit
import Facts
import GRDB

extension Ledger {
  /// The records of the local copy that refer to a record by `VALIDATE`, so that the server refuses to delete it; nil
  /// if none is found. No index has the references of records, so this reads at most `limit` records of the zone.
  func referrers(of key: RecordKey, limit: Int = 10_000) throws -> Referrers? {
    // JSON may have other characters in another form.
    let isPlain = key.name.unicodeScalars.allSatisfy {
      $0.isASCII && $0.value >= 32 && !"\"\\/".unicodeScalars.contains($0)
    }
    let sql = """
      SELECT \(MirrorRecord.columns) FROM (SELECT * FROM records WHERE zone = ? AND owner = ? ORDER BY name LIMIT ?)
        WHERE epoch >= 0 AND instr(fields, ?) > 0
      """
    let found = try rows(sql, [key.zone, key.owner, limit, isPlain ? key.name : ""], as: MirrorRecord.init(row:))
      .filter { $0.fields.references(from: $0.key, .blocking).contains(key) }
    guard let first = found.first else { return nil }
    let isWhole = try recordCount(of: key.zoneKey) <= limit
    return Referrers(first: first.key.title(type: first.type), more: found.count - 1, isWhole: isWhole)
  }
}
