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
      ("", .none), ("title=Buy milk", .words(["title=Buy", "milk"])),
      ("state = 'failed'", .words(["state=failed"])), ("title = 'Buy milk' now", .words(["title=Buy milk", "now"])),
      ("count >= 5 a != b", .words(["count>=5", "a!=b"])), ("it's 'here'", .words(["it's", "'here'"])),
      ("wow ! now", .words(["wow", "!", "now"])), ("title='Buy", .words(["title=Buy"])), ("= b", .words(["=", "b"])),
      (#"title="Buy milk""#, .words(["title=Buy milk"])), ("count <5", .words(["count<5"])),
      ("changed>yesterday", .error(column: 1)), ("changed>2026-11-25T14:30", .words(["changed>2026-11-25T14:30"])),
      ("Ana <ana@example.org>", .words(["Ana", "<ana@example.org>"])), ("a -> b", .words(["a", "->", "b"])),
    ] as [(String, Meaning)]
  )
  func `records are found by words, and by comparisons with or without spaces`(_ text: String, _ meaning: Meaning) {
    #expect(Self.meaning(text, of: nil) == meaning)
  }

  @Test func `expressions of events name the columns of events`() {
    #expect(Self.meaning("kind = 'error'", of: .events) == .expression)
    #expect(Self.meaning("state = 'failed'", of: .events) == .error(column: 1))
  }

  @Test func `more words than SQLite takes are refused`() {
    #expect(Self.meaning(Array(repeating: "x", count: 101).joined(separator: " "), of: nil) == .error(column: 1))
    #expect(Self.meaning(String(repeating: "x", count: 10_001), of: .queue) == .error(column: 1))
  }
}
