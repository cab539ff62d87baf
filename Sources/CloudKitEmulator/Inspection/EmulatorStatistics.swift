import Synchronization

/// What an emulator has done since it started.
public struct EmulatorStatistics: Sendable, Hashable {
  /// Requests handled, dropped ones included.
  public internal(set) var requests = 0
  /// Requests by operation, e.g. `records/modify`; `unknown` counts paths that lead nowhere.
  public internal(set) var requestsByOperation: [String: Int] = [:]
  /// Requests by how they ended: `200`, `429 THROTTLED`, `dropped after commit`, …
  public internal(set) var outcomes: [String: Int] = [:]
  /// Errors of single items inside answers with status 200.
  public internal(set) var itemErrors = 0
  /// Atomic batches rolled back.
  public internal(set) var atomicFailures = 0
  /// Record versions committed.
  public internal(set) var recordsSaved = 0
  /// Records deleted, cascades included.
  public internal(set) var recordsDeleted = 0
}

extension Emulator {
  /// What the emulator has done since it started.
  public var statistics: EmulatorStatistics {
    core.withLock { $0.statistics }
  }

  /// The number of live records, in all databases or in one, as far as the data file can be read.
  public func recordCount(in database: EmulatorDatabase? = nil) -> Int {
    look { core in
      core.databases.values.filter { database == nil || $0.key == database?.key }
        .reduce(0) { $0 + $1.zones.values.reduce(0) { $0 + $1.records.count } }
    }
    .found
  }

  /// Reads as no request does, and takes a failure of its own out of the way of the next request.
  func look<Value: Sendable>(_ body: (EmulatorCore) -> Value) -> (found: Value, failure: (any Error)?) {
    core.withLock { core in (body(core), core.store.takeFailure()) }
  }

  /// The number of long polls that wait for a notification.
  public var waitingPolls: Int {
    core.withLock { $0.couriers.values.count { $0.waiter != nil } }
  }

  /// All databases, zones, records and tombstones as text: equal states give equal texts. Where the data file cannot be
  /// read, the last line says so.
  public func dump() -> String {
    let (text, failure) = look { core in
      core.databases.values.sorted { $0.key.path < $1.key.path }.map(\.dump).joined()
    }
    return text + (failure.map { "The data file cannot be read: \($0)\n" } ?? "")
  }
}

extension DatabaseState {
  /// Nothing where it holds nothing: then it is no different from one that nobody has asked for.
  fileprivate var dump: String {
    var text = ""
    for zone in zones.values.sorted(by: { $0.name < $1.name }) {
      text += "  zone \(zone.name)\n"
      for record in zone.records.names(deleted: false).compactMap({ zone.records[$0] }) {
        let fields = record.content.fields
          .map { "\($0.name)=\(JSONWriter.text(FieldEncoding().bare($0.value)))" }
        let parent = record.content.parent.map { " parent=\($0)" } ?? ""
        let share = record.content.share.map { " share=\($0)" } ?? ""
        let sharing = record.content.sharing.map { " " + JSONWriter.text($0.row) } ?? ""
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
