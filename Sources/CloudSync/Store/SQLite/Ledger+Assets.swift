import CloudKit
import GRDB

/// The table `assetPlaces`, and the column `assets`.
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

  /// The hashes of the files that queued operations, or dropped changes that can be undone, still need.
  func assetDigests() throws -> Set<String> {
    let read = { (sql: String, place: (Int64) -> UnreadableRow.Place) in
      try self.rows(sql).reduce(into: Set<String>()) { digests, row in
        do {
          digests.formUnion(try JSONColumn.assets(row["assets"]).compactMap(\.digest))
        } catch {
          throw UnreadableRow(place(row["id"]), error)
        }
      }
    }
    return try read("SELECT id, assets FROM operations WHERE assets IS NOT NULL", UnreadableRow.Place.operation)
      .union(
        read("SELECT id, assets FROM dropped WHERE assets IS NOT NULL AND isOpen = 1", UnreadableRow.Place.dropped)
      )
      .union(setAside())
  }

  /// Possible file digests in quarantined rows.
  private func setAside() throws -> Set<String> {
    let contents: [String] = try all("SELECT content FROM quarantine WHERE source IN ('operations', 'dropped')")
    return contents.reduce(into: []) { digests, content in
      digests.formUnion(content.matches(of: /[0-9a-f]{64}/).map { String($0.output) })
    }
  }
}
