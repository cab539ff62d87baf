import Testing

@testable import Facts

@Suite(.serialized) struct RFC3339Tests {
  private static let times: [(Int64, String)] = [
    (0, "1970-01-01T00:00:00.000Z"),
    (-1, "1969-12-31T23:59:59.999Z"),
    (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (1_767_225_600_123, "2026-01-01T00:00:00.123Z"),
    (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
    (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
  ]

  @Test(arguments: times) func `milliseconds and text turn into each other`(_ milliseconds: Int64, _ text: String) {
    #expect(RFC3339.text(milliseconds: milliseconds) == text)
    #expect(RFC3339.milliseconds(text) == milliseconds)
  }

  @Test func `every day of four centuries survives the way there and back`() {
    for day in Int64(-60_000)...90_000 {
      let milliseconds = day * 86_400_000 + 43_200_001
      #expect(RFC3339.text(milliseconds: milliseconds).flatMap(RFC3339.milliseconds) == milliseconds)
    }
  }

  @Test(arguments: [Int64.min, -62_167_219_200_001, 253_402_300_800_000, .max])
  func `a time outside the calendar has no text`(_ milliseconds: Int64) {
    #expect(RFC3339.text(milliseconds: milliseconds) == nil)
  }

  private static let lenient: [(String, Int64)] = [
    ("1970-01-01t00:00:00z", 0), ("1970-01-01 00:00:00Z", 0), ("1970-01-01T00:00:00.5Z", 500),
    ("1970-01-01T00:00:00.1239999Z", 123), ("1970-01-01T02:00:00+02:00", 0), ("1969-12-31T18:30:00-05:30", 0),
    ("1990-12-31T23:59:60Z", 662_688_000_000),
  ]

  @Test(arguments: lenient) func `the forms that RFC 3339 allows are read`(_ text: String, _ milliseconds: Int64) {
    #expect(RFC3339.milliseconds(text) == milliseconds)
  }

  @Test(arguments: [
    "", "1970-01-01", "1970-01-01T00:00:00", "1970-13-01T00:00:00Z", "1970-02-29T00:00:00Z", "1970-00-01T00:00:00Z",
    "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00:00:61Z", "1970-01-01T00:00:00.Z",
    "1970-01-01T00:00:00+0100", "1970-01-01T00:00:00Z ", "١٩٧٠-01-01T00:00:00Z", "1970-1-1T0:0:0Z",
  ])
  func `anything else is no time`(_ text: String) {
    #expect(RFC3339.milliseconds(text) == nil)
  }
}
