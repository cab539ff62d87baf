import Facts
import Foundation
import Testing

@testable import CloudKit
@testable import CloudSync

/// Values of a query that get the types of the fields they are compared with.
@Suite(.serialized) struct PredicateTypingTests {
  private static let types = [
    "t": "TIMESTAMP", "d": "DOUBLE", "n": "INT64", "s": "STRING", "r": "REFERENCE", "b": "BYTES", "p": "LOCATION",
    "secret": "ENCRYPTED_STRING", "photo": "ASSETID", "ns": "INT64_LIST", "ts": "TIMESTAMP_LIST", "ss": "STRING_LIST",
    "rs": "REFERENCE_LIST", "empty": "UNKNOWN_LIST", "odd": "NEW",
  ]

  private static func times(_ text: String) -> Range<Int64>? {
    switch text {
    case "noon": 1000..<1001
    case "day": 1000..<2000
    default: nil
    }
  }

  private func query(_ format: String) throws -> CKQuery {
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: format))
    query.sortDescriptors = [NSSortDescriptor(key: "n", ascending: false)]
    return try query.typed(by: Self.types, times: Self.times)
  }

  /// A predicate and the one that it means with typed values.
  private static let meanings: [(String, String)] = [
    ("t > 'noon'", "t > CAST(1000)"), ("t > 1000", "t > CAST(1000)"), ("t == 1000.0", "t == CAST(1000)"),
    ("1000 < t", "t > CAST(1000)"), ("t < 999.5", "t < CAST(1000)"), ("t IN {'noon', 'noon'}", "t IN CAST{1000, 1000}"),
    ("t < 'day'", "t < CAST(1000)"), ("t <= 'day'", "t < CAST(2000)"), ("t > 'day'", "t >= CAST(2000)"),
    ("t >= 'day'", "t >= CAST(1000)"), ("t == 'day'", "t >= CAST(1000) AND t < CAST(2000)"),
    ("t != 'day'", "t < CAST(1000) OR t >= CAST(2000)"), ("t != nil", "t != nil"),
    ("t BETWEEN {'day', 'noon'}", "t >= CAST(1000) AND t <= CAST(1000)"),
    ("modificationDate > 'noon'", "modificationDate > CAST(1000)"),
    ("creationDate < 1000", "creationDate < CAST(1000)"),
    ("___modTime >= 'day'", "___modTime >= CAST(1000)"), ("ANY ts > 'day'", "ANY ts >= CAST(2000)"),
    ("ts CONTAINS 'noon'", "ts CONTAINS CAST(1000)"), ("d > 1", "d > 1.0"), ("d IN {1, 2}", "d IN {1.0, 2.0}"),
    ("d == -9007199254740992", "d == -9007199254740992.0"), ("n > 1.5", "n >= 2"), ("n >= 1.5", "n >= 2"),
    ("n < -1.5", "n < -1"), ("n <= -1.5", "n < -1"), ("n == 2.0", "n == 2"), ("n IN {1, 2.0}", "n IN {1, 2}"),
    ("n BETWEEN {0.5, 2.5}", "n >= 1 AND n < 3"), ("NOT n > 1.5", "NOT n >= 2"), ("n == YES", "n == 1"),
    ("ANY ns > 1.5", "ANY ns >= 2"), ("NONE ns == 2.0", "NONE ns == 2"), ("ns CONTAINS {1, 2.0}", "ns CONTAINS {1, 2}"),
    ("s == 'x' OR s BEGINSWITH 'y'", "s == 'x' OR s BEGINSWITH 'y'"), ("s CONTAINS[c] 'x'", "s CONTAINS[c] 'x'"),
    ("'x' IN s", "s CONTAINS 'x'"), ("s IN 'xyz'", "s IN 'xyz'"), ("ss CONTAINS 'x'", "ss CONTAINS 'x'"),
    ("ss == {'x'}", "ss == {'x'}"), ("n > d", "n > d"), ("other > '5'", "other > '5'"),
    ("empty CONTAINS 1", "empty CONTAINS 1"), ("ANY ns BETWEEN {1, 2.0}", "ANY ns BETWEEN {1, 2}"),
    ("odd == 1", "odd == 1"), ("SELF CONTAINS 'x'", "SELF CONTAINS 'x'"), ("n IN {}", "n IN {}"),
  ]

  /// A predicate whose `CAST` holds milliseconds since 1970.
  private func expected(_ format: String) -> NSPredicate {
    var (text, arguments): (String, [Any]) = (format, [])
    while let match = text.firstMatch(of: /CAST\((\d+)\)|CAST\{([\d, ]+)\}/) {
      let numbers = (match.1 ?? match.2 ?? "").split(separator: ", ").compactMap { Double($0) }
      let dates = numbers.map { Date(timeIntervalSince1970: $0 / 1000) }
      arguments.append(match.1 == nil ? dates : dates[0])
      text.replaceSubrange(match.range, with: "%@")
    }
    return NSPredicate(format: text, argumentArray: arguments)
  }

  @Test(arguments: meanings) func `a value is compared in the type of its field`(_ format: String, _ meaning: String)
    throws
  {
    let query = try query(format)

    #expect(query.predicate.node == expected(meaning).node)
    #expect(query.recordType == "Note" && query.sortDescriptors?.first?.key == "n")
  }

  @Test func `a name that a reference is compared with becomes a reference`() throws {
    let reference = FieldValue.reference(WireReference(recordName: "x", action: nil))

    #expect(try query("r == 'x'").wire(zoneID: .default).filterBy == [WireFilter(.field("r"), "EQUALS", reference)])
    #expect(
      try query("rs CONTAINS 'x'").wire(zoneID: .default).filterBy
        == [WireFilter(.field("rs"), "LIST_CONTAINS", reference)]
    )
    #expect(
      try query("recordName IN {'x'}").wire(zoneID: .default).filterBy
        == [WireFilter(.system("recordName"), "IN", .list(.reference, [reference]))]
    )
  }

  private static let refusals: [(String, String)] = [
    ("t > 'soon'", "the field is TIMESTAMP; write a time"), ("t == 1000.5", "which no fraction equals"),
    ("t IN {'day'}", "give the time to the millisecond"), ("ANY ts == 'day'", "give the time to the millisecond"),
    ("modificationDate > 'soon'", "the field is TIMESTAMP"), ("n == 1.5", "which no fraction equals"),
    ("n != 1.5", "which no fraction equals"), ("n IN {1, 1.5}", "which no fraction equals"),
    ("n > '5'", "the field is INT64, not STRING"), ("n < 1e300", "beyond its range"),
    ("n > 9223372036854775808.0", "beyond its range"), ("d == 9007199254740993", "does not hold this number exactly"),
    ("d > 'x'", "the field is DOUBLE, not STRING"), ("s == 5", "write the value in quotes"),
    ("s IN {1, 2}", "write the value in quotes"), ("n BEGINSWITH '1'", "the field is INT64, not a text"),
    ("s LIKE 5", "it needs a text in quotes"), ("n CONTAINS 1", "not a list or a text"),
    ("s CONTAINS {'x'}", "it needs a text in quotes"), ("n == {1}", "the field is INT64, not a list"),
    ("ns == 1", "write CONTAINS, or ANY"), ("ns > 1", "write CONTAINS, or ANY"),
    ("ss BEGINSWITH 'x'", "write CONTAINS, or ANY"),
    ("ns IN {1}", "write CONTAINS, or ANY"), ("ANY n == 1", "the field is INT64, not a list"),
    ("ANY ns == 'x'", "the field is a list of INT64, not STRING"), ("b == 'AQ=='", "the field is BYTES, not STRING"),
    ("p == 'x'", "the field is LOCATION, not STRING"), ("photo == 'x'", "the field is ASSETID, not STRING"),
    ("secret == 'x'", "encrypted"), ("n == t", "n is INT64 and the other field is TIMESTAMP"),
    ("n == 1 AND NOT (s == 5 OR n == 2)", "write the value in quotes"), ("n BETWEEN {1}", "it needs two bounds"),
    ("other BETWEEN 5", "it needs two bounds"), ("n BETWEEN nil", "it needs two bounds"),
    ("ANY ns BETWEEN {'x', 'y'}", "the field is a list of INT64, not STRING"),
    ("s MATCHES '(?x)a # b'", "not a regular expression"), ("s MATCHES '('", "not a regular expression"),
  ]

  @Test(arguments: refusals) func `a value that does not fit is refused with the reason`(
    _ format: String,
    _ reason: String
  ) {
    let failure = #expect(throws: CommandFailure.self) { try query(format) }
    #expect(failure?.status == .usage && failure?.message.contains(reason) == true, "\(failure.debugDescription)")
  }
}
