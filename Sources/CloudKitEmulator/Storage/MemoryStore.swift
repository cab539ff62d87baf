import Foundation

/// Keeps everything as long as the process lives.
final class MemoryStore: EmulatorStore {
  private var zones: [Place.Key: MemoryRecords] = [:]
  private var contents: [String: Data] = [:]

  func records(in zone: Place.Key) -> any ZoneRecords { known(zone) }

  private func known(_ zone: Place.Key) -> MemoryRecords {
    if let records = zones[zone] { return records }
    let records = MemoryRecords()
    zones[zone] = records
    return records
  }

  func write(_ commit: Commit) {
    var last: (name: String, records: MemoryRecords)?
    let records = { (zone: String) -> MemoryRecords in
      if let last, last.name == zone { return last.records }
      let records = self.known(Place.Key(database: commit.database, zone: zone))
      last = (zone, records)
      return records
    }
    for change in commit.changes {
      switch change {
      case .saved(let zone, let record, let old): records(zone).save(record, over: old)
      case .buried(let zone, let tombstone, let old): records(zone).bury(tombstone, over: old)
      case .zoneDeleted(let name, _): zones[Place.Key(database: commit.database, zone: name)] = nil
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

  func replace(by core: EmulatorCore) throws {
    let other = core.store as? MemoryStore ?? MemoryStore()
    if other !== core.store { try core.write(into: other) }
    zones = other.zones.mapValues { $0.copy() }
    contents = other.contents
  }

  func takeFailure() -> (any Error)? { nil }
}
