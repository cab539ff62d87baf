import GRDB
import Testing

@testable import CloudSync

/// The SQL and the pure evaluation are two spellings of one meaning: every expression picks the same rows by both.
@Suite(.serialized) struct FilterAgreementTests {
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

  private static let atoms: [String] = {
    var atoms: [String] = []
    let comparisons = ["=", "!=", "<", "<=", ">", ">="]
    for text in ["Task", "", "é", "TÄSK", "🙂", "zzz"] {
      for column in ["type", "zone", "name", "message", "payload"] {
        atoms += comparisons.map { "\(column) \($0) '\(text)'" }
        atoms += ["\(column) in ('\(text)', 'task')", "\(column) not in ('\(text)')"]
      }
    }
    for pattern in [
      "", "%", "_", "%%", "t%", "%K", "t_sk", "T__K", "%%a%_%b%", "50%", "a_b", "täsk", "tÄsk", "_\u{301}",
      "%tas%", "quota t%", "%UOTA_TÄ%", "tÄs%", "%a\nb", "%ota \"%",
    ] {
      for column in ["type", "name", "message", "error", "payload"] {
        atoms += ["\(column) like '\(pattern)'", "\(column) not like '\(pattern)'"]
      }
    }
    for state in ["pending", "failed"] { atoms += comparisons.map { "state \($0) '\(state)'" } }
    atoms += ["state like 'p%'", "state in ('paused', 'conflict')", "operation in ('save')", "operation != 'zoneSave'"]
    for age in ["0s", "1m", "60s", "1h", "25h", "9000000000000s"] { atoms += comparisons.map { "age \($0) \(age)" } }
    for number in ["0", "-1", "3", "9223372036854775807"] { atoms += comparisons.map { "attempts \($0) \(number)" } }
    atoms += ["age in (60s, 1h)", "attempts not in (1, 2, 3)", "age is null", "attempts is not null"]
    atoms += ["type", "name", "error", "message", "zone"].flatMap { ["\($0) is null", "\($0) is not null"] }
    return atoms
  }()

  @Test func `SQLite and the evaluator pick the same rows`() throws {
    let database = try Self.database()
    var expressions = Self.atoms
    // Every third neighbour in every combination: enough to meet null on either side of each connective.
    for (index, atom) in Self.atoms.enumerated() {
      let other = Self.atoms[(index * 37 + 11) % Self.atoms.count]
      expressions += ["not \(atom)", "\(atom) and \(other)", "\(atom) or \(other)"]
      expressions += ["not (\(atom) or not (\(other) and \(atom)))", "not (\(atom) and \(other)) or type is null"]
    }

    for expression in expressions {
      let filter = try QueueFilter(parsing: expression)
      let expected = Self.rows.indices.filter { filter.matches(Self.rows[$0], now: Self.now) }
      #expect(try Self.select(filter, database) == expected, "\(expression)")
    }
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
      let expected = Self.rows.indices.filter { filter.matches(Self.rows[$0], now: Self.now) }
      #expect(try Self.select(filter, database) == expected)
    }
  }

  @Test(.timeLimit(.minutes(15))) func `a pattern of many wildcards does not take forever`() {
    let pattern = LikePattern(String(repeating: "%a", count: 2000) + "b")

    #expect(!pattern.matches(String(repeating: "a", count: 20_000)))
  }

  private static func database() throws -> DatabaseQueue {
    let queue = try DatabaseQueue()
    try queue.write { database in
      try database.execute(
        sql: """
          CREATE TABLE operations (id INTEGER PRIMARY KEY, state TEXT NOT NULL, type TEXT, zone TEXT NOT NULL, name TEXT,
            operation TEXT NOT NULL, errorCode TEXT, errorMessage TEXT, attempts INTEGER NOT NULL,
            enqueuedAt INTEGER NOT NULL, changes TEXT NOT NULL) STRICT;
          \(Schema.texts)
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

  private static func select(_ filter: QueueFilter, _ queue: DatabaseQueue) throws -> [Int] {
    let (sql, arguments) = filter.sql(now: now)
    let values = arguments.map { argument -> DatabaseValue in
      switch argument {
      case .text(let text): text.databaseValue
      case .integer(let number): number.databaseValue
      }
    }
    return try queue.read { database in
      try Int.fetchAll(
        database,
        sql: "SELECT id FROM operations WHERE attempts < 100 AND (state = 'x' OR \(sql)) ORDER BY id",
        arguments: StatementArguments(values)
      )
    }
  }
}
