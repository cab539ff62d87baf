import CloudKitSchema
import Foundation
import GRDB
import JSONText

/// Stores everything in one SQLite file. Each commit is one transaction, and is on disk before the response is sent.
/// Records are read on demand, so startup time and memory do not grow with their number.
final class FileStore: EmulatorStore {
  /// The file system does not support write-ahead logging with full synchronization.
  struct UnsafeFileSystem: Error, CustomStringConvertible {
    var description: String { "The data file cannot be kept safely on its file system." }
  }

  /// The size of SQLite's page cache in KB.
  private static let cacheSize = 4096

  let queue: DatabaseQueue
  private var failure: (any Error)?
  /// The existing indexes by the ID of their zone.
  private var indexes: [Int64: [FileIndex]]

  /// The path of a temporary file, which is deleted with the store.
  private let temporaryPath: String?
  private var origin: EmulatorConfiguration.Origin?
  /// The file and its log, as the last write left them; `nil` for a temporary file.
  private var file: DataFile?

  /// Opens or creates the file, and locks it for this process.
  init(path: String, isTemporary: Bool = false) throws {
    temporaryPath = isTemporary ? path : nil
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      // The process owns the file as long as it runs. The kernel releases the lock when it ends.
      try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -\(Self.cacheSize)")
      // A temporary file is useless after a crash.
      guard !isTemporary else { return try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF") }
      if try FileSchema.isEmpty(db) { try FileSchema.claim(db) }
      let journal = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
      try db.execute(sql: "PRAGMA synchronous = FULL")
      guard journal == "wal", try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else { throw UnsafeFileSystem() }
    }
    try Self.prepareFile(path)
    queue = try DatabaseQueue(path: path, configuration: configuration)
    indexes = try queue.write { db in
      try FileSchema.prepare(db)
      return try FileIndex.all(db)
    }
    let url = URL(fileURLWithPath: path)
    if !isTemporary { file = DataFile(url.path, log: url.resolvingSymlinksInPath().path + "-wal") }
  }

  deinit {
    // A connection that must not be closed stays open until the process ends.
    if let file, let loss = file.loss, !file.mayClose(after: loss) { _ = Unmanaged.passRetained(queue) }
    guard let temporaryPath else { return }
    try? queue.close()
    try? FileManager.default.removeItem(at: URL(fileURLWithPath: temporaryPath).deletingLastPathComponent())
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

  func copy() throws -> any EmulatorStore {
    try requireInPlace()
    let copy = try Self.temporary()
    try copy.replace(by: self)
    return copy
  }

  /// Returns a temporary copy of a file. The file itself does not change.
  static func copy(of path: String) throws -> FileStore {
    var configuration = Configuration()
    configuration.readonly = true
    // Without a log beside the file, no process is writing to it. This also works in a read-only folder.
    let hasLog = FileManager.default.fileExists(atPath: path + "-wal")
    let lone = try? hasLog ? nil : DatabaseQueue(path: FileSchema.unchanging(path), configuration: configuration)
    let source = try lone ?? DatabaseQueue(path: path, configuration: configuration)
    guard try !source.read(FileSchema.isEmpty) else { throw FileSchema.Refusal.notOurs }
    let copy = try temporary()
    try source.backup(to: copy.queue)
    copy.indexes = try copy.queue.read(FileIndex.all)
    return copy
  }

  /// Writes the log into the file and closes it.
  func close() throws {
    file = nil
    try queue.close()
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

  func replace(by world: World) throws {
    if let file = world.store as? FileStore { return try replace(by: file) }
    let file = try Self.temporary()
    try world.write(into: file)
    try replace(by: file)
  }

  private func replace(by other: FileStore) throws {
    // The contents are those of another emulator, the identity stays.
    if let origin { try other.queue.write { try Self.put(origin, $0) } }
    try changing { try other.queue.backup(to: queue) }
    indexes = try queue.read(FileIndex.all)
  }

  private static func temporary() throws -> FileStore {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("emulator-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder,
      withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700]
    )
    return try FileStore(path: folder.appendingPathComponent("state.sqlite").path, isTemporary: true)
  }

  func records(in zone: ZoneKey) -> any ZoneRecords { FileRecords(self, zone) }

  func takeFailure() -> (any Error)? {
    defer { failure = nil }
    do throws(DataFile.Loss) {
      try requireInPlace()
      return failure
    } catch {
      return error
    }
  }

  /// Reads from the file. On failure, stores the error and returns `nothing`.
  func read<Value>(otherwise nothing: Value, _ body: (Database) throws -> Value) -> Value {
    do {
      return try queue.inDatabase(body)
    } catch {
      failure = error
      return nothing
    }
  }

  /// Returns the index with the name, and creates it if it does not exist.
  func index(_ name: IndexName, zone: Int64) -> FileIndex? {
    if let known = indexes[zone]?.first(where: { $0.name == name }) { return known }
    do {
      let index = try transaction { try FileIndex.make(name, zone: zone, $0) }
      indexes[zone, default: []].append(index)
      return index
    } catch {
      failure = error
      return nil
    }
  }

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
