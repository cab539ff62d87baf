import JSONText

/// The remains of a deleted record that other devices need to learn of its deletion.
struct Tombstone: Sendable {
  var name: String
  var type: String
  var sequence: Int64
  var tag: String
  /// The shares that the record belonged to.
  var shares: [String] = []
  /// Whether the change feed omits the tombstone. (Question 24)
  var isSilent = false
}

/// One zone: its counters and its records.
final class ZoneState {
  static let defaultName = "_defaultZone"

  let owner: String
  /// The counters. Only commits change them.
  var row: Commit.ZoneRow
  /// The names of the records of type `cloudkit.share`.
  var shares: Set<String> = []
  let records: ZoneRecords

  init(_ row: Commit.ZoneRow, owner: String, records: ZoneRecords) {
    (self.row, self.owner, self.records) = (row, owner, records)
  }

  var name: String { row.name }
  var identity: UInt64 { row.identity }
  var sequence: Int64 { row.sequence }
  var changed: Int64 { row.changed }

  /// Whether the zone is a custom zone. Only custom zones have atomic batches and a change feed. [D]
  var isCustom: Bool { name != Self.defaultName }

  var zoneID: JSON {
    .object([
      "zoneName": .string(name), "ownerRecordName": .string(owner),
      "zoneType": .string(isCustom ? "REGULAR_CUSTOM_ZONE" : "DEFAULT_ZONE"),
    ])
  }

  var token: SyncToken { SyncToken(kind: .zone, identity: identity, sequence: sequence) }

  /// The zone dictionary (reference 2.2). [D][L3]
  var json: JSONObject {
    var object: JSONObject = ["zoneID": zoneID]
    object.append("syncToken", isCustom ? .string(token.text) : nil)
    object.append("atomic", .bool(isCustom))
    object.append("deleted", .bool(false))
    return object
  }

  /// Returns the names of the records that refer to a target with an action other than NONE, sorted.
  func referrers(of target: String, _ action: EmulatorReference.Action) -> [String] {
    switch action {
    case .none: []
    case .deleteSelf: records.sources(of: RecordLink(kind: .deleteSelf, target: target))
    case .validate: records.sources(of: RecordLink(kind: .validate, target: target))
    }
  }

  /// Returns the names of the records whose parent is the given record, sorted.
  func children(of parent: String) -> [String] { records.sources(of: RecordLink(kind: .parent, target: parent)) }
}
