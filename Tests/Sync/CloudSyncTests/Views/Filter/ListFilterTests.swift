import Testing

@testable import CloudSync

/// What a text that a person typed means to a list.
struct ListFilterTests {
  enum Meaning: Hashable {
    case none, expression
    case words([String])
    case error(column: Int)
  }

  private static func meaning(_ text: String, of table: FilterTable?) -> Meaning {
    switch ListFilter.parse(text, of: table) {
    case .success(.none): .none
    case .success(.words(let words)): .words(words)
    case .success(.expression(let filter, let typed)):
      typed == text && (try? QueueFilter(parsing: text, of: table ?? .queue)) == filter ? .expression : .none
    case .failure(let error): .error(column: error.column)
    }
  }

  @Test(
    arguments: [
      ("", .none), ("  \t", .none), ("state = 'failed'", .expression), ("STATE = 'retrying'", .expression),
      ("not (type = 'Task') and age > 1h", .expression), ("error is null", .expression),
      ("state = 'fai", .error(column: 9)), ("state = ", .error(column: 9)), ("colour = 'red'", .error(column: 1)),
      ("a<b", .error(column: 1)), ("x >= y", .error(column: 1)), ("name != t1", .error(column: 9)),
      ("name like buy", .error(column: 11)), ("Type IN milk", .error(column: 9)), ("error is on", .error(column: 10)),
      ("zone not here", .error(column: 10)), ("state", .words(["state"])),
      ("milk is white", .words(["milk", "is", "white"])),
      ("state or zone", .words(["state", "or", "zone"])), ("Buy  milk", .words(["Buy", "milk"])),
      ("failed!", .words(["failed!"])), ("it's", .words(["it's"])), ("in zone notes", .words(["in", "zone", "notes"])),
    ] as [(String, Meaning)]
  )
  func `a text is an expression, words, or an error in an expression`(_ text: String, _ meaning: Meaning) {
    #expect(Self.meaning(text, of: .queue) == meaning)
  }

  @Test(
    arguments: [
      ("", .none), ("Buy milk", .words(["Buy", "milk"])), ("milk is white", .words(["milk", "is", "white"])),
      ("title=Buy", .expression), ("state = 'failed'", .expression), (#"title="Buy milk""#, .expression),
      ("type = Row and v > 100", .expression), ("not (count >= 5) or a != b", .expression),
      ("name like b14%", .expression), ("v = -1.5e3", .expression), ("v in (1, 'two', \"three\")", .expression),
      ("changed>2026-11-25T14:30", .expression), ("title is not null and count<5", .expression),
      ("due = 2026-11 and changed >= '2026-11-25T14:30:00+01:00'", .expression),
      ("changed>yesterday", .error(column: 9)), ("title=Buy milk", .error(column: 11)), ("v >", .error(column: 4)),
      ("v > 1 v < 2", .error(column: 7)), ("title='Buy", .error(column: 7)), ("Buy count>5", .error(column: 5)),
      ("title = null", .error(column: 9)), ("name like 'b14*'", .error(column: 11)), ("v in (", .error(column: 7)),
      ("I like milk", .words(["I", "like", "milk"])), ("it's 'here'", .words(["it's", "'here'"])),
      ("a -> b", .words(["a", "->", "b"])), ("https://x.org/?id=5", .words(["https://x.org/?id=5"])),
      ("Ana <ana@example.org>", .error(column: 21)), ("'Ana <ana@example.org>'", .words(["Ana <ana@example.org>"])),
      ("= b", .words(["=", "b"])), ("wow ! now", .words(["wow", "!", "now"])), ("2026-11-25", .words(["2026-11-25"])),
    ] as [(String, Meaning)]
  )
  func `records are found by words, or by an expression over their fields, where quotes are optional`(
    _ text: String,
    _ meaning: Meaning
  ) { #expect(Self.meaning(text, of: .records) == meaning) }

  @Test func `expressions of events name the columns of events`() {
    #expect(Self.meaning("kind = 'error'", of: .events) == .expression)
    #expect(Self.meaning("state = 'failed'", of: .events) == .error(column: 1))
  }

  @Test func `more words than SQLite takes are refused`() {
    #expect(Self.meaning(Array(repeating: "x", count: 101).joined(separator: " "), of: nil) == .error(column: 1))
    #expect(Self.meaning(String(repeating: "x", count: 10_001), of: .queue) == .error(column: 1))
  }
}
