import GRDB
import Testing

@testable import CloudSync

/// The rows that filter expressions pick in SQLite.
@Suite(.serialized) struct FilterSelectionTests {
  private struct FilterRow {
    var state: String
    var type: String?
    var zone: String
    var name: String?
    var operation: String
    var error: String?
    var message: String?
    var attempts: Int64
    var enqueuedAt: Int64
    var payload: String
  }

  private static let now: Int64 = 1_000_000_000

  private static let rows: [FilterRow] = {
    let texts: [String?] = [nil, "", "Task", "task", "TÄSK", "täsk", "e\u{301}", "é", "50%", "a_b", "axb", "🙂", "a\nb"]
    let states = ["pending", "inFlight", "waiting", "failed", "paused", "conflict"]
    let operations = ["save", "delete", "zoneSave", "zoneDelete"]
    let ages: [Int64] = [0, 1, 59_999, 60_000, 60_001, 3_600_000, 90_000_000, -5000]
    return (0..<156).map { index in
      FilterRow(
        state: states[index % states.count],
        type: texts[index % texts.count],
        zone: texts[(index / 2) % texts.count] ?? "_defaultZone",
        name: texts[(index / 3) % texts.count],
        operation: operations[index % operations.count],
        error: index % 5 == 0 ? nil : index % 5 == 1 ? "QUOTA_EXCEEDED" : "NETWORK_ERROR",
        message: texts[(index / 5) % texts.count].map { "quota \($0)" },
        attempts: Int64(index % 7) - 1,
        enqueuedAt: now - ages[index % ages.count],
        payload: #"{"title":"\#(texts[(index / 7) % texts.count] ?? "")"}"#
      )
    }
  }()

