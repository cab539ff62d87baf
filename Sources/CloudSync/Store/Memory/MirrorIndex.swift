/// What finds the records of a store in memory.
struct MirrorIndex {
  /// A zone's records, by type.
  private(set) var byZone: [ZoneKey: [String: Set<RecordKey>]] = [:]

  /// Follows a row from what it was to what it is; nil is that it is not there.
  mutating func move(_ key: RecordKey, from old: MirrorRecord?, to new: MirrorRecord?) {
    guard old?.type != new?.type else { return }
    if let type = old?.type {
      byZone[key.zoneKey]?[type]?.remove(key)
      if byZone[key.zoneKey]?[type]?.isEmpty == true { byZone[key.zoneKey]?[type] = nil }
      if byZone[key.zoneKey]?.isEmpty == true { byZone[key.zoneKey] = nil }
    }
    if let type = new?.type { byZone[key.zoneKey, default: [:]][type, default: []].insert(key) }
  }

  func keys(of zone: ZoneKey) -> [RecordKey] { byZone[zone]?.values.flatMap { $0 } ?? [] }
}
