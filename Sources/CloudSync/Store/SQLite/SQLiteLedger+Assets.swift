import CloudKit
import GRDB

/// The table `assetPlaces`, and the column `assets`.
extension SQLiteLedger {
  func assetPlace(_ digest: String, in zone: ZoneKey) throws -> AssetPlace? {
    try row(
      "SELECT name, field, checksum FROM assetPlaces WHERE zone = ? AND owner = ? AND digest = ?",
      [zone.zone, zone.owner, digest]
    ).map { row in
      AssetPlace(place: WireAssetPlace(recordName: row["name"], fieldName: row["field"]), checksum: row["checksum"])
    }
  }

  func put(_ place: AssetPlace, of digest: String, in zone: ZoneKey) throws {
    try run(
      "INSERT OR REPLACE INTO assetPlaces(zone, owner, digest, name, field, checksum) VALUES (?, ?, ?, ?, ?, ?)",
      [zone.zone, zone.owner, digest, place.place.recordName, place.place.fieldName, place.checksum]
    )
  }

  func removeAssetPlace(_ digest: String, in zone: ZoneKey) throws {
    try run(
      "DELETE FROM assetPlaces WHERE zone = ? AND owner = ? AND digest = ?",
      [zone.zone, zone.owner, digest]
    )
  }

  func assetDigests() throws -> Set<String> {
    let columns: [String] = try all(
      """
      SELECT assets FROM operations WHERE assets IS NOT NULL
      UNION ALL SELECT assets FROM dropped WHERE assets IS NOT NULL AND isOpen = 1
      """,
      []
    )
    return try columns.reduce(into: []) { $0.formUnion(try JSONColumn.assets($1).compactMap(\.digest)) }
  }
}
