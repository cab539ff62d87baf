/// Identifies a database: the public database of a container and environment, or the private database of a user.
public struct EmulatorDatabase: Sendable, Hashable {
  /// The container's identifier, e.g. `iCloud.com.example.notes`.
  public var container: String
  /// `development` or `production`.
  public var environment: String
  /// The name of the user who owns the private database; `nil` for the public database.
  public var user: String?

  /// Returns the public database of a container.
  public static func `public`(_ container: String, environment: String = "development") -> EmulatorDatabase {
    EmulatorDatabase(container: container, environment: environment, user: nil)
  }

  /// Returns the private database of a user. The name is the one in the web auth token.
  public static func `private`(
    of user: String,
    _ container: String,
    environment: String = "development"
  ) -> EmulatorDatabase {
    EmulatorDatabase(container: container, environment: environment, user: user)
  }
}

/// Identifies a database inside the emulator by its owner's record name. Its path identifies it in the data file.
struct DatabaseKey: Sendable, Hashable {
  var container: String
  var environment: String
  /// The record name of the owner; `nil` for the public database.
  var owner: String?

  var schema: String { "\(container)/\(environment)" }
  var path: String { "\(container)/\(environment)/" + (owner.map { "private/\($0)" } ?? "public") }
}

extension DatabaseKey {
  /// Parses `path`. Container names have no slash.
  init?(path: String) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count >= 3 else { return nil }
    self.init(container: parts[0], environment: parts[1], owner: parts.count > 3 ? parts[3] : nil)
  }
}

/// One database: its zones, its deleted zones, and the counters behind change tags and sync tokens.
final class DatabaseState {
  let key: DatabaseKey
  /// A counter of committed writes in all zones. Change tags are made from it, so no tag repeats after a zone is
  /// recreated. Tags are short and look like base 36. [L3]
  private(set) var counter: Int64
  /// A counter of zone changes. Database sync tokens are made from it.
  private(set) var sequence: Int64
  private(set) var zones: [String: ZoneState] = [:]
  /// The deleted custom zones, with the sequence number of their deletion.
  private(set) var deletedZones: [String: Int64] = [:]

  init(key: DatabaseKey, store: EmulatorStore, seed: UInt64) {
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
    add(row, records: store.records(in: ZoneKey(database: key, zone: name)))
  }

  init(copying other: DatabaseState, store: EmulatorStore) {
    (key, counter, sequence, deletedZones) = (other.key, other.counter, other.sequence, other.deletedZones)
    for zone in other.zones.values {
      add(zone.row, records: store.records(in: ZoneKey(database: key, zone: zone.name)))
      zones[zone.name]?.shares = zone.shares
    }
  }

  /// Applies the changes of the database itself.
  func apply(_ commit: Commit, store: EmulatorStore) {
    (counter, sequence) = (commit.counter, commit.sequence)
    for change in commit.changes {
      switch change {
      case .saved(let zone, let record, _):
        if record.content.sharing != nil { zones[zone]?.shares.insert(record.name) }
      case .buried(let zone, let tombstone, _): zones[zone]?.shares.remove(tombstone.name)
      case .zoneCreated(let row):
        deletedZones[row.name] = nil
        add(row, records: store.records(in: ZoneKey(database: key, zone: row.name)))
      case .zoneChanged(let row): zones[row.name]?.row = row
      case .zoneDeleted(let name, let sequence):
        zones[name] = nil
        deletedZones[name] = sequence
      default: break
      }
    }
  }

  private func add(_ row: Commit.ZoneRow, records: ZoneRecords) {
    zones[row.name] = ZoneState(row, owner: owner, records: records)
  }

  /// The owner's record name in zone IDs; in the public database, a made-up constant.
  var owner: String { key.owner ?? "_" + Derived.hexadecimal(key.path) }

  /// The identity of the database in sync tokens, derived from its default zone, which is never deleted. It differs
  /// between servers, and changes after a restore.
  var identity: UInt64 { Derived.number("database/\(zones[ZoneState.defaultName]?.identity ?? 0)") }

  var token: SyncToken { SyncToken(kind: .database, identity: identity, sequence: sequence) }
}
