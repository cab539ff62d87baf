/// What remains of a deleted record: enough to tell other devices.
struct Tombstone: Sendable {
  var name: String
  var type: String
  var sequence: Int64
  var tag: String
  /// The shares it belonged to.
  var shares: [String] = []
}

/// One zone: its records and tombstones, the order in which they last changed, and who refers to whom.
final class ZoneState {
  static let defaultName = "_defaultZone"

  let name: String
  let owner: String
  /// Differs between a zone and its namesake created after a deletion, so that old tokens are strangers to it.
  let identity: UInt64
  /// Counts commits in this zone; tokens and the feed are made of it.
  private(set) var sequence: Int64
  /// The database's counter when this zone last changed.
  var changed: Int64

  private(set) var records: [String: StoredRecord] = [:]
  private(set) var tombstones: [String: Tombstone] = [:]
  private(set) var referrers: [String: [String: EmulatorReference.Action]] = [:]
  /// The records of type `cloudkit.share`.
  private(set) var shares: Set<String> = []
  /// Who has whom as a parent.
  private(set) var children: [String: Set<String>] = [:]
  private var feed: [(sequence: Int64, name: String)] = []
  private var indexes: [String: [FieldKey: SortedIndex]] = [:]

  init(name: String, owner: String, identity: UInt64, sequence: Int64 = 0, changed: Int64 = 0) {
    self.name = name
    self.owner = owner
    self.identity = identity
    self.sequence = sequence
    self.changed = changed
  }

  /// Only custom zones have atomic batches and a change feed. [D]
  var isCustom: Bool { name != Self.defaultName }

  var zoneID: JSON {
    .object([
      "zoneName": .string(name), "ownerRecordName": .string(owner),
      "zoneType": .string(isCustom ? "REGULAR_CUSTOM_ZONE" : "DEFAULT_ZONE"),
    ])
  }

  var token: SyncToken { SyncToken(kind: .zone, identity: identity, sequence: sequence) }

  /// The zone dictionary of section 2.2.
  var json: JSON {
    var object: JSONObject = ["zoneID": zoneID]
    object.append("syncToken", isCustom ? .string(token.text) : nil)
    object.append("atomic", .bool(isCustom))
    object.append("deleted", .bool(false))
    return .object(object)
  }

  func save(_ record: StoredRecord) {
    let old = records.updateValue(record, forKey: record.name)
    tombstones[record.name] = nil
    advance(to: record.sequence, name: record.name)
    unlink(old)
    if record.content.sharing != nil { shares.insert(record.name) }
    if let parent = record.content.parent { children[parent, default: []].insert(record.name) }
    for reference in record.content.references where reference.action != .none {
      // VALIDATE is the stronger promise where one record refers to a target both ways.
      if referrers[reference.recordName]?[record.name] != .validate {
        referrers[reference.recordName, default: [:]][record.name] = reference.action
      }
    }
    reindex(old: old, new: record)
  }

  func bury(_ tombstone: Tombstone) {
    let old = records.removeValue(forKey: tombstone.name)
    tombstones[tombstone.name] = tombstone
    advance(to: tombstone.sequence, name: tombstone.name)
    unlink(old)
    if let old { reindex(old: old, new: nil) }
  }

  private func unlink(_ record: StoredRecord?) {
    if let record, record.content.sharing != nil { shares.remove(record.name) }
    if let record, let parent = record.content.parent {
      children[parent]?.remove(record.name)
      if children[parent]?.isEmpty == true { children[parent] = nil }
    }
    for reference in record?.content.references ?? [] where reference.action != .none {
      referrers[reference.recordName]?[record?.name ?? ""] = nil
      if referrers[reference.recordName]?.isEmpty == true { referrers[reference.recordName] = nil }
    }
  }

  private func advance(to sequence: Int64, name: String) {
    self.sequence = max(self.sequence, sequence)
    feed.append((sequence, name))
    guard feed.count > 1024, feed.count > 2 * (records.count + tombstones.count) else { return }
    feed = feed.filter { lastSequence(of: $0.name) == $0.sequence }
  }

  private func lastSequence(of name: String) -> Int64? {
    records[name]?.sequence ?? tombstones[name]?.sequence
  }

  /// Puts the feed in order after rows were loaded in any order.
  func sortFeed() {
    feed.sort { $0.sequence < $1.sequence }
  }

  /// The names whose last change lies after a point, oldest change first, each once and with that change's sequence.
  func changes(after sequence: Int64) -> some Sequence<(sequence: Int64, name: String)> {
    var (low, high) = (0, feed.count)
    while low < high {
      let middle = (low + high) / 2
      if feed[middle].sequence > sequence { high = middle } else { low = middle + 1 }
    }
    return feed[low...].lazy.filter { [self] in lastSequence(of: $0.name) == $0.sequence }
  }
}

extension ZoneState {
  /// Reads the settled index of one field over all records of one type, building it the first time.
  func withIndex<Value>(type: String, key: FieldKey, _ body: (SortedIndex) -> Value) -> Value {
    if indexes[type]?[key] == nil {
      let entries = records.values.filter { $0.type == type }
        .map { SortedIndex.Entry(key: $0.sortKey(key), name: $0.name) }
      indexes[type, default: [:]][key] = SortedIndex(entries)
    }
    guard var index = indexes[type]?[key] else { preconditionFailure("An index was just built and is gone.") }
    indexes[type]?[key] = nil
    index.settle { entry in isCurrent(entry, type: type, key: key) != nil }
    let value = body(index)
    indexes[type]?[key] = index
    return value
  }

  /// The record an index entry stands for, unless the record has changed since.
  func isCurrent(_ entry: SortedIndex.Entry, type: String, key: FieldKey) -> StoredRecord? {
    guard let record = records[entry.name], record.type == type, record.sortKey(key) == entry.key else { return nil }
    return record
  }

  private func reindex(old: StoredRecord?, new: StoredRecord?) {
    guard let type = new?.type ?? old?.type, let keys = indexes[type]?.keys else { return }
    for key in keys {
      let before = old.map { $0.sortKey(key) }
      let after = new.map { $0.sortKey(key) }
      guard before != after else { continue }
      if before != nil { indexes[type]?[key]?.outdate() }
      if let after, let new { indexes[type]?[key]?.insert(SortedIndex.Entry(key: after, name: new.name)) }
    }
  }
}
