import GRDB

/// The tables of a data file.
enum FileSchema {
  /// The value of `PRAGMA user_version`.
  static let version = 3
  /// The value of `PRAGMA application_id`, `ckem` in ASCII. It is 0 in older files.
  private static let identity = 0x636B_656D

  /// The reason why a file is not opened.
  enum Refusal: Error, CustomStringConvertible {
    case newer
    case older
    case notOurs

    var description: String {
      switch self {
      case .newer: "The data file was written by a newer version of this program."
      case .older: "The data file was written by an earlier version of this program, which this version cannot read."
      case .notOurs: "The file is an SQLite database, but was not written by this program."
      }
    }
  }

  /// The version of the tables in a file.
  enum Content {
    case nothing
    case firstVersion
    case thisVersion
  }

  /// Identifies the content of a file without changing it.
  ///
  /// - Throws: `Refusal` if the file was not written by this program or has an unsupported version.
  static func content(_ db: Database) throws -> Content {
    let (found, owner) = (try number("user_version", db), try number("application_id", db))
    guard owner == 0 || owner == identity else { throw Refusal.notOurs }
    guard try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master)") == true else {
      guard found == 0, owner == 0 else { throw Refusal.notOurs }
      return .nothing
    }
    let hasTables = try ["database", "zone", "record", "asset"].allSatisfy { try db.tableExists($0) }
    guard hasTables || owner == identity && found > version else { throw Refusal.notOurs }
    switch found {
    case 0: return .firstVersion
    case version: return .thisVersion
    default: throw found > version ? Refusal.newer : .older
    }
  }

  private static func number(_ pragma: String, _ db: Database) throws -> Int {
    try Int.fetchOne(db, sql: "PRAGMA \(pragma)") ?? 0
  }

  /// Creates missing tables and migrates older ones.
  static func prepare(_ db: Database) throws {
    let content = try content(db)
    if content == .firstVersion { try FirstVersion.setAside(db) }
    if content != .thisVersion { try db.execute(sql: tables) }
    if content == .firstVersion { try FirstVersion.takeOver(db) }
    guard try content != .thisVersion || number("application_id", db) == 0 else { return }
    try db.execute(sql: "PRAGMA user_version = \(version); PRAGMA application_id = \(identity)")
  }

  private static let tables = """
    CREATE TABLE IF NOT EXISTS database (path TEXT PRIMARY KEY, counter INTEGER NOT NULL, sequence INTEGER NOT NULL);
    CREATE TABLE zone (
      id INTEGER PRIMARY KEY, database TEXT NOT NULL, name TEXT NOT NULL, identity INTEGER NOT NULL,
      sequence INTEGER NOT NULL, changed INTEGER NOT NULL, deleted INTEGER NOT NULL, UNIQUE (database, name));
    -- Tombstones are rows too: each name belongs to a record or a tombstone.
    CREATE TABLE record (
      id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, name TEXT NOT NULL, sequence INTEGER NOT NULL,
      deleted INTEGER NOT NULL, isShare INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (zone, name));
    CREATE UNIQUE INDEX recordBySequence ON record (zone, sequence);
    CREATE INDEX share ON record (zone, name) WHERE isShare;
    -- References between records and to assets. The kinds are those of RecordLink.
    CREATE TABLE link (
      kind INTEGER NOT NULL, target TEXT NOT NULL, zone INTEGER NOT NULL, source TEXT NOT NULL,
      PRIMARY KEY (kind, target, zone, source)) WITHOUT ROWID;
    -- The indexes that queries have used. A key is encoded so that its bytes sort like the values. The column record
    -- has the row ID.
    CREATE TABLE fieldIndex (
      id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, type TEXT NOT NULL, field TEXT NOT NULL, UNIQUE (zone, type, field));
    CREATE TABLE entry (
      fieldIndex INTEGER NOT NULL, key BLOB NOT NULL, name TEXT NOT NULL, record INTEGER NOT NULL,
      PRIMARY KEY (fieldIndex, key, name)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS user (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS subscription (
      database TEXT NOT NULL, scope TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL,
      PRIMARY KEY (database, scope, owner, id)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS pushToken (
      token TEXT PRIMARY KEY, database TEXT NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;
    -- Assets without their bytes are few and small. They are loaded at the start.
    CREATE TABLE asset (id TEXT PRIMARY KEY, kept INTEGER NOT NULL) WITHOUT ROWID;
    -- Schemas in Apple's schema language, by container and environment.
    CREATE TABLE schema (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE content (asset TEXT NOT NULL, piece INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (asset, piece));
    """
}
