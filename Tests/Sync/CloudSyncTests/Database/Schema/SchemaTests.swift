import Crypto
import Foundation
import GRDB
import Testing

@testable import CloudSync

/// The schema, which stores outside development have: it changes only by a migration.
struct SchemaTests {
  @Test func `the schema that was packaged first stays as it is`() throws {
    let queue = try DatabaseQueue()
    try Schema.migrator([]).migrate(queue)
    let statements = try queue.read { database in
      try String.fetchAll(
        database,
        sql: """
          SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name <> 'grdb_migrations' ORDER BY type, name
          """
      )
    }
    let digest = SHA256.hash(data: Data(statements.joined(separator: "\n").utf8))
    let packaged = "8cc18092849b1272b392a94160157ca0937841a6202dd0c8082bf72298235c92"
    // Where this fails, add the change to `Schema.changes` and leave the first schema alone.
    #expect(digest.map { String(format: "%02x", $0) }.joined() == packaged)
    #expect(Schema.changes.map(\.version) == Array((Schema.first + 1)..<(Schema.first + 1 + Schema.changes.count)))
  }

  @Test(arguments: [
    (38, 41, Schema.Fit.rejected), (39, 39, .current), (39, 41, .migrated), (40, 41, .migrated), (41, 41, .current),
    (42, 41, .rejected),
  ])
  func `a store of an earlier schema is migrated, and any other is rejected`(found: Int, last: Int, fit: Schema.Fit) {
    #expect(Schema.fit(found, last: last) == fit)
  }

  @Test func `a migrated store keeps what it has`() throws {
    let queue = try DatabaseQueue()
    try Schema.migrator([]).migrate(queue)
    try queue.write { try $0.execute(sql: "UPDATE droppedTotals SET undoable = 7") }

    let later = Schema.Change(version: Schema.first + 1, sql: "ALTER TABLE activity ADD COLUMN mood TEXT")
    let migrator = Schema.migrator([later])
    #expect(try !queue.read(migrator.hasCompletedMigrations))
    try migrator.migrate(queue)
    #expect(try queue.read(migrator.hasCompletedMigrations))
    #expect(try queue.read(Schema.version(of:)) == later.version)
    #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT undoable FROM droppedTotals") } == 7)
    #expect(try queue.read { try $0.columns(in: "activity").map(\.name) }.contains("mood"))
  }
}
