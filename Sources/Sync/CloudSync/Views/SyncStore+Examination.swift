package import Facts
import Foundation
import GRDB

/// Facts about a store's files, for a person who looks for trouble. Reading them changes nothing.
extension SyncStore {
  /// A store's files and the file system that they are on.
  package struct Files: Hashable, Sendable {
    package var bytes: Int
    /// The bytes of the write-ahead log.
    package var logBytes: Int
    /// The owner of the file; nil if unknown.
    package var owner: String?
    /// The permissions, such as `0o600`.
    package var mode: Int
    /// The bytes that this user may still write; nil if unknown.
    package var freeBytes: UInt64?
    /// Why nothing can be written; nil if it can, as far as is known.
    package var trouble: StorageTrouble?

    package init(
      bytes: Int,
      logBytes: Int,
      owner: String?,
      mode: Int,
      freeBytes: UInt64?,
      trouble: StorageTrouble? = nil
    ) {
      (self.bytes, self.logBytes, self.owner, self.mode) = (bytes, logBytes, owner, mode)
      (self.freeBytes, self.trouble) = (freeBytes, trouble)
    }
  }

  /// Returns the facts about the files of a store; nil if there is none.
  package static func files(ofStoreAt path: String) -> Files? {
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
    let system = FileSystem(of: path)
    return Files(
      bytes: attributes[.size] as? Int ?? 0,
      logBytes: SQLiteLog.size(path) ?? 0,
      owner: attributes[.ownerAccountName] as? String,
      mode: attributes[.posixPermissions] as? Int ?? 0,
      freeBytes: system?.freeBytes,
      trouble: system?.trouble
    )
  }

  /// Reads everything once and looks for damage. Takes seconds for a store of hundreds of megabytes.
  package func checkContents() throws(StoreError) { try storage.checkContents() }

  /// Tries to write to the store at a path, and takes it back. Changes nothing.
  package static func tryWriting(toStoreAt path: String) throws(StoreError) {
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    do { try SQLiteStorage.tryWriting(path) } catch { throw StoreError(using: path, error) }
  }

  /// Rows that cannot be read, and what was set aside because of that and is not mended yet.
  package struct Damage: Hashable, Sendable {
    /// The number of rows that cannot be read. A sync sets them aside.
    package var rows = 0
    /// The first of them and the reason; nil if there is none.
    package var first: String?
    /// Changes that were lost when their record was edited again, and that no person has seen.
    package var lost = 0
    /// Records that the next sync fetches again.
    package var records = 0

    package init() {}
  }

  /// Reads every row of the queue, the local copy and the dropped changes. Takes seconds for a large store.
  package func damage() throws(StoreError) -> Damage {
    try read { ledger in
      var damage = Damage()
      try ledger.unreadableRows { row in
        damage.rows += 1
        if damage.first == nil { damage.first = row.text }
      }
      damage.lost = try ledger.lostChanges()
      damage.records = try ledger.unreadableRecords()
      return damage
    }
  }

  /// The version of the store's tables, as this program writes them.
  package static var schemaVersion: Int { Schema.version }

  /// The version of SQLite; nil if it cannot be asked.
  package static var sqliteVersion: String? {
    try? DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") }
  }
}
