import Testing

@testable import CloudSync

@Suite(.serialized) struct FilterParsingTests {
  private static let columns =
    "state, type, zone, owner, name, operation, error, attempts, age, message, payload and fields.NAME"

  private static let meanings: [(String, String, [FilterValue])] = [
    ("state = 'failed'", "(state = ?)", [.text("failed")]),
    ("STATE == 'failed'", "(state = ?)", [.text("failed")]),
    ("type <> 'Task'", "(type != ?)", [.text("Task")]),
    ("type != 'O''Neill'", "(type != ?)", [.text("O'Neill")]),
    ("error = 'NETWORK_ERROR'", "(errorCode = ?)", [.text("NETWORK_ERROR")]),
    ("message like '%quota%'", "(errorMessage LIKE ?)", [.text("%quota%")]),
    ("message like '%qu_ta%'", "(errorMessage LIKE ?)", [.text("%qu_ta%")]),
    ("name not like 'abc%'", "(NOT (name LIKE ?))", [.text("abc%")]),
    ("zone like 'abc%'", "(zone LIKE ?)", [.text("abc%")]),
    ("owner = '_ben'", "(nullif(owner, '') = ?)", [.text("_ben")]),
    ("owner is null", "(nullif(owner, '') IS NULL)", []),
    (
      "payload like '%Lisbon%'",
      "(CASE WHEN changes LIKE '%encrypted%' THEN readableChange(changes) ELSE changes END LIKE ?)",
      [.text("%Lisbon%")]
    ),
    (
      "fields.City = 'Lisbon'",
      "((coalesce(changes, '') LIKE ? AND coalesce(changes, '') LIKE ? AND changeHolds(changes, ?)))",
      [.text("%city%"), .text("%Lisbon%"), .text(#"["fields.city","=","Lisbon"]"#)]
    ),
    ("not FIELDS.n2 in (5, 'x')", "(NOT ((changeHolds(changes, ?))))", [.text(#"["fields.n2","in","5","x"]"#)]),
    ("fields.n2 is null", "((changeHolds(changes, ?)))", [.text(#"["fields.n2","null"]"#)]),
    ("message NOT LIKE ''", "(NOT (errorMessage LIKE ?))", [.text("")]),
    ("attempts >= -3", "(attempts >= ?)", [.integer(-3)]),
    ("name is null", "(name IS NULL)", []),
    ("name Is Not Null", "(NOT (name IS NULL))", []),
    ("operation in ('save','zoneDelete')", "(operation IN (?, ?))", [.text("save"), .text("zoneDelete")]),
    ("attempts not in (1, 2)", "(NOT (attempts IN (?, ?)))", [.integer(1), .integer(2)]),
    ("age > 1h", "(enqueuedAt < ?)", [.integer(10_000_000 - 3_600_000)]),
    ("age >= 90S", "(enqueuedAt <= ?)", [.integer(10_000_000 - 90_000)]),
    ("age < 5m", "(enqueuedAt > ?)", [.integer(10_000_000 - 300_000)]),
    ("age <= 2d", "(enqueuedAt >= ?)", [.integer(10_000_000 - 172_800_000)]),
    ("age != 0s", "(enqueuedAt != ?)", [.integer(10_000_000)]),
    ("age in (1s, 2s)", "(enqueuedAt IN (?, ?))", [.integer(9_999_000), .integer(9_998_000)]),
    ("not state='paused'", "(NOT (state = ?))", [.text("paused")]),
    (
      "zone = 'a' or zone = 'b' and not (name = 'c' or name = 'd')",
      "((zone = ?) OR ((zone = ?) AND (NOT ((name = ?) OR (name = ?)))))",
      [.text("a"), .text("b"), .text("c"), .text("d")]
    ),
    ("\n\t( ( name='x' ) )\r\n", "(name = ?)", [.text("x")]),
  ]

  private static let mistakes: [(String, Int, String)] = [
    ("", 1, "the expression is empty; write for example state = 'failed'"),
    ("   ", 4, "the expression is empty; write for example state = 'failed'"),
    ("stat = 'failed'", 1, "there is no column 'stat'; the columns are \(columns)"),
    ("fields. = 'a'", 1, "there is no column 'fields.'; the columns are \(columns)"),
    ("field.x = 'a'", 6, "this character has no meaning here"),
    ("state = 'faild'", 9, "there is no state 'faild'; known are pending, inFlight, waiting, failed, paused, conflict"),
    (
      "state in ('failed', 'x')", 21,
      "there is no state 'x'; known are pending, inFlight, waiting, failed, paused, conflict"
    ),
    ("operation = 'put'", 13, "there is no operation 'put'; known are save, delete, zoneSave, zoneDelete"),
    ("state = failed", 9, "text goes in single quotes: 'failed'"),
    ("state = \"failed\"", 9, "text goes in single quotes: 'like this'"),
    ("state = 3", 9, "state compares with a text in single quotes"),
    ("attempts > 'three'", 12, "attempts compares with a whole number"),
    ("attempts > 5m", 12, "attempts compares with a whole number"),
    ("attempts > 2.5", 12, "numbers here are whole; write 90m for 1.5h, and '1.5' for a field's value"),
    ("attempts > 99999999999999999999", 12, "this number is too large"),
    ("attempts > -", 12, "a - stands only before a number"),
    ("age > 5", 7, "an age needs a unit: 90s, 5m, 1h, 2d"),
    ("age > '5m'", 7, "age compares with an age such as 90s, 5m, 1h, 2d"),
    ("age > 5w", 7, "5w is neither a number nor an age; ages are written 90s, 5m, 1h, 2d"),
    ("age > 1h30m", 7, "1h30m is neither a number nor an age; ages are written 90s, 5m, 1h, 2d"),
    ("age > -5m", 7, "an age is not negative"),
    ("age > 9223372036854775807d", 7, "this age is too large"),
    ("attempts like '%1%'", 10, "like compares text, and attempts is a number; use = != < <= > >="),
    ("age not like '1'", 9, "like compares text, and age is a number; use = != < <= > >="),
    ("message like 5", 14, "like takes a text in single quotes: message like '%quota%'"),
    ("name = null", 8, "nothing compares with null; write name is null or name is not null"),
    ("name in ('a', null)", 15, "nothing compares with null; write name is null or name is not null"),
    ("name in ()", 10, "name compares with a text in single quotes"),
    ("name in 'a'", 9, "expected ( and a list after 'in'"),
    ("name in ('a' 'b')", 14, "expected , or ) in the list"),
    ("name is 'a'", 9, "expected null or not null"),
    ("name is not 'a'", 13, "expected null"),
    ("name not = 'a'", 10, "expected 'in' or 'like' after 'not'"),
    ("name", 5, "expected one of = != < <= > >= like in is after name"),
    ("name =", 7, "the expression ends where a text in single quotes is expected"),
    ("name = 'a' and", 15, "the expression ends where a column is expected: \(columns)"),
    ("and name = 'a'", 1, "expected a column before 'and': \(columns)"),
    ("'failed' = state", 1, "expected a column here: \(columns)"),
    ("name = 'a' name = 'b'", 12, "expected 'and', 'or' or the end of the expression"),
    ("(name = 'a'", 1, "this ( is never closed"),
    ("(name = 'a' name", 13, "expected 'and', 'or' or )"),
    ("name = 'a')", 11, "this ) closes nothing"),
    ("name = 'abc", 8, "this text has no closing quote; write '' for a quote inside it"),
    ("name = 'a''", 8, "this text has no closing quote; write '' for a quote inside it"),
    ("name = 'a\0b'", 10, "a text holds no NUL character"),
    ("name ! 'a'", 6, "a single ! means nothing; write != or not"),
    ("name = 'a'; drop table operations", 11, "this character has no meaning here"),
    ("name = 'a' -- and", 12, "a - stands only before a number"),
    ("né = 'a'", 1, "there is no column 'né'; the columns are \(columns)"),
  ]

  @Test(arguments: meanings)
  func `an expression becomes SQL with every value bound`(
    _ expression: String,
    _ sql: String,
    _ arguments: [FilterValue]
  ) throws {
    let rendered = try QueueFilter(parsing: expression).sql(now: 10_000_000)

    #expect(rendered.sql == sql)
    #expect(rendered.arguments == arguments)
  }

  @Test(arguments: mistakes)
  func `a wrong expression says what is wrong and where`(_ expression: String, _ column: Int, _ message: String) {
    let error = #expect(throws: FilterError.self) { try QueueFilter(parsing: expression) }

    #expect(error?.message == message)
    #expect(error?.column == column)
    #expect(error?.description == "\(message) (column \(column))")
  }

  @Test func `a combining mark does not hide a closing quote`() throws {
    let filter = try QueueFilter(parsing: "name = 'a'\u{20}or name = 'b\u{301}'")

    #expect(filter.sql(now: 0).arguments == [.text("a"), .text("b\u{301}")])
    #expect(throws: FilterError.self) { try QueueFilter(parsing: "name = 'a'\u{301}") }
  }

  @Test func `nesting and length are bounded`() throws {
    _ = try QueueFilter(parsing: String(repeating: "(", count: 11) + "name is null" + String(repeating: ")", count: 11))
    for opening in ["(", "not ", "not ("] {
      let error = #expect(throws: FilterError.self) {
        try QueueFilter(parsing: String(repeating: opening, count: 100_000) + "name is null")
      }
      #expect(error?.message == "the expression is nested more than 12 deep")
    }
    let chain = Array(repeating: "name is null", count: 401).joined(separator: " or ")
    #expect(throws: FilterError.self) { try QueueFilter(parsing: chain) }
    let list = Array(repeating: "1", count: 10_001).joined(separator: ",")
    #expect(throws: FilterError.self) { try QueueFilter(parsing: "attempts in (\(list))") }
    let pattern = String(repeating: "%", count: 10_001)
    #expect(throws: FilterError.self) { try QueueFilter(parsing: "name like '\(pattern)'") }
  }
}
