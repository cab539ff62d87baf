import Foundation
import Testing

@testable import CloudKit

@Suite(.serialized) struct GrammarTests {
  private func value(_ format: String, _ arguments: Any...) -> FieldValue? {
    guard case .comparison(let comparison) = PredicateParser.node(format: format, arguments: arguments),
      case .value(let value) = comparison.right
    else { return nil }
    return value
  }

  @Test func `literals are read as Apple's grammar has them`() {
    let table: [(String, FieldValue)] = [
      ("0x1F", .int64(31)), ("-0x10", .int64(-16)), ("0o17", .int64(15)), ("0b101", .int64(5)),
      ("1e3", .double(1000)), ("-1.5E-1", .double(-0.15)), (".5", .double(0.5)), ("-.5", .double(-0.5)),
      ("9223372036854775807", .int64(.max)), ("-9223372036854775808", .int64(.min)), ("007", .int64(7)),
      ("yes", .int64(1)), ("False", .int64(0)), ("NO", .int64(0)), ("%%", .string("%")),
      (#"'it\'s'"#, .string("it's")), (#""say \"hi\"\n\\""#, .string("say \"hi\"\n\\")),
      (#"'\u00e9\x41\t'"#, .string("éA\t")), ("'%@ %K 100%'", .string("%@ %K 100%")), ("\"\"", .string("")),
      ("'e\u{301}'", .string("e\u{301}")), ("'\u{301}a'", .string("\u{301}a")),
      ("{'a', \"b\"}", .list(.string, [.string("a"), .string("b")])), ("{ }", .list(.unknown, [])),
      ("CAST(1.5, 'NSDate')", .timestamp(978_307_201_500)),
    ]
    for (literal, expected) in table {
      #expect(value("a == " + literal) == expected, "\(literal)")
    }
  }

  @Test func `every placeholder takes its argument`() {
    for specifier in ["%d", "%i", "%ld", "%li", "%lld", "%u", "%lu", "%llu", "%hd", "%x", "%qi", "%zd", "%c"] {
      #expect(value("a == \(specifier)", 65) == .int64(65))
      #expect(value("a == \(specifier)", UInt8(65)) == .int64(65))
      #expect(value("a == \(specifier)", NSNumber(value: 65)) == .int64(65))
    }
    for specifier in ["%f", "%lf", "%g", "%e", "%Lf"] {
      #expect(value("a == \(specifier)", 1.5) == .double(1.5))
      #expect(value("a == \(specifier)", Float(1.5)) == .double(1.5))
      #expect(value("a == \(specifier)", 2) == .double(2))
    }
    "text".withCString { #expect(value("a == %s", $0) == .string("text")) }
    let optional: String? = "x"
    #expect(value("a == %@", optional as Any) == .string("x"))
    #expect(value("a == %@", UInt64(7)) == .int64(7))
    #expect(value("a == %@", Decimal(1.5)) == .double(1.5))
    #expect(value("a == %@", "abc".prefix(2)) == .string("ab"))
    #expect(value("a == %@", NSString(string: "x")) == .string("x"))
    #expect(value("a IN %@", NSOrderedSet(array: [1])) == .list(.int64, [.int64(1)]))
    let id = UUID()
    #expect(value("a == %@", id) == .string(id.uuidString))
  }

  @Test func `arguments may be handed on as CVarArg, as code for Apple's systems does`() throws {
    func predicate(_ value: any CVarArg) -> NSPredicate { NSPredicate(format: "%K == %@", "a", value) }
    let date = Date(timeIntervalSince1970: 1)

    for (argument, expected) in [
      (date as any CVarArg, FieldValue.timestamp(1000)), (date as NSDate, .timestamp(1000)),
      (NSNumber(value: 2), .int64(2)), (Data([1]) as any CVarArg, .bytes(Data([1]))),
      ("x" as any CVarArg, .string("x")),
      (true, .int64(1)), (Float(0.5), .double(0.5)),
      (CKRecord.ID(recordName: "x"), .reference(WireReference(recordName: "x", action: nil))),
    ] {
      #expect(try filters(predicate(argument)).map(\.value) == [expected])
    }
  }

  @Test(arguments: ["in", "first", "size", "end", "between", "and", "or", "like", "any", "not", "contains", "ALL"])
  func `a field may be called like a keyword, escaped or before a sign`(name: String) throws {
    let expected = [WireFilter(.field(name), "EQUALS", .string("OR x"))]

    #expect(try filters(NSPredicate(format: "%K == %@", name, "OR x")) == expected)
    #expect(try filters(NSPredicate(format: "#\(name) == %@", "OR x")) == expected)
    #expect(try filters(NSPredicate(format: "\(name) == %@", "OR x")) == expected)
    #expect(
      try filters(NSPredicate(format: "(\(name) == %@) AND \(name) == %@", "OR x", "OR x")) == expected + expected
    )
  }

  @Test(arguments: ["TRUEPREDICATE", "SELF", "nil", "YES", "CAST", "allTokens"])
  func `a field may be called like a constant, escaped`(name: String) throws {
    let expected = [WireFilter(.field(name), "EQUALS", .int64(1))]

    #expect(try filters(NSPredicate(format: "%K == 1", name)) == expected)
    #expect(try filters(NSPredicate(format: "#\(name) == 1")) == expected)
  }

  @Test(arguments: [
    "a == 1 OR b", "a'", "a\"", "a b", "", "1a", "_a", "a) OR (b", "ä", "a\nb", "TRUEPREDICATE OR a", "a.b", "%@", "#a",
    "a\u{0}", "a\u{301}", "recordID.x", "\u{202E}a", "tags.@count",
  ])
  func `a field name never breaks out of its place`(name: String) {
    #expect(refusal(NSPredicate(format: "%K == %@", name, "x"))?.contains("not a field name") == true)
    #expect(refusal(NSPredicate(format: "x == 1 AND %K == %@", name, "x"))?.contains("not a field name") == true)
    #expect(!NSPredicate(format: "NOT %K == %@", name, "x").evaluate(with: CKRecord(recordType: "Note")))
    #expect(throws: CKError.self) { try NSSortDescriptor(key: name, ascending: true).wireSort() }
  }

  @Test(arguments: [
    "' OR TRUEPREDICATE OR a == '", "\") OR (1 == 1", "%@", "%K", "\\", "\u{0}", "{1}", "#x", "e\u{301}", "\n",
  ])
  func `a value never breaks out of its place`(text: String) throws {
    let expected = [WireFilter(.field("a"), "EQUALS", .string(text)), WireFilter(.field("b"), "EQUALS", .int64(1))]
    let predicate = NSPredicate(format: "a == %@ AND b == %d", text, 1)

    #expect(try filters(predicate) == expected)
    #expect(try filters(NSPredicate(format: predicate.node.text(showingValues: true))) == expected)
  }

  @Test func `a malformed format names the part and its position, and matches nothing`() {
    let table: [(NSPredicate, String)] = [
      (NSPredicate(format: ""), "missing (position 1"), (NSPredicate(format: "a"), "operator is missing (position 2"),
      (NSPredicate(format: "a =="), "missing (position 5"),
      (NSPredicate(format: "a == 'x"), "not closed with ' (position 6"),
      (NSPredicate(format: "a == \"x\\"), "ends with \\"), (NSPredicate(format: "a == '\\u12'"), "hexadecimal"),
      (NSPredicate(format: "(a == 1"), "a ) is missing (position 8"),
      (NSPredicate(format: "a == 1)"), "unexpected ) (position 7"),
      (NSPredicate(format: "a == 1 b"), "unexpected b (position 8"),
      (NSPredicate(format: "a == 1 AND"), "position 11"),
      (NSPredicate(format: "a ~ 1"), "unexpected character '~'"),
      (NSPredicate(format: "a + 1 == 2"), "+: CloudKit does not support arithmetic"),
      (NSPredicate(format: "a == $x"), "$"), (NSPredicate(format: "a[0] == 1"), "[: list elements"),
      (NSPredicate(format: "a ==[q] 1"), "[q]"), (NSPredicate(format: "a ==[c 1"), "a ] is missing"),
      (NSPredicate(format: "a IS 1"), "IS is not an operator (position 3"),
      (NSPredicate(format: "{a} == 1"), "only values (position 2"),
      (NSPredicate(format: "a IN {1 2}"), "a , is missing"), (NSPredicate(format: "a IN {1, 'x'}"), "mixes"),
      (NSPredicate(format: "a IN {1, {2}}"), "lists"), (NSPredicate(format: "SUBQUERY(a, $x, 1) == 1"), "$"),
      (NSPredicate(format: "f(a) == 1"), "f(…)"), (NSPredicate(format: "FUNCTION(a, 'b') == 1"), "FUNCTION(…)"),
      (NSPredicate(format: "a == 99999999999999999999"), "not a number"),
      (NSPredicate(format: "a == 1e999"), "not a number"),
      (NSPredicate(format: "a == 12abc"), "12abc"), (NSPredicate(format: "a == 1.2.3"), "1.2.3"),
      (NSPredicate(format: "distanceToLocation:fromLocation:(a, 'x') < 1"), "CLLocation (position 1"),
      (NSPredicate(format: "owner.name == 1"), "'owner.name' is not a field name (position 1"),
      (NSPredicate(format: "a == %@"), "the argument for %@ is missing (position 6"),
      (NSPredicate(format: "a == %@", 1, 2), "without a placeholder: 1"),
      (NSPredicate(format: "a == %y"), "%y"), (NSPredicate(format: "a == %.2f", 1.0), "%."),
      (NSPredicate(format: "a == %"), "% ends"),
      (
        NSPredicate(format: "a == %@", argumentArray: [NSObject()]),
        "%@: fields cannot be compared with a NSObject (position 6"
      ),
      (NSPredicate(format: "a == %d", "secret"), "%d: a String is not a 64-bit integer"),
      (NSPredicate(format: "a == %d", 1.5), "%d"),
      (NSPredicate(format: "a == %f", "secret"), "%f: a String is not a finite number"),
      (NSPredicate(format: "a == %f", Double.nan), "%f"), (NSPredicate(format: "a == %@", Double.infinity), "finite"),
      (NSPredicate(format: "a == %@", UInt64.max), "64 bits"),
      (NSPredicate(format: "a == %@", NSNumber(value: UInt64.max)), "64 bits"),
      (NSPredicate(format: "a == %@", Date(timeIntervalSince1970: .infinity)), "out of range"),
      (NSPredicate(format: "a IN %@", [[1], [2]]), "lists"),
      (NSPredicate(format: "a IN %@", argumentArray: [["x", 1]]), "mixes"),
      (NSPredicate(format: "a IN %@", argumentArray: [[NSNull()]]), "null"),
      (NSPredicate(format: "%K == 1", 5), "%K: a field's name"),
      (NSPredicate(format: "a == %s", 5), "C string"),
      (NSPredicate(format: "a == %@", argumentArray: nil), "is missing"),
    ]
    for (predicate, part) in table {
      let message = refusal(predicate)
      #expect(message?.contains(part) == true, "\(message ?? "accepted") should name \(part)")
      #expect(message?.contains("secret") == false)
      #expect(!predicate.evaluate(with: CKRecord(recordType: "Note")))
      #expect(
        !NSCompoundPredicate(notPredicateWithSubpredicate: predicate).evaluate(with: CKRecord(recordType: "Note"))
      )
    }
  }

  @Test func `what is written down reads as the same predicate`() {
    let formats = [
      "a == 1 AND (b == 'x' OR NOT (c < 2.5)) AND d IN {1, 2}", "ANY a BEGINSWITH[cd] \"q\\\"\\n\" OR NONE #in == 3",
      "SELF CONTAINS 'x' OR allTokens TOKENMATCHES[cdl] 'y'", "a == NULL OR TRUEPREDICATE", "x BETWEEN {-1, 1e+20}",
      "due < now() OR now() > due", "creationDate > CAST(700000000.125, 'NSDate') AND recordID.recordName LIKE '*'",
      "(a == 1 AND b == 2) OR c == 3",
      String(repeating: "!", count: 60) + "a == 1",
      String(repeating: "NOT (a == 1 AND ", count: 30) + "b == 2" + String(repeating: ")", count: 30),
    ]
    for format in formats {
      let node = PredicateParser.node(format: format, arguments: [])
      #expect(node.isReadable, "\(node)")
      #expect(PredicateParser.node(format: node.text(showingValues: true), arguments: []) == node)
    }
    let predicate = NSPredicate(format: "title == %@ AND n in %@", "private", [1])
    #expect((predicate as? ParsedPredicate)?.predicateFormat == #"title == "private" AND n IN {1}"#)
    #expect("\(predicate)" == "title == … AND n IN …")
    #expect(predicate == NSPredicate(format: "(title = 'private') && n IN {1}"))
    #expect(predicate != NSPredicate(format: "title == 'other' AND n IN {1}"))
  }

  @Test(arguments: [
    "n == 9223372036854775808", "n == -9223372036854775809", "d == 1e400", "d == 1e-400", "d > -0.1e-999",
  ])
  func `a number that no field can hold is refused`(format: String) {
    #expect(
      CKQuery(recordType: "Note", predicate: NSPredicate(format: format)).problem?.contains("a number that a field")
        == true
    )
  }
}
