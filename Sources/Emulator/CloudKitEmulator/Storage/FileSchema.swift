import Foundation
import GRDB

/// The tables of a data file.
enum FileSchema {
  /// The value of `PRAGMA user_version`.
  static let version = 5
  /// The value of `PRAGMA application_id`, `ckem` in ASCII.
  private static let identity = 0x636B_656D

  /// The reason why a file is not opened.
  enum Refusal: Error, CustomStringConvertible {
    case otherVersion(Int)
    case notOurs
    case foreignLog

    var description: String {
      switch self {
      case .otherVersion(let found):
        """
        The data file was written by another version of this program (format \(found), this one reads \(version)). Open \
        it with that version, or move it away.
        """
      case .notOurs: "The file is an SQLite database, but was not written by this program."
      case .foreignLog:
        "A file with the data file's name and -wal or -journal is not of this program. Move it, or name another data file."
      }
    }
  }

  /// Whether a file has no tables yet. Does not change it.
  ///
  /// - Throws: `Refusal` if the file was not written by this program or by another version.
  static func isEmpty(_ db: Database) throws -> Bool {
    let (found, owner) = (try number("user_version", db), try number("application_id", db))
    guard owner == 0 || owner == identity else { throw Refusal.notOurs }
    guard try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master)") == true else {
      guard found == 0 else { throw Refusal.notOurs }
      return true
    }
    guard owner == identity else { throw Refusal.notOurs }
    guard found == version else { throw Refusal.otherVersion(found) }
    return false
  }

  /// Requires that a file was written by this program, or holds nothing, before anything opens it for writing.
  ///
  /// The file is opened as immutable: without a lock and without its log. A connection that may write would finish what
  /// another program began, move its log into the file, and delete a log beside a new or empty file.
  static func requireOwn(_ path: String) throws {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.prepareDatabase { db in
      // The header tells before the tables: a process that was killed leaves ours half written, with the rest in the
      // log.
      switch try number("application_id", db) {
      case identity: throw Known()
      case 0: break
      default: throw Refusal.notOurs
      }
    }
    do {
      let file = try DatabaseQueue(path: unchanging(path), configuration: configuration)
      // Without the identity it holds nothing, or is refused.
      _ = try file.read(isEmpty)
    } catch is Known {
      return
    }
    try requireOwnLog(beside: path)
  }

  /// The file's header has this program's identity.
  private struct Known: Error {}

  /// Returns the name under which SQLite reads a file without locks and without its log.
  static func unchanging(_ path: String) -> String { URL(fileURLWithPath: path).absoluteString + "?immutable=1" }

  /// Requires that SQLite will find no log of another program for a file that does not exist or holds nothing.
  static func requireOwnLog(beside path: String) throws {
    for log in [path + "-wal", path + "-journal"] where FileManager.default.fileExists(atPath: log) {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: log), options: .mappedIfSafe)
      guard bytes.isEmpty || isOwn(log: bytes) else { throw Refusal.foreignLog }
    }
  }

  /// Whether a write-ahead log has a first page with this program's identity.
  static func isOwn(log: Data) -> Bool {
    func number(_ offset: Int) -> Int {
      log.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }
    let (start, frame, page) = (32, 24, number(8))
    guard (512...65_536).contains(page) else { return false }
    return stride(from: start, through: log.count - frame - page, by: frame + page).contains {
      number($0) == 1 && number($0 + frame + 68) == identity
    }
  }

  /// Writes the identity into a new file. It is in the file itself before there is a log, so that the file is known by
  /// its header whenever the process is killed.
  static func claim(_ db: Database) throws {
    try db.execute(sql: "PRAGMA journal_mode = MEMORY; PRAGMA application_id = \(identity)")
  }

  private static func number(_ pragma: String, _ db: Database) throws -> Int {
    try Int.fetchOne(db, sql: "PRAGMA \(pragma)") ?? 0
  }

  /// Creates the tables of a new file.
  static func prepare(_ db: Database) throws {
    guard try isEmpty(db) else { return }
    try db.execute(sql: "\(tables) PRAGMA user_version = \(version); PRAGMA application_id = \(identity)")
  }

  private static let tables = """
    CREATE TABLE origin (seed INTEGER NOT NULL, secret TEXT NOT NULL);
    CREATE TABLE database (path TEXT PRIMARY KEY, counter INTEGER NOT NULL, sequence INTEGER NOT NULL);
    CREATE TABLE zone (
      id INTEGER PRIMARY KEY, database TEXT NOT NULL, name TEXT NOT NULL, identity INTEGER NOT NULL,
      sequence INTEGER NOT NULL, changed INTEGER NOT NULL, deleted INTEGER NOT NULL, UNIQUE (database, name));
    -- Tombstones are rows too: each name belongs to a record or a tombstone. The system fields have their wire names.
    -- The body is the member "fields" of the wire; the column sharing, which shares have, and a tombstone's body are JSON
    -- of the emulator's own.
    CREATE TABLE record (
      id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, name TEXT NOT NULL, sequence INTEGER NOT NULL,
      deleted INTEGER NOT NULL, type TEXT NOT NULL, tag TEXT NOT NULL, createdTimestamp INTEGER,
      createdUserRecordName TEXT, modifiedTimestamp INTEGER, modifiedUserRecordName TEXT, parent TEXT, shortGUID TEXT,
      share TEXT, formerShare TEXT, sharing TEXT, body TEXT NOT NULL, UNIQUE (zone, name));
    CREATE UNIQUE INDEX recordBySequence ON record (zone, sequence);
    CREATE INDEX share ON record (zone, name) WHERE sharing IS NOT NULL;
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
    CREATE TABLE user (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE subscription (
      database TEXT NOT NULL, scope TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL,
      PRIMARY KEY (database, scope, owner, id)) WITHOUT ROWID;
    CREATE TABLE pushToken (
      token TEXT PRIMARY KEY, database TEXT NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;
    -- Assets without their bytes are few and small. They are loaded at the start.
    CREATE TABLE asset (id TEXT PRIMARY KEY, kept INTEGER NOT NULL) WITHOUT ROWID;
    -- Schemas in Apple's schema language, by container and environment.
    CREATE TABLE schema (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE content (asset TEXT NOT NULL, piece INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (asset, piece));
    """
}
