/// What remains of a deleted record: enough to tell other devices.
struct Tombstone: Sendable {
  var name: String
  var type: String
  var sequence: Int64
  var tag: String
  /// The shares it belonged to.
  var shares: [String] = []
  /// Whether the feed keeps quiet about it. (Question 24)
  var isSilent = false
}

/// One zone: its counters, and the way to its records.
final class ZoneState {
  static let defaultName = "_defaultZone"

  let name: String
  let owner: String
  /// Differs between a zone and its namesake created after a deletion, so that old tokens are strangers to it.
  /// [E]
  var identity: UInt64
  /// Counts commits in this zone; tokens and the feed are made of it.
  var sequence: Int64
  /// The database's counter when this zone last changed.
  var changed: Int64
  /// The records of type `cloudkit.share`.
  var shares: Set<String> = []
  let records: any ZoneRecords

  init(_ row: Commit.ZoneRow, owner: String, records: any ZoneRecords) {
    name = row.name
    self.owner = owner
    identity = row.identity
    sequence = row.sequence
    changed = row.changed
    self.records = records
  }

  var row: Commit.ZoneRow { Commit.ZoneRow(name: name, identity: identity, sequence: sequence, changed: changed) }

  /// Only custom zones have atomic batches and a change feed. [D]
  var isCustom: Bool { name != Self.defaultName }

  var zoneID: JSON {
    .object([
      "zoneName": .string(name), "ownerRecordName": .string(owner),
      "zoneType": .string(isCustom ? "REGULAR_CUSTOM_ZONE" : "DEFAULT_ZONE"),
    ])
  }

  var token: SyncToken { SyncToken(kind: .zone, identity: identity, sequence: sequence) }

  /// The zone dictionary of section 2.2. [D][L3]
  var json: JSON {
    var object: JSONObject = ["zoneID": zoneID]
    object.append("syncToken", isCustom ? .string(token.text) : nil)
    object.append("atomic", .bool(isCustom))
    object.append("deleted", .bool(false))
    return .object(object)
  }

  /// The records that refer to a target in a way that matters when it is deleted, in order.
  func referrers(of target: String, _ action: EmulatorReference.Action) -> [String] {
    switch action {
    case .none: []
    case .deleteSelf: records.sources(of: RecordLink(kind: .deleteSelf, target: target))
    case .validate: records.sources(of: RecordLink(kind: .validate, target: target))
    }
  }

  /// The records that have a parent, in order.
  func children(of parent: String) -> [String] { records.sources(of: RecordLink(kind: .parent, target: parent)) }
}
