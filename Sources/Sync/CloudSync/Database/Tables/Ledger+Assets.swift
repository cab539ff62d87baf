import CloudKit
import GRDB

/// The tables `assetPlaces` and `assetFiles`.
extension Ledger {
  /// A field on the server in this zone that holds these bytes.
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

  /// Removes what is known of a field's bytes, except those with these checksums of the server.
  func removeAssetPlaces(_ place: WireAssetPlace, in zone: ZoneKey, except checksums: [String]) throws {
    try run(
      """
      DELETE FROM assetPlaces WHERE zone = ? AND owner = ? AND name = ? AND field = ?
        AND checksum NOT IN (SELECT value FROM json_each(?))
      """,
      [zone.zone, zone.owner, place.recordName, place.fieldName, Self.json(checksums)]
    )
  }

  /// The copied files whose last use has ended since they were removed last.
  func unusedFiles() throws -> [String] {
    try all("SELECT digest FROM assetFiles INDEXED BY assetFilesUnused WHERE uses = 0")
  }

  /// Those of these copied files that nothing needs: no queued operation, no dropped change that can be undone, and no
  /// quarantined row, which keeps its text as it was.
  func unneeded(_ files: [String]) throws -> [String] {
    try all(
      """
      SELECT value FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM assetFiles WHERE digest = value AND uses > 0)
        AND NOT EXISTS (SELECT 1 FROM quarantine WHERE source IN ('operations', 'dropped') AND instr(content, value))
      """,
      [Self.json(files)]
    )
  }

  /// Removes the rows of copied files that were removed.
  func removeUnused(_ files: [String]) throws {
    try run(
      "DELETE FROM assetFiles WHERE uses = 0 AND digest IN (SELECT value FROM json_each(?))",
      [Self.json(files)]
    )
  }
}
