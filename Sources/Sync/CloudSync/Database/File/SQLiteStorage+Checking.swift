import Foundation
import GRDB
import Glibc

/// Finding damage. A damaged file is rejected, not repaired, because a repair can silently lose a part of the queue.
/// The file is left unchanged, for a restore from a copy or for `SyncStore.salvage`.
extension SQLiteStorage {
  /// The size up to which a file is checked on opening, which takes milliseconds; larger ones are checked by the
  /// process that syncs them.
  package static let pagesCheckedOnOpening = 1000

  /// Checks a small file.
  func checkOnOpening(upTo limit: Int) throws {
    try connected {
      try $0.writeWithoutTransaction { database in
        guard try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0 <= limit else { return }
        if let fault = try String.fetchOne(database, sql: "PRAGMA quick_check(1)"), fault != "ok" {
          throw damage(fault)
        }
      }
    }
  }

  package func checkContents() throws(StoreError) {
    do {
      let tables = try connected { connections in
        try connections.read {
          try String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
        }
      }
      for table in tables {
        let fault = try connected { connections in
          try connections.read { database in
            try String.fetchOne(database, sql: "SELECT quick_check FROM pragma_quick_check(?)", arguments: [table])
          }
        }
        if let fault, fault != "ok" { throw damage(fault) }
      }
    } catch {
      let error = StoreError(using: name, error)
      if error.kind == .damaged { refuse(error) }
      throw error
    }
  }

  /// Tries to write to a store, in a transaction that is rolled back, and in a file beside it. No watcher is notified.
  static func tryWriting(_ path: String) throws {
    var configuration = configuration()
    configuration.busyMode = .timeout(1)
    do {
      try SQLiteLog.leavingNone(path) {
        try mergingNothing(path, configuration) { queue in
          try queue.writeWithoutTransaction { database in
            try database.inTransaction(.immediate) {
              try database.execute(sql: "UPDATE state SET one = one")
              return .rollback
            }
          }
        }
      }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
      // Another process is writing to it.
    }
    // A quota that is used up rejects what a rollback keeps from the disk.
    if [ENOSPC, EDQUOT].contains(FileSystem.refusal(beside: path)) { throw StoreError.diskIsFull }
  }

  private func damage(_ fault: String) -> StoreError {
    let line = fault.split(whereSeparator: \.isNewline).joined(separator: " ")
    return StoreError(.damaged, "the store \(name) is damaged (\(line)); \(StoreError.remedy)")
  }
}
