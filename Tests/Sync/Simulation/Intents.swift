import CloudKit

@testable import CloudSync

/// What the devices were told to do, kept outside their stores: the measure of what has to be on the server in the end.
struct Intents {
  /// Of records that nobody deletes, the last value of the field that only one device writes, by device.
  private(set) var fields: [String: [RecordKey: Int64]] = [:]
  /// Records that only one device knows to change: exactly these fields, or nil once they are deleted.
  private(set) var records: [RecordKey: [String: FieldValue]?] = [:]
  /// Records of which nothing can be said any more.
  private var given: Set<RecordKey> = []
  /// The same of what a device writes to them.
  private var lost: [String: Set<RecordKey>] = [:]
  /// The records that each has had for its owner.
  private var owners: [RecordKey: Set<RecordKey>] = [:]
  /// Records that have been deleted by the device whose they are.
  private var deleted: Set<RecordKey> = []
  /// What devices have put into the set of a record.
  private var tallies: [RecordKey: Set<Int64>] = [:]
  /// The device that put an element into a set.
  private var adders: [Int64: String] = [:]
  /// Elements that another device removed from the server's set while the reply to the device that had put them in was
  /// lost. To that device the set looks as if they had never arrived, so it may put them in again.
  private var doubtful: Set<Int64> = []
  /// Records of which somebody has said what their sets are to be.
  private var settled: Set<RecordKey> = []
  /// How often something was deleted that others had let go of before.
  private(set) var releases = 0

  static func isKept(_ name: String) -> Bool { name.hasPrefix("k") }
  static func isOwned(_ name: String) -> Bool { name.hasPrefix("o") }

  mutating func accept(_ change: Change, by device: SimulatedDevice) {
    switch change.kind {
    case .save(_, let changes) where Self.isKept(change.key.name):
      if case .int64(let value)? = changes.values[device.field], !isLost(change.key, by: device) {
        fields[device.name, default: [:]][change.key] = value
      }
    case .save(_, let changes) where Self.isOwned(change.key.name):
      records[change.key] = changes.applied(to: (records[change.key] ?? nil) ?? [:])
      guard let owner = owner(of: change.key) else { return }
      owners[change.key, default: []].insert(owner)
      // A deletion that is on its way takes it along.
      if records[owner] == .some(nil) || given.contains(owner) { given.insert(change.key) }
    case .delete where Self.isOwned(change.key.name):
      if owners.contains(where: { $0.value.contains(change.key) && owner(of: $0.key) != change.key }) { releases += 1 }
      records[change.key] = .some(nil)
      deleted.insert(change.key)
      giveUpWhatRefers(to: change.key)
    case .save, .delete: break
    }
  }

  /// - Parameter onServer: the set as the server has it.
  mutating func accept(_ tally: Tally, by device: SimulatedDevice, onServer: Set<Int64>) {
    tallies[tally.key, default: []].insert(tally.element)
    adders[tally.element] = device.name
    guard let removed = tally.removed else { return }
    tallies[tally.key]?.remove(removed)
    // If it was put in again, this removal is another one.
    if onServer.contains(removed) { doubtful.remove(removed) }
  }

  /// The records that have a set.
  var keysOfSets: [RecordKey] { tallies.keys.sorted() }

  func adder(of element: Int64) -> String? { adders[element] }

  /// An element is no longer in the server's set.
  ///
  /// - Parameter isInDoubt: whether the device that put it in cannot know that it was there.
  mutating func remove(_ element: Int64, isInDoubt: Bool) {
    if isInDoubt { doubtful.insert(element) } else { doubtful.remove(element) }
  }

  /// The set of a record is no more what was accepted.
  mutating func settle(_ key: RecordKey) { settled.insert(key) }

  /// An operator threw a change away, or the world did something that no client can make good.
  mutating func giveUp(_ key: RecordKey, by device: SimulatedDevice?) {
    given.insert(key)
    settle(key)
    giveUpWhatRefers(to: key)
    if let device { fields[device.name]?[key] = nil }
  }

  /// The record with which this one is deleted.
  func owner(of key: RecordKey) -> RecordKey? {
    guard case .reference(let reference)? = (records[key] ?? nil)?["owner"], reference.action == "DELETE_SELF" else {
      return nil
    }
    return RecordKey(key.zoneKey, reference.recordName)
  }

  /// Records that have had an owner and that nothing may delete: where the server has them, they stay.
  var children: [RecordKey] { owners.keys.filter { !given.contains($0) && !deleted.contains($0) } }

  /// A deletion takes along what refers to the record when it arrives.
  private mutating func giveUpWhatRefers(to key: RecordKey) {
    for child in owners.keys where owner(of: child) == key { given.insert(child) }
  }

  /// A zone is deleted by the device of which everything is that is reckoned with in it.
  mutating func deleteAll(in zone: ZoneKey) {
    for key in records.keys where key.zoneKey == zone {
      records[key] = .some(nil)
      deleted.insert(key)
    }
  }

  /// A zone's deletion came too late, or not at all.
  mutating func giveUpAll(in zone: ZoneKey) {
    for key in records.keys where key.zoneKey == zone { giveUp(key, by: nil) }
  }

  func names(in zone: ZoneKey) -> [String] { records.keys.filter { $0.zoneKey == zone }.map(\.name) }

  /// Whether the last that its device wanted of a record was that it go.
  func isDeleted(_ key: RecordKey) -> Bool { records[key] == .some(nil) }

  /// A device has forgotten what it sent and does not know the fate of.
  mutating func lose(_ key: RecordKey, by device: SimulatedDevice) {
    lost[device.name, default: []].insert(key)
    giveUp(key, by: device)
  }

  func isLost(_ key: RecordKey, by device: SimulatedDevice) -> Bool { lost[device.name]?.contains(key) ?? false }

  func isGivenUp(_ key: RecordKey) -> Bool { given.contains(key) }

  /// What the server lacks, or has too much; nil where it is as intended.
  func fault(on server: [RecordKey: [String: String]]) -> (key: RecordKey, text: String)? {
    for (device, values) in fields.sorted(by: { $0.key < $1.key }) {
      let field = device.replacing("-", with: "_")
      for (key, value) in values.sorted(by: { $0.key < $1.key }) where server[key]?[field] != "\(value)" {
        let held = server[key]?[field] ?? "nothing"
        return (key, "\(device) wrote \(value) to \(key.zone)/\(key.name), the server holds \(held)")
      }
    }
    for (key, elements) in tallies.sorted(by: { $0.key < $1.key }) where !settled.contains(key) {
      let held = server[key]?[Tally.elements] ?? "{}"
      let kept = doubtful.filter { held.dropFirst().dropLast().split(separator: ",").contains("\($0)") }
      let wanted = FieldValue.list(.int64, elements.union(kept).sorted().map(FieldValue.int64)).text
      if held != wanted { return (key, "\(key.zone)/\(key.name) lists \(held), not \(wanted)") }
    }
    for (key, fields) in records.sorted(by: { $0.key < $1.key }) where !given.contains(key) {
      let wanted = fields?.filter { $0.key != FieldChanges.parent }.mapValues(\.text)
      if server[key] != wanted {
        return (key, "\(key.zone)/\(key.name) is \(text(server[key])), not \(text(wanted))")
      }
    }
    return nil
  }

  private func text(_ fields: [String: String]?) -> String {
    fields.map { "[" + $0.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ") + "]" }
      ?? "nothing"
  }
}
