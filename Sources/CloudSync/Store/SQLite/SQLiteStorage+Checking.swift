import Foundation
import GRDB

/// Finding damage. A damaged file is refused, not repaired: whoever copies what can still be read out of it cannot tell
/// what is missing, and a queue that has silently lost a part is what this store is there to prevent. The file stays as it
/// is, for a copy to take its place or for tools that show what they leave out.
extension SQLiteStorage {
  /// Files up to this size are checked whole when they are opened, which takes a fraction of a second; larger ones part
  /// by part while they are used.
  static let pagesCheckedOnOpening = 20_000

  /// Looks for pages that are not what SQLite wrote.
  func checkOnOpening(upTo limit: Int) throws {
    let isSmall = try writer.writeWithoutTransaction { database in
      guard try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0 <= limit else { return false }
      if let fault = try String.fetchOne(database, sql: "PRAGMA quick_check(1)"), fault != "ok" { throw damage(fault) }
      return true
    }
    guard !isSmall else { return }
    DispatchQueue.global(qos: .utility).async { [weak self] in try? self?.checkInParts() }
  }

  /// Looks for such pages one table after the other, in the way of nobody. Once one is found every transaction is
  /// refused.
  package func checkInParts() throws(StoreError) {
    do {
      let tables = try writer.read {
        try String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
      }
      for table in tables {
        let fault = try writer.read { database in
          try String.fetchOne(database, sql: "SELECT quick_check FROM pragma_quick_check(?)", arguments: [table])
        }
        if let fault, fault != "ok" { throw damage(fault) }
      }
    } catch {
      let error = StoreError(using: name, error)
      if error.kind == .damaged { refuse(error) }
      throw error
    }
  }

  private func damage(_ fault: String) -> StoreError {
    let line = fault.split(whereSeparator: \.isNewline).joined(separator: " ")
    return StoreError(.damaged, "the store \(name) is damaged (\(line)); restore a copy or move the file away")
  }
}
