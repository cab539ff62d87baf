import CloudKitSchema
import Foundation
import GRDB
import JSONText

/// The storage for records and the bytes of assets: an SQLite database, in a file or in memory. Each commit is one
/// transaction, and in a file it is on disk before the response is sent. Records are read on demand, so that startup
/// time does not grow with their number.
///
/// Reads do not throw. A read that fails returns nothing, and the store remembers the failure. Callers must check
/// `takeFailure()` before they reply or commit.
final class EmulatorStore {
  /// The place of a database.
  enum Place {
    case memory
    /// A file without a name, which SQLite deletes with the connection. A small one stays in memory.
    case temporary
    case file(String)
  }

  /// The file system does not support write-ahead logging with full synchronization.
  struct UnsafeFileSystem: Error, CustomStringConvertible {
    var description: String { "The data file cannot be kept safely on its file system." }
  }

  /// The size of SQLite's page cache in KB.
  private static let cacheSize = 4096

  let queue: DatabaseQueue
  private var failure: (any Error)?
  /// The existing indexes by the ID of their zone.
  private var indexes: [Int64: [FieldIndex]]
  private var origin: EmulatorConfiguration.Origin?
  /// The file and its log, as the last write left them; `nil` if there is no file with a name.
  private var file: DataFile?

  /// Opens or creates the database, and locks a file for this process.
  init(_ place: Place) throws {
    var configuration = Configuration()
    switch place {
    case .memory: queue = try DatabaseQueue(configuration: configuration)
    case .temporary:
      configuration.prepareDatabase { db in
        // It is useless after a crash.
        try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        try db.execute(sql: "PRAGMA cache_size = -\(Self.cacheSize)")
      }
      queue = try DatabaseQueue(path: "", configuration: configuration)
    case .file(let path):
      configuration.prepareDatabase { db in
        // The process owns the file as long as it runs. The kernel releases the lock when it ends.
        try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -\(Self.cacheSize)")
        if try FileSchema.isEmpty(db) { try FileSchema.claim(db) }
        let journal = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
        try db.execute(sql: "PRAGMA synchronous = FULL")
        guard journal == "wal", try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else { throw UnsafeFileSystem() }
      }
      try Self.prepareFile(path)
      queue = try DatabaseQueue(path: path, configuration: configuration)
    }
    indexes = try queue.write { db in
      try FileSchema.prepare(db)
      return try FieldIndex.all(db)
    }
    guard case .file(let path) = place else { return }
    let url = URL(fileURLWithPath: path)
    file = DataFile(url.path, log: url.resolvingSymlinksInPath().path + "-wal")
  }

  deinit {
    // A connection that must not be closed stays open until the process ends.
    if let file, let loss = file.loss, !file.mayClose(after: loss) { _ = Unmanaged.passRetained(queue) }
  }

