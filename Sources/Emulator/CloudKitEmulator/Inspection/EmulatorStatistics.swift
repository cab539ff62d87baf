import JSONText
import Synchronization

/// Counts of an emulator's work since it started.
public struct EmulatorStatistics: Sendable, Hashable {
  /// The number of requests handled, including dropped ones.
  public internal(set) var requests = 0
  /// The number of requests by operation, e.g. `records/modify`. `unknown` counts requests with an unknown path.
  public internal(set) var requestsByOperation: [String: Int] = [:]
  /// The number of requests by result: `200`, `429 THROTTLED`, `dropped after commit`, …
  public internal(set) var outcomes: [String: Int] = [:]
  /// The number of errors of single items in responses with status 200.
  public internal(set) var itemErrors = 0
  /// The number of atomic batches that were rolled back.
  public internal(set) var atomicFailures = 0
  /// The number of committed record versions.
  public internal(set) var recordsSaved = 0
  /// The number of deleted records, including those deleted by cascades.
  public internal(set) var recordsDeleted = 0

  mutating func count(_ commit: Commit) {
    for change in commit.changes {
      switch change {
      // A version that only reappears in the change feed is not new.
      case .saved(_, let record, let old): recordsSaved += old?.tag == record.tag ? 0 : 1
      case .buried: recordsDeleted += 1
      default: break
      }
    }
  }
}

extension Emulator {
  /// The counts since the emulator started.
  public var statistics: EmulatorStatistics {
    core.withLock { $0.gate.statistics }
  }

  /// Returns the number of records in all databases or in one. Records that the data file cannot return are not
  /// counted.
  public func recordCount(in database: EmulatorDatabase? = nil) -> Int {
    look { world in
      world.databases.values.filter { database == nil || $0.key == database?.key }
        .reduce(0) { $0 + $1.zones.values.reduce(0) { $0 + $1.records.count } }
    }
    .found
  }

  /// Reads outside a request. Takes a read failure along, so that it does not affect the next request.
  func look<Value: Sendable>(_ body: (World) -> Value) -> (found: Value, failure: (any Error)?) {
    core.withLock { core in (body(core.world), core.world.store.takeFailure()) }
  }

  /// The number of long polls that are waiting for a notification.
  public var waitingPolls: Int {
    core.withLock { $0.push.waiting }
  }

  /// Returns all databases, zones, records and tombstones as text. Equal states give equal texts. If the data file
  /// cannot be read, the last line says so.
  public func dump() -> String {
    let (text, failure) = look { world in
      world.databases.values.sorted { $0.key.path < $1.key.path }.map(\.dump).joined()
    }
    return text + (failure.map { "The data file cannot be read: \($0)\n" } ?? "")
  }
}

extension DatabaseState {
  /// The database as text; empty if the database is empty, like one that was never used.
  fileprivate var dump: String {
    var text = ""
    for zone in zones.values.sorted(by: { $0.name < $1.name }) {
      text += "  zone \(zone.name)\n"
      for record in zone.records.names(deleted: false).compactMap({ zone.records[$0] }) {
        let fields = record.content.fields
          .map { "\($0.name)=\(FieldEncoding().bare($0.value).text)" }
        let parent = record.content.parent.map { " parent=\($0)" } ?? ""
        let share = record.content.share.map { " share=\($0)" } ?? ""
        let sharing = record.content.sharing.map { " " + $0.row.text } ?? ""
        let words = fields.joined(separator: " ")
        text += "    \(record.type) \(record.name) [\(record.tag)]\(parent)\(share)\(sharing) \(words)\n"
      }
      for tombstone in zone.records.names(deleted: true).compactMap(zone.records.tombstone) {
        text += "    deleted \(tombstone.name) [\(tombstone.tag)]\n"
      }
    }
    for name in deletedZones.keys.sorted() { text += "  deleted zone \(name)\n" }
    return text == "  zone \(ZoneState.defaultName)\n" ? "" : "\(key.path)\n\(text)"
  }
}

extension EmulatorDatabase {
  var key: DatabaseKey {
    DatabaseKey(container: container, environment: environment, owner: user.map(WebAuthToken.recordName(of:)))
  }
}
