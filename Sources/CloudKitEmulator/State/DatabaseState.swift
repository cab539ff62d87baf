/// Names one database: the public one of a container and environment, or somebody's private one.
public struct EmulatorDatabase: Sendable, Hashable {
  /// The identifier, e.g. `iCloud.com.example.notes`.
  public var container: String
  /// `development` or `production`.
  public var environment: String
  /// The name of the user whose private database it is; `nil` means the public database.
  public var user: String?

  /// The public database of a container.
  public static func `public`(_ container: String, environment: String = "development") -> EmulatorDatabase {
    EmulatorDatabase(container: container, environment: environment, user: nil)
  }

  /// The private database of the user of that name, as a web-auth token names them.
  public static func `private`(
    of user: String,
    _ container: String,
    environment: String = "development"
  ) -> EmulatorDatabase {
    EmulatorDatabase(container: container, environment: environment, user: user)
  }
}

/// Identifies a database inside the emulator by the owner's record name, in a form that also names it in the file.
struct DatabaseKey: Sendable, Hashable {
  var container: String
  var environment: String
  /// `nil` for the public database.
  var owner: String?

  var schema: String { "\(container)/\(environment)" }
  var path: String { "\(container)/\(environment)/" + (owner.map { "private/\($0)" } ?? "public") }

  init(container: String, environment: String, owner: String?) {
    self.container = container
    self.environment = environment
    self.owner = owner
  }

  /// Reads `path` back. Containers hold no slash, since they arrive as one path segment.
  init?(path: String) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count >= 3 else { return nil }
    self.init(container: parts[0], environment: parts[1], owner: parts.count > 3 ? parts[3] : nil)
  }
}

/// One database: its zones, the zones it has lost, and the counters from which tags and tokens are made.
final class DatabaseState {
  let key: DatabaseKey
  /// Counts every committed write in all zones; tags are made of it, so none comes back after a zone is recreated.
  /// Tags are short and look like base 36. [L3]
  var counter: Int64
  /// Counts changes to zones; database tokens are made of it.
  var sequence: Int64
  var zones: [String: ZoneState] = [:]
  /// Deleted custom zones with the sequence of their deletion.
  var deletedZones: [String: Int64] = [:]

  init(key: DatabaseKey, store: any EmulatorStore, seed: UInt64) {
    self.key = key
    // Tags of another emulator must not be taken for those of this one.
    counter = Int64(Derived.number("\(seed)/\(key.path)/tags") % 60_000_000)
    sequence = 0
    let name = ZoneState.defaultName
    let row = Commit.ZoneRow(
      name: name,
      identity: Derived.number("\(seed)/\(key.path)/\(name)"),
      sequence: 0,
      changed: 0
    )
    add(row, records: store.records(in: Place.Key(database: key, zone: name)))
  }

  init(copying other: DatabaseState, store: any EmulatorStore) {
    (key, counter, sequence, deletedZones) = (other.key, other.counter, other.sequence, other.deletedZones)
    for zone in other.zones.values {
      add(zone.row, records: store.records(in: Place.Key(database: key, zone: zone.name)))
      zones[zone.name]?.shares = zone.shares
    }
  }

  func add(_ row: Commit.ZoneRow, records: any ZoneRecords) {
    zones[row.name] = ZoneState(row, owner: owner, records: records)
  }

  /// The record name in zone IDs: the user's own, or a made-up constant of the public database.
  var owner: String { key.owner ?? "_" + Derived.hexadecimal(key.path) }

  /// That of its default zone, which is never deleted: databases of other servers, or of a history that was given up, have
  /// another one.
  var identity: UInt64 { Derived.number("database/\(zones[ZoneState.defaultName]?.identity ?? 0)") }

  var token: SyncToken { SyncToken(kind: .database, identity: identity, sequence: sequence) }
}
