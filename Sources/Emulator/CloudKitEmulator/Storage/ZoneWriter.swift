/// Collects the changes of a request in one zone, adds the changes that follow from them, and makes a commit.
struct ZoneWriter {
  let zone: ZoneState
  private let stamp: StoredRecord.Stamp
  private(set) var commit: Commit
  private var sequence: Int64
  private var order: [String] = []
  /// The new versions, including those of records that the same request deletes.
  private(set) var saved: [String: StoredRecord] = [:]
  private(set) var buried: [String: Tombstone] = [:]
  private var before: [String: StoredRecord] = [:]

  init(_ database: DatabaseState, _ zone: ZoneState, stamp: StoredRecord.Stamp) {
    self.zone = zone
    self.stamp = stamp
    commit = Commit(database: database.key, counter: database.counter, sequence: database.sequence)
    sequence = zone.sequence
  }

  /// Returns the content that a record will have.
  func content(_ name: String) -> StoredRecord.Content? {
    buried[name] == nil ? (saved[name] ?? zone.records[name])?.content : nil
  }

  /// Saves a new version. Saving a record twice in a request replaces the first version.
  mutating func save(_ content: StoredRecord.Content) {
    let previous = previous(content.name)
    let (tag, sequence) = next(content.name)
    saved[content.name] = StoredRecord(
      content: content,
      tag: tag,
      sequence: sequence,
      created: previous?.created ?? stamp,
      modified: stamp,
      formerShare: previous?.formerShare
    )
  }

  mutating func bury(_ name: String, isSilent: Bool = false) {
    guard buried[name] == nil else { return }
    let old = saved[name] ?? previous(name)
    let (tag, sequence) = next(name)
    let shares = [zone.share(of: name), old?.formerShare].compactMap(\.self)
    var tombstone = Tombstone(name: name, type: old?.type ?? "", sequence: sequence, tag: tag, shares: shares)
    tombstone.isSilent = isSilent
    buried[name] = tombstone
  }

  /// Makes a record appear in the change feed without a new version, because access to it has changed. [E]
  mutating func announce(_ name: String, formerShare: String?) {
    guard saved[name] == nil, buried[name] == nil, let record = previous(name) else { return }
    saved[name] = record.moved(to: next(name).sequence, formerShare: formerShare)
  }

  /// Returns the version before the request.
  private mutating func previous(_ name: String) -> StoredRecord? {
    if let known = before[name] { return known }
    let record = zone.records[name]
    before[name] = record
    return record
  }

  private mutating func next(_ name: String) -> (tag: String, sequence: Int64) {
    if saved[name] == nil, buried[name] == nil { order.append(name) }
    commit.counter += 1
    sequence += 1
    return (String(commit.counter, radix: 36), sequence)
  }

  /// Returns the commit, or `nil` if nothing changes.
  mutating func finish() -> Commit? {
    guard !order.isEmpty else { return nil }
    followHierarchy()
    let buried = buried.values
      .map { ($0.sequence, Commit.Change.buried(zone: zone.name, $0, over: before[$0.name])) }
    let saved = saved.values.filter { self.buried[$0.name] == nil }
      .map { ($0.sequence, Commit.Change.saved(zone: zone.name, $0, over: before[$0.name])) }
    commit.sequence += 1
    let row = Commit.ZoneRow(
      name: zone.name,
      identity: zone.identity,
      sequence: sequence,
      changed: commit.sequence
    )
    commit.changes = [.zoneChanged(row)] + (buried + saved).sorted { $0.0 < $1.0 }.map(\.1)
    return commit
  }

  /// Finds the records that joined or left a share, including descendants of the changed records.
  private mutating func followHierarchy() {
    guard !zone.shares.isEmpty else { return }
    for name in order {
      let share = Hierarchy.share(of: name, in: content)
      let before = zone.share(of: name)
      if let record = saved[name], before != nil, before != share, record.content.sharing == nil {
        saved[name] = record.moved(formerShare: before)
      }
      let old = zone.records[name]?.content
      guard before != share || old?.share != content(name)?.share else { continue }
      for descendant in zone.descendants(of: name).sorted() {
        let (before, after) = (zone.share(of: descendant), Hierarchy.share(of: descendant, in: content))
        if before != after { announce(descendant, formerShare: before ?? zone.records[descendant]?.formerShare) }
      }
    }
  }
}