  /// Creates the file for this user alone, if there is none; a link that leads to no file is not followed. A file that
  /// exists is not touched before it is known to be ours.
  private static func prepareFile(_ path: String) throws {
    guard access(path, F_OK) != 0 else {
      try FileSchema.requireOwn(path)
      // A copy that was put in its place may be readable by others.
      return _ = chmod(path, 0o600)
    }
    try FileSchema.requireOwnLog(beside: path)
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw DatabaseError(resultCode: .SQLITE_CANTOPEN) }
    Foundation.close(descriptor)
  }

  /// Returns the origin that the file keeps, or generates one and keeps it.
  func origin(for configuration: EmulatorConfiguration) throws -> EmulatorConfiguration.Origin {
    let origin = try transaction { db in
      if let row = try Row.fetchOne(db, sql: "SELECT seed, secret FROM origin") {
        var origin = EmulatorConfiguration.Origin(seed: UInt64(bitPattern: row["seed"]), secret: row["secret"])
        // The file was created with a seed or a secret that is not given now.
        if origin.secret.isEmpty, configuration.seed == nil, configuration.secret.isEmpty {
          origin.secret = configuration.generatedOrigin().secret
          try Self.put(origin, db)
        }
        return origin
      }
      var origin = configuration.generatedOrigin()
      // A given secret is not kept.
      if !configuration.secret.isEmpty { origin.secret = "" }
      try Self.put(origin, db)
      return origin
    }
    self.origin = origin
    return origin
  }

  private static func put(_ origin: EmulatorConfiguration.Origin, _ db: Database) throws {
    try db.execute(sql: "DELETE FROM origin")
    try db.execute(
      sql: "INSERT INTO origin (seed, secret) VALUES (?, ?)",
      arguments: [Int64(bitPattern: origin.seed), origin.secret]
    )
  }

  /// Returns an independent store with the same content.
  func copy() throws -> EmulatorStore {
    try requireInPlace()
    return try Self.copy(of: queue)
  }

  /// Returns a copy of a file. The file itself does not change.
  static func copy(of path: String) throws -> EmulatorStore {
    var configuration = Configuration()
    configuration.readonly = true
    // Without a log beside the file, no process is writing to it. This also works in a read-only folder.
    let hasLog = FileManager.default.fileExists(atPath: path + "-wal")
    let lone = try? hasLog ? nil : DatabaseQueue(path: FileSchema.unchanging(path), configuration: configuration)
    let source = try lone ?? DatabaseQueue(path: path, configuration: configuration)
    guard try !source.read(FileSchema.isEmpty) else { throw FileSchema.Refusal.notOurs }
    return try copy(of: source)
  }

  private static func copy(of source: DatabaseQueue) throws -> EmulatorStore {
    let copy = try EmulatorStore(.temporary)
    try source.backup(to: copy.queue)
    copy.indexes = try copy.queue.read(FieldIndex.all)
    return copy
  }

  /// Creates a data file with the same content, for an emulator with an identity of its own.
  func write(to path: String) throws {
    let file = try EmulatorStore(.file(path))
    try file.replace(by: self)
    try file.transaction { try $0.execute(sql: "DELETE FROM origin") }
    // Moves the log into the file.
    file.file = nil
    try file.queue.close()
  }

  /// Throws if another program deleted, moved or changed the file or its log.
  private func requireInPlace() throws(DataFile.Loss) {
    guard let file, let loss = file.loss else { return }
    file.setLogAside(after: loss)
    throw loss
  }

  /// Changes the file, if it is as the last write left it.
  private func changing<Value>(_ body: () throws -> Value) throws -> Value {
    try requireInPlace()
    // A change that fails may have written to the log, too.
    let result = Result { try body() }
    try file?.noteWrite()
    return try result.get()
  }

  private func transaction<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try changing { try queue.write(body) }
  }

  /// Replaces the content with that of another store, all or nothing.
  func replace(by other: EmulatorStore) throws {
    // The contents are those of another emulator, the identity stays.
    if let origin { try other.queue.write { try Self.put(origin, $0) } }
    try changing { try other.queue.backup(to: queue) }
    indexes = try queue.read(FieldIndex.all)
  }

  /// Returns the records of a zone; a new zone has none.
  func records(in zone: ZoneKey) -> ZoneRecords { ZoneRecords(self, zone) }

  /// Returns and clears the failure of a read since the last call, which may have returned too little, or returns why
  /// the store can no longer be used.
  func takeFailure() -> (any Error)? {
    defer { failure = nil }
    do throws(DataFile.Loss) {
      try requireInPlace()
      return failure
    } catch {
      return error
    }
  }

  /// Reads. On failure, stores the error and returns `nothing`.
  func read<Value>(otherwise nothing: Value, _ body: (Database) throws -> Value) -> Value {
    do {
      return try queue.inDatabase(body)
    } catch {
      failure = error
      return nothing
    }
  }

  /// Returns the index with the name, and creates it if it does not exist.
  func index(_ name: IndexName, zone: Int64) -> FieldIndex? {
    if let known = indexes[zone]?.first(where: { $0.name == name }) { return known }
    do {
      let index = try transaction { try FieldIndex.make(name, zone: zone, $0) }
      indexes[zone, default: []].append(index)
      return index
    } catch {
      failure = error
      return nil
    }
  }

  /// Writes a commit, all or nothing.
  func write(_ commit: Commit) throws {
    // A zone that is recreated has the same ID, and no indexes.
    var cleared: [Int64] = []
    try transaction { db in
      let path = commit.database.path
      try db.run("INSERT OR REPLACE INTO database VALUES (?, ?, ?)", [path, commit.counter, commit.sequence])
      var table: RecordTable?
      let records = { (zone: String) throws -> RecordTable in
        if let table, table.name == zone { return table }
        let id = try Self.id(of: zone, path, db)
        let found = RecordTable(db: db, zone: id, name: zone, indexes: self.indexes[id] ?? [])
        table = found
        return found
      }
      for change in commit.changes {
        switch change {
        case .saved(let zone, let record, let old): try records(zone).save(record, over: old)
        case .buried(let zone, let tombstone, let old): try records(zone).bury(tombstone, over: old)
        case .zoneDeleted(let name, let sequence):
          // A restored state may contain deleted zones that this file never had.
          if let id = try Self.knownID(of: name, path, db) {
            try records(name).clear()
            cleared.append(id)
          }
          try Self.put(Commit.ZoneRow(name: name, identity: 0, sequence: 0, changed: sequence), deleted: true, path, db)
        default: try Self.write(change, commit.database, db)
        }
      }
    }
    for id in cleared { indexes[id] = nil }
  }

  static func knownID(of zone: String, _ path: String, _ db: Database) throws -> Int64? {
    let sql = "SELECT id FROM zone WHERE database = ? AND name = ?"
    return try Int64.fetchOne(db.cachedStatement(sql: sql), arguments: [path, zone])
  }

  private static func id(of zone: String, _ path: String, _ db: Database) throws -> Int64 {
    guard let id = try knownID(of: zone, path, db) else { throw DatabaseError(message: "The zone is unknown.") }
    return id
  }

  private static func put(_ row: Commit.ZoneRow, deleted: Bool, _ path: String, _ db: Database) throws {
    try db.run(
      """
      INSERT INTO zone (database, name, identity, sequence, changed, deleted) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET (identity, sequence, changed, deleted)
        = (excluded.identity, excluded.sequence, excluded.changed, excluded.deleted)
      """,
      [path, row.name, Int64(bitPattern: row.identity), row.sequence, row.changed, deleted]
    )
  }

  private static func write(_ change: Commit.Change, _ key: DatabaseKey, _ db: Database) throws {
    let path = key.path
    switch change {
    case .saved, .buried, .zoneDeleted: break
    case .zoneCreated(let row), .zoneChanged(let row): try put(row, deleted: false, path, db)
    case .schemaChanged(let schema):
      try db.run("INSERT OR REPLACE INTO schema VALUES (?, ?)", [key.schema, schema.exported])
    case .userSeen(let name): try db.run("INSERT OR IGNORE INTO user VALUES (?)", [name])
    case .subscribed(let subscription):
      let (key, body) = (subscription.key, JSON.object(subscription.json).data)
      try db.run(
        "INSERT OR REPLACE INTO subscription VALUES (?, ?, ?, ?, ?)",
        [path, key.scope.rawValue, key.owner, key.id, body]
      )
    case .unsubscribed(let key):
      try db.run(
        "DELETE FROM subscription WHERE database = ? AND scope = ? AND owner = ? AND id = ?",
        [path, key.scope.rawValue, key.owner, key.id]
      )
    case .tokenMade(let token):
      try db.run("INSERT OR REPLACE INTO pushToken VALUES (?, ?, ?)", [token.text, path, token.expires])
    case .tokenDropped(let token): try db.run("DELETE FROM pushToken WHERE token = ?", [token])
    }
  }

  /// Writes in pieces, so that neither the bytes nor the transaction must fit in memory.
  func write(_ content: AssetContent, asset id: String, until time: Int64) throws {
    try transaction { db in
      try db.run("INSERT OR REPLACE INTO asset VALUES (?, ?)", [id, time])
      try db.run("DELETE FROM content WHERE asset = ?", [id])
      for number in 0..<content.pieces {
        try db.run("INSERT INTO content VALUES (?, ?, ?)", [id, number, try content.piece(number)])
      }
    }
  }

  func size(ofAsset id: String) -> Int? {
    let sql = "SELECT coalesce(sum(length(bytes)), 0) FROM content WHERE asset = ?"
    return read(otherwise: nil) { try Int.fetchOne($0, sql: sql, arguments: [id]) }
  }

  func piece(_ number: Int, ofAsset id: String) -> Data? {
    let sql = "SELECT bytes FROM content WHERE asset = ? AND piece = ?"
    return read(otherwise: nil) { try Data.fetchOne($0, sql: sql, arguments: [id, number]) }
  }

  func delete(assets ids: [String]) throws {
    try transaction { db in
      for id in ids {
        try db.run("DELETE FROM asset WHERE id = ?", [id])
        try db.run("DELETE FROM content WHERE asset = ?", [id])
      }
    }
  }
}

extension Database {
  /// Runs a statement that is reused, from the statement cache.
  func run(_ sql: String, _ arguments: StatementArguments) throws {
    try cachedStatement(sql: sql).execute(arguments: arguments)
  }
}
