/// Records, and where assets are.
extension MemoryLedger {
  func record(_ key: RecordKey) throws -> MirrorRecord? { records[key]?.record }

  func changeTag(_ key: RecordKey) throws -> String? { records[key]?.record.changeTag }

  func version(_ key: RecordKey) throws -> MirrorVersion? {
    records[key].map { row in
      // The last of them may be cut short.
      let tags = row.formerTags.split(separator: " ", omittingEmptySubsequences: false).dropLast()
      return MirrorVersion(
        changeTag: row.record.changeTag,
        modifiedAt: row.record.modifiedAt,
        formerTags: tags.map(String.init)
      )
    }
  }

  func put(_ record: MirrorRecord, epoch: Int64) throws {
    var row = Record(record: record, epoch: epoch)
    if let known = records[record.key] {
      let tag = known.record.changeTag
      row.formerTags =
        tag == record.changeTag ? known.formerTags : String("\(tag) \(known.formerTags)".prefix(200))
    }
    set(record.key, row)
    noteDelivery(record.key, type: record.type, lastFields: nil)
  }

  func touch(_ key: RecordKey, epoch: Int64) throws {
    guard var row = records[key], row.epoch != epoch else { return }
    row.epoch = epoch
    set(key, row)
  }

  func removeRecord(_ key: RecordKey) throws {
    if records[key] != nil { set(key, nil) }
  }

  func removeRecords(of zone: ZoneKey) throws {
    for key in mirror.keys(of: zone).sorted() { set(key, nil) }
  }

  func namesNotSeen(_ zone: ZoneKey, epoch: Int64) throws -> [String] {
    mirror.keys(of: zone).filter { records[$0].map { $0.epoch < epoch } ?? false }.sorted().map(\.name)
  }

  func namesGone(_ zone: ZoneKey, limit: Int) throws -> [String] {
    try mirror.keys(of: zone).filter(isGone).sorted().prefix(limit).map(\.name)
  }

  func goneCount(_ zone: ZoneKey) throws -> Int {
    try mirror.keys(of: zone).count(where: isGone)
  }

  func isGone(_ key: RecordKey) throws -> Bool { records[key].map { $0.epoch < 0 } ?? false }

  func touchRecords(of zone: ZoneKey, epoch: Int64) throws {
    for key in mirror.keys(of: zone) { try touch(key, epoch: epoch) }
  }

  func changeTags(_ zone: ZoneKey, type: String) throws -> [RecordKey: String] {
    (mirror.byZone[zone]?[type] ?? []).reduce(into: [:]) { $0[$1] = records[$1]?.record.changeTag }
  }

  func recordCount(of zone: ZoneKey) throws -> Int { mirror.byZone[zone]?.values.reduce(0) { $0 + $1.count } ?? 0 }

  func recordTypes(in zone: ZoneKey) throws -> [String] { mirror.byZone[zone]?.keys.sorted() ?? [] }

  func queuedTypes(in zone: ZoneKey) throws -> [String] {
    Set(try operations(of: zone).compactMap(\.type)).sorted()
  }

  func isBlank() throws -> Bool { operations.rows.isEmpty && records.rows.isEmpty && pullRows.rows.isEmpty }

  // MARK: - Assets

  func assetPlace(_ digest: String, in zone: ZoneKey) throws -> AssetPlace? {
    assetPlaces[AssetKey(zone: zone, digest: digest)]
  }

  func put(_ place: AssetPlace, of digest: String, in zone: ZoneKey) throws {
    assetPlaces[AssetKey(zone: zone, digest: digest)] = place
  }

  func removeAssetPlace(_ digest: String, in zone: ZoneKey) throws {
    assetPlaces[AssetKey(zone: zone, digest: digest)] = nil
  }

  func assetDigests() throws -> Set<String> {
    let dropped = droppedRows.rows.values.filter(\.isOpen).flatMap(\.assets)
    return Set((operations.rows.values.flatMap(\.operation.assets) + dropped).compactMap(\.digest))
  }

  private func set(_ key: RecordKey, _ row: Record?) {
    let before = records.replace(key, row)?.record
    mirror.move(key, from: before, to: row?.record)
    if row == nil, let before { noteDelivery(key, type: before.type, lastFields: before.fields) }
  }
}
