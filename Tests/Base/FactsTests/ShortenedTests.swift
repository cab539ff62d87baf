import Testing

@testable import Facts

/// Reasons and messages in rows of lists.
struct ShortenedTests {
  /// One character of 25 bytes.
  private static let family = "👨‍👩‍👧‍👦"
  /// One character of 601 bytes.
  private static let pile = "e" + String(repeating: "\u{301}", count: 300)

  @Test(arguments: [
    ("", 5, ""), ("four", 5, "four"), ("fives", 5, "fives"), ("sixsix", 5, "sixs…"), ("sixsix", 1, "…"),
    ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"), ("日本語です", 3, "日本…"), ("🇵🇹🇩🇪🇫🇷", 2, "🇵🇹…"),
    ("a\r\nb", 2, "a…"), ("a" + family + "b", 2, "a…"), ("a" + family + "b", 3, "a" + family + "b"),
    (pile, 5, "…"), ("ab" + pile, 5, "ab…"), (pile, 40, pile),
  ])
  func `a long text ends with an ellipsis between two characters`(text: String, limit: Int, expected: String) {
    #expect(text.shortened(to: limit) == expected)
    #expect(text.shortened(to: limit).count <= limit)
  }

  @Test func `a cause of a list names ten operations, and is whole where it is short`() {
    let ids = Array(Int64(1)...1000)

    #expect(Cause.waitsFor(ids, isGroup: true).listed == .waitsFor(Array(1...10), isGroup: true, hasMore: true))
    #expect(Cause.waitsFor([1, 2], isGroup: false).listed == .waitsFor([1, 2], isGroup: false))
    #expect(Cause.failed(.refusedByApp("no")).listed == .failed(.refusedByApp("no")))
  }

  @Test(arguments: [
    Cause.failed(.rejected(code: "BAD_REQUEST", message: String(repeating: "no ", count: 100_000))),
    .conflict(.fields((0..<1000).map { "field\($0)" + String(repeating: "x", count: 200) })),
    .checkWaits(.zone(String(repeating: "z", count: 255)), code: "THROTTLED"),
    .waitsFor((0..<20).map { Int64.max - $0 }, isGroup: false),
  ])
  func `a cause of a list has at most 200 characters and stays unconfirmed`(cause: Cause) {
    #expect(cause.text.count > 200)
    #expect(cause.listed.text == cause.listed.brief)
    #expect(cause.listed.text.count == 200)
    #expect(cause.listed.isUnconfirmed == cause.isUnconfirmed)
  }
}
