/// The records of one zone in memory, packed, with their indexes.
final class MemoryRecords: ZoneRecords {
  /// One version of a record. Its packed bytes take a third of the memory of its values.
  private struct Packed {
    var sequence: Int64
    var bytes: [UInt8]
  }

  private struct Change: Comparable {
    var sequence: Int64
    var name: String

    static func < (left: Change, right: Change) -> Bool { left.sequence < right.sequence }
    static func == (left: Change, right: Change) -> Bool { left.sequence == right.sequence }
  }

  private var records: [String: Packed] = [:]
  private var tombstones: [String: Tombstone] = [:]
  private var feed = SortedChunks<Change>()
  private var sources: [RecordLink: Set<String>] = [:]
  /// The indexes that queries have used. Each write updates them.
  private var indexes: [IndexName: SortedChunks<IndexEntry>] = [:]
  /// The indexed fields by record type. Writes iterate over these, because iterating over `indexes` would copy them.
  private var keys: [String: [FieldKey]] = [:]

  init() {}

  /// Returns a copy that shares its storage until one of the two changes.
  func copy() -> MemoryRecords {
    let copy = MemoryRecords()
    (copy.records, copy.tombstones, copy.feed) = (records, tombstones, feed)
    (copy.sources, copy.indexes, copy.keys) = (sources, indexes, keys)
    return copy
  }

  var count: Int { records.count }

  subscript(name: String) -> StoredRecord? { records[name].map { Self.unpack($0, name: name) } }

  private static func unpack(_ packed: Packed, name: String) -> StoredRecord {
    packed.bytes.withUnsafeBytes { bytes in
      guard let record = try? PackedRecord.record(bytes, name: name, sequence: packed.sequence) else {
        preconditionFailure("A packed record in memory is unreadable.")
      }
      return record
    }
  }

  func tombstone(of name: String) -> Tombstone? { tombstones[name] }

  func save(_ record: StoredRecord, over old: StoredRecord?) {
    forget(record.name, old)
    records[record.name] = Packed(sequence: record.sequence, bytes: PackedRecord.bytes(record))
    feed.insert(Change(sequence: record.sequence, name: record.name))
    for link in record.content.links { sources[link, default: []].insert(record.name) }
    for key in keys[record.type] ?? [] {
      let entry = IndexEntry(key: record.sortKey(key), name: record.name)
      indexes[IndexName(type: record.type, key: key)]?.insert(entry)
    }
  }

  func bury(_ tombstone: Tombstone, over old: StoredRecord?) {
    forget(tombstone.name, old)
    tombstones[tombstone.name] = tombstone
    feed.insert(Change(sequence: tombstone.sequence, name: tombstone.name))
  }

  /// Removes a record or tombstone and every entry that refers to it.
  private func forget(_ name: String, _ old: StoredRecord?) {
    if let tombstone = tombstones.removeValue(forKey: name) {
      feed.remove(Change(sequence: tombstone.sequence, name: name))
    }
    guard let old, let packed = records.removeValue(forKey: name) else { return }
    feed.remove(Change(sequence: packed.sequence, name: name))
    for link in old.content.links {
      sources[link]?.remove(name)
      if sources[link]?.isEmpty == true { sources[link] = nil }
    }
    for key in keys[old.type] ?? [] {
      indexes[IndexName(type: old.type, key: key)]?.remove(IndexEntry(key: old.sortKey(key), name: name))
    }
  }

  func changes(after sequence: Int64, limit: Int) -> [(sequence: Int64, name: String)] {
    var found: [(sequence: Int64, name: String)] = []
    var position = feed.first { $0.sequence > sequence }
    while position != feed.end, found.count < limit {
      found.append((feed[position].sequence, feed[position].name))
      position = feed.position(after: position)
    }
    return found
  }

  func names(deleted: Bool) -> [String] { deleted ? tombstones.keys.sorted() : records.keys.sorted() }

  func sources(of link: RecordLink) -> [String] { sources[link]?.sorted() ?? [] }

  func assets() -> [String] {
    sources.flatMap { link, names in
      link.kind == .asset ? Array(repeating: link.target, count: names.count) : []
    }
  }
}

extension MemoryRecords {
  private func index(_ name: IndexName) -> SortedChunks<IndexEntry> {
    if let index = indexes[name] { return index }
    var entries: [IndexEntry] = []
    for (record, packed) in records {
      let key = packed.bytes.withUnsafeBytes { try? PackedRecord.sortKey($0, name: record, in: name) }
      if let key { entries.append(IndexEntry(key: key, name: record)) }
    }
    entries.sort()
    let index = SortedChunks(sorted: entries)
    indexes[name] = index
    keys[name.type, default: []].append(name.key)
    return index
  }

  func count(_ range: KeyRange, in index: IndexName, limit: Int) -> Int {
    let index = self.index(index)
    return min(limit, index.count(range.slice(of: index)))
  }

  func page(_ range: KeyRange, of index: IndexName, from: IndexEntry?, ascending: Bool, limit: Int) -> [StoredRecord] {
    let index = self.index(index)
    var slice = range.slice(of: index)
    if let from {
      if ascending {
        slice = min(max(slice.lowerBound, index.first { !($0 < from) }), slice.upperBound)..<slice.upperBound
      } else {
        slice = slice.lowerBound..<max(slice.lowerBound, min(slice.upperBound, index.first { from < $0 }))
      }
    }
    var found: [StoredRecord] = []
    while !slice.isEmpty, found.count < limit {
      let position = ascending ? slice.lowerBound : index.position(before: slice.upperBound)
      let name = index[position].name
      guard let packed = records[name] else { preconditionFailure("An index refers to a missing record.") }
      found.append(Self.unpack(packed, name: name))
      slice = ascending ? index.position(after: position)..<slice.upperBound : slice.lowerBound..<position
    }
    return found
  }
}

extension KeyRange {
  fileprivate func slice(of index: SortedChunks<IndexEntry>) -> Range<SortedChunks<IndexEntry>.Position> {
    let start = index.first { $0.key >= lower }
    let end = upper.map { upper in index.first { $0.key > upper } } ?? index.end
    return start..<max(start, end)
  }
}