  /// Each expression with a condition on rows that means the same.
  private static let meanings: [(String, @Sendable (FilterRow) -> Bool)] = [
    ("state = 'failed'", { $0.state == "failed" }),
    ("state in ('paused', 'conflict')", { ["paused", "conflict"].contains($0.state) }),
    ("type = 'Task'", { $0.type == "Task" }),
    ("type != 'Task'", { $0.type != nil && $0.type != "Task" }),
    (
      "type > 'Task'",
      { $0.type.map { Array($0.utf8).lexicographicallyPrecedes(Array("Task".utf8)) || $0 == "Task" } == false }
    ),
    ("type is null", { $0.type == nil }),
    ("not type is null", { $0.type != nil }),
    ("not (type = 'Task' or type is null)", { $0.type != nil && $0.type != "Task" }),
    ("type like 't%'", { $0.type?.lowercased().hasPrefix("t") ?? false }),
    ("type like 'a_b'", { ["a_b", "axb", "a\nb"].contains($0.type) }),
    ("type not like 't%'", { $0.type.map { !$0.lowercased().hasPrefix("t") } ?? false }),
    ("zone = 'é'", { Array($0.zone.utf8) == Array("é".utf8) }),
    ("zone = ''", { $0.zone.isEmpty }),
    ("name in ('', 'task')", { ["", "task"].contains($0.name) }),
    ("name not in ('')", { $0.name != nil && $0.name != "" }),
    ("operation != 'zoneSave'", { $0.operation != "zoneSave" }),
    ("error = 'QUOTA_EXCEEDED'", { $0.error == "QUOTA_EXCEEDED" }),
    ("error is not null", { $0.error != nil }),
    ("message like '%QUOTA T%'", { $0.message?.lowercased().contains("quota t") ?? false }),
    ("attempts >= 3 and attempts < 5", { (3..<5).contains($0.attempts) }),
    ("attempts in (1, 2)", { [1, 2].contains($0.attempts) }),
    ("attempts = -1 or state = 'paused'", { $0.attempts == -1 || $0.state == "paused" }),
    ("operation = 'create zone'", { $0.operation == "zoneSave" }),
    ("operation in ('delete zone', 'zoneSave')", { ["zoneDelete", "zoneSave"].contains($0.operation) }),
    ("state in ('sending', 'retrying')", { ["inFlight", "waiting"].contains($0.state) }),
    ("age > 1m", { now - $0.enqueuedAt > 60_000 }),
    ("age <= 60s", { now - $0.enqueuedAt <= 60_000 }),
    ("age = 1h", { now - $0.enqueuedAt == 3_600_000 }),
    ("age < 9000000000000s", { _ in true }),
    ("payload like '%\"task\"%'", { $0.payload.lowercased().contains(#""task""#) }),
    ("payload = '{\"title\":\"Task\"}'", { $0.payload == #"{"title":"Task"}"# }),
  ]

  @Test(arguments: meanings.indices) func `an expression picks the rows that it means`(index: Int) throws {
    let (expression, meaning) = Self.meanings[index]

    let picked = try Self.select(QueueFilter(parsing: expression), Self.database())

    #expect(picked == Self.rows.indices.filter { meaning(Self.rows[$0]) }, "\(expression)")
    #expect(!picked.isEmpty, "\(expression)")
  }

  @Test(arguments: meanings.indices) func `the index that is chosen changes nothing about the rows`(index: Int) throws {
    let (expression, meaning) = Self.meanings[index]
    let both = try QueueFilter(parsing: "(\(expression)) and state = 'failed'")
    let expected = Self.rows.indices.filter { meaning(Self.rows[$0]) && Self.rows[$0].state == "failed" }

    #expect(both.finders.count >= 1)
    for finder in both.finders { #expect(try Self.select(both, Self.database(), finder) == expected, "\(expression)") }
  }

  @Test func `an index finds rows only by what all of them meet`() throws {
    func finders(_ text: String) throws -> Int { try QueueFilter(parsing: text).finders.count }

    #expect(try finders("name = 'a'") == 1 && finders("zone in ('a', 'b')") == 1)
    #expect(try finders("name = 'a' and (zone = 'b' and type = 'c') and age > 1h") == 3)
    #expect(try finders("name = 'a' or zone = 'b'") == 0 && finders("not name = 'a'") == 0)
    #expect(try finders("name != 'a' and attempts = 1 and message = 'x' and type is null") == 0)
    #expect(try finders("state = 'failed' and (name = 'a' or zone = 'b') and error = 'X' and operation = 'save'") == 3)
  }

  @Test func `the largest expressions are within SQLite's bounds`() throws {
    let database = try Self.database()
    let chain = Array(repeating: "name is null", count: 390).joined(separator: " or ")
    let deep = ["(", "name is null or zone = 'a' and (", "zone = 'a' and name is null or zone = 'a' and ("].map {
      String(repeating: $0, count: 11) + "name is null" + String(repeating: ")", count: 11)
    }
    let negated = String(repeating: "name = 'a' or zone = 'a' and not (", count: 5) + chain + ")))))"
    let list = (0..<10_000).map(String.init).joined(separator: ",")
    let pattern = String(repeating: "%a", count: 5000)

    for expression in deep + [chain, negated, "attempts in (\(list))", "name like '\(pattern)'"] {
      let filter = try QueueFilter(parsing: expression)
      #expect(throws: Never.self) { try Self.select(filter, database) }
    }
  }

  private static func database() throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.prepareDatabase { database in
      for function in ChangeCondition.functions { database.add(function: function) }
    }
    let queue = try DatabaseQueue(configuration: configuration)
    try queue.write { database in
      try database.execute(
        sql: """
          CREATE TABLE operations (id INTEGER PRIMARY KEY, state TEXT NOT NULL, type TEXT, zone TEXT NOT NULL, name TEXT,
            operation TEXT NOT NULL, errorCode TEXT, errorMessage TEXT, attempts INTEGER NOT NULL,
            enqueuedAt INTEGER NOT NULL, changes TEXT NOT NULL) STRICT;
          """
      )
      for (index, row) in rows.enumerated() {
        try database.execute(
          sql: "INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
          arguments: [
            index, row.state, row.type, row.zone, row.name, row.operation, row.error, row.message, row.attempts,
            row.enqueuedAt, row.payload,
          ]
        )
      }
    }
    return queue
  }

  private static func select(_ filter: QueueFilter, _ queue: DatabaseQueue, _ finder: QueueFilter? = nil) throws
    -> [Int]
  {
    let (sql, arguments) = filter.sql(now: now, finder: finder)
    return try queue.read { database in
      try Int.fetchAll(
        database,
        sql: "SELECT id FROM operations WHERE attempts < 100 AND (state = 'x' OR \(sql)) ORDER BY id",
        arguments: StatementArguments(arguments)
      )
    }
  }
}
