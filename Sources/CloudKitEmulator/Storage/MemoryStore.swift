import Foundation

/// Stores everything in memory for the life of the process.
final class MemoryStore: EmulatorStore {
  private var zones: [ZoneKey: MemoryRecords] = [:]
  private var contents: [String: Data] = [:]

  /// The last requested zone that has no commit yet, as `World.uncommitted`.
  private var uncommitted: (zone: ZoneKey, records: MemoryRecords)?

  func records(in zone: ZoneKey) -> any ZoneRecords { known(zone) }

  private func known(_ zone: ZoneKey) -> MemoryRecords {
    if let records = zones[zone] { return records }
    if let uncommitted, uncommitted.zone == zone { return uncommitted.records }
    let records = MemoryRecords()
    uncommitted = (zone, records)
    return records
  }

  @discardableResult
  private func kept(_ name: String, of database: DatabaseKey) -> MemoryRecords {
    let zone = ZoneKey(database: database, zone: name)
    if let records = zones[zone] { return records }
    let records: MemoryRecords
    if let uncommitted, uncommitted.zone == zone {
      (records, self.uncommitted) = (uncommitted.records, nil)
    } else {
      records = MemoryRecords()
    }
    zones[zone] = records
    return records
  }

  func write(_ commit: Commit) {
    var last: (name: String, records: MemoryRecords)?
    let records = { (zone: String) -> MemoryRecords in
      if let last, last.name == zone { return last.records }
      let records = self.kept(zone, of: commit.database)
      last = (zone, records)
      return records
    }
    kept(ZoneState.defaultName, of: commit.database)
    for change in commit.changes {
      switch change {
      case .saved(let zone, let record, let old): records(zone).save(record, over: old)
      case .buried(let zone, let tombstone, let old): records(zone).bury(tombstone, over: old)
      case .zoneCreated(let row): kept(row.name, of: commit.database)
      case .zoneDeleted(let name, _): zones[ZoneKey(database: commit.database, zone: name)] = nil
      default: break
      }
    }
  }

  func write(_ content: AssetContent, asset id: String, until time: Int64) throws {
    contents[id] = try (0..<content.pieces).reduce(into: Data()) { $0 += try content.piece($1) }
  }

  func size(ofAsset id: String) -> Int? { contents[id]?.count }

  func piece(_ number: Int, ofAsset id: String) -> Data? { try? contents[id].map { AssetContent($0) }?.piece(number) }

  func delete(assets ids: [String]) {
    for id in ids { contents[id] = nil }
  }

  func copy() -> any EmulatorStore {
    let copy = MemoryStore()
    copy.zones = zones.mapValues { $0.copy() }
    copy.contents = contents
    return copy
  }

  func replace(by world: World) throws {
    let other = world.store as? MemoryStore ?? MemoryStore()
    if other !== world.store { try world.write(into: other) }
    zones = other.zones.mapValues { $0.copy() }
    contents = other.contents
  }

  func takeFailure() -> (any Error)? { nil }
}
