import CloudKit
import CloudSync
import Foundation
import GRDB

/// Queries of a local copy, each beside GRDB alone with the same rows: a scan of the type that reads one field.
struct Queries {
  private let count: Int
  private let bench: Bench

  init(_ count: Int) throws {
    self.count = count
    bench = try Bench()
  }

  func measure() throws {
    let storage = try bench.storage("queries")
    let store = try Bench.store(storage)
    try fill(storage)
    let due = Date(timeIntervalSince1970: 1_700_000_000 + Double(count - 20) / 1000)
    let title = "A title of some words, number \(count / 2)"
    try compare("an equal text", store, storage, query("title == %@", [title]), "title", "=", title)
    try compare("a later date", store, storage, query("due >= %@", [due]), "due", ">=", due.milliseconds)
    try sorted(store, storage)
    let before = privateMegabytes()
    let either = try query("title ENDSWITH '7' OR rank > 5", [])
    report("count of a condition that SQL cannot decide", try median { _ = try store.count(either) }, "ms")
    let page = StoredQuery(type: "Task", in: nil)
    report("first page of 200 by name", try median { _ = try store.page(of: page, limit: 200) }, "ms", atMost: 20)
    report("memory that the queries took", privateMegabytes() - before, "MB", atMost: 20)
  }

  private func fill(_ storage: SQLiteStorage) throws {
    try storage.writer.write { database in
      let statement = try database.makeStatement(
        sql: """
          INSERT INTO records(zone, owner, name, type, changeTag, fields, createdAt, modifiedAt)
          VALUES ('\(Bench.zone.zone)', '', ?, 'Task', '1', ?, 1, 1)
          """
      )
      for number in 0..<count {
        let fields = """
          {"done":{"type":"INT64","value":\(number % 2)},"due":{"type":"TIMESTAMP","value":\(1_700_000_000_000 + number)},\
          "notes":{"type":"STRING","value":"Some more words, so that the record has the size of a usual one."},\
          "rank":{"type":"DOUBLE","value":\(Double(number) / 7)},\
          "title":{"type":"STRING","value":"A title of some words, number \(number)"}}
          """
        try statement.execute(arguments: ["r\(number * 7919 % count)", fields])
      }
    }
  }

  private func query(_ format: String, _ arguments: [Any]) throws -> StoredQuery {
    try StoredQuery(CKQuery(recordType: "Task", predicate: NSPredicate(format: format, argumentArray: arguments)))
  }

  private func compare(
    _ name: String,
    _ store: SyncStore,
    _ storage: SQLiteStorage,
    _ query: StoredQuery,
    _ field: String,
    _ comparator: String,
    _ value: some DatabaseValueConvertible
  ) throws {
    let sql = """
      SELECT * FROM records WHERE zone = '\(Bench.zone.zone)' AND owner = '' AND type = 'Task'
        AND json_extract(fields, '$.\(field).value') \(comparator) ?
      """
    let bare = try median { _ = try storage.writer.read { try Row.fetchAll($0, sql: sql, arguments: [value]) } }
    report("\(name), GRDB alone", bare, "ms")
    report("\(name), a query", try median { _ = try store.records(matching: query) { $0 } }, "ms", atMost: 300)
  }

  private func sorted(_ store: SyncStore, _ storage: SQLiteStorage) throws {
    let query = CKQuery(recordType: "Task", predicate: NSPredicate(value: true))
    query.sortDescriptors = [NSSortDescriptor(key: "due", ascending: false)]
    let first = try StoredQuery(query, limit: 20)
    let sql = """
      SELECT * FROM records WHERE zone = '\(Bench.zone.zone)' AND owner = '' AND type = 'Task'
        ORDER BY json_extract(fields, '$.due.value') DESC, name DESC LIMIT 20
      """
    let bare = try median { _ = try storage.writer.read { try Row.fetchAll($0, sql: sql) } }
    report("the first 20 by date, GRDB alone", bare, "ms")
    report(
      "the first 20 by date, a query",
      try median { _ = try store.records(matching: first) { $0 } },
      "ms",
      atMost: 300
    )
  }

  private func median(_ body: () throws -> Void) rethrows -> Double {
    try (0..<5).map { _ in try time(body) }.sorted()[2].milliseconds
  }
}

extension Date {
  fileprivate var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1000).rounded()) }
}
