import Foundation
import JSONText
import TestSupport
import Testing

@Suite(.serialized) struct JSONReaderTests {
  private static let values: [(String, JSON)] = [
    ("null", .null), (" \t\r\ntrue ", .bool(true)), ("[false]", .array([.bool(false)])),
    ("\u{FEFF}[1]", .array([.int(1)])), ("[]", .array([])), ("{}", .object([:])), (#""""#, .string("")),
    (#"{"a":{"b":[1,[]]},"":2}"#, .object(["a": .object(["b": .array([.int(1), .array([])])]), "": .int(2)])),
    (#"{"b":1,"a":2,"b":3}"#, .object(["b": .int(1), "a": .int(2), "b": .int(3)])),
    (#""\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00""#, .string("\"\\/\u{8}\u{C}\n\r\té😀")),
    (#""a\u0000b""#, .string("a\0b")), ("\"\u{7F}\u{2028}é😀\"", .string("\u{7F}\u{2028}é😀")),
    ("0", .int(0)), ("-0", .int(0)), ("-12", .int(-12)), ("9007199254740993", .int(9_007_199_254_740_993)),
    ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
    ("9223372036854775808", .digits("9223372036854775808")),
    ("-9223372036854775809", .digits("-9223372036854775809")),
    ("123456789012345678901234567890", .digits("123456789012345678901234567890")),
    ("1e2", .double(100)), ("1.0", .double(1)), ("12.50E+1", .double(125)),
    ("1200e-2", .double(12)),
    ("9007199254740993.0", .int(9_007_199_254_740_993)), ("9223372036854775807.000", .int(.max)),
    ("-922337203685477580.8e1", .double(-0x1p63)), ("0e999999999999999999999999", .double(0)),
    ("1e19", .double(1e19)), ("9007199254740992.0", .double(0x1p53)),
    ("9.223372036854776e+17", .double(9.223372036854776e+17)),
    ("-922337203685477580.9", .double(-9.223372036854776e+17)), ("922337203685477601e0", .int(922_337_203_685_477_601)),
    ("2.99999999999999999", .double(3)),
    ("0.1", .double(0.1)), ("-1.5e-3", .double(-0.0015)), ("1e300", .double(1e300)),
    ("5e-324", .double(.leastNonzeroMagnitude)),
    ("0.1000000000000000055511151231257827", .double(0.1)), ("1e400", .digits("1e400")), ("1e-400", .digits("1e-400")),
    ("1e999999999999999999999999", .digits("1e999999999999999999999999")),
  ]

  @Test(arguments: values)
  func `a document has one meaning`(_ document: String, _ value: JSON) throws {
    let read = try JSON(json: Data(document.utf8))

    #expect(read == value)
    #expect(try JSON(json: read.data) == value)
  }

  @Test(arguments: [
    "", " ", "nul", "nullx", "tru", "True", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "]", "{", #"{"a"}"#, #"{"a":}"#,
    #"{"a":1,}"#, #"{"a":1 "b":2}"#, "{1:2}", "{,}", "1 2", "[1]x", "[1]\0", "\0", "01", "-", "+1", ".5", "1.", "1e",
    "1e+", "-a", "0x1", "1_0", "NaN", "Infinity", "'a'", #"""#, #""a"#, #""a\""#, #""\x""#, #""\u12""#, #""\u12g4""#,
    #""\uD800""#, #""\uDC00""#, #""\uD800\uD800""#, #""\uD800x""#, #""\uD83D\u0041""#, "\"a\nb\"", "\"\0\"",
    "<html><body>502 Bad Gateway</body></html>",
  ])
  func `what is no JSON is refused`(_ document: String) {
    #expect(throws: JSONError.self) { try JSON(json: Data(document.utf8)) }
  }

  @Test(arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x61, 0x80]])
  func `texts and keys that are no UTF-8 are refused`(_ bytes: [UInt8]) {
    let quoted = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
    let escaped = Array(#""\n"#.utf8) + bytes + [UInt8(ascii: "\"")]

    for text in [quoted, escaped] {
      #expect(throws: JSONError.self) { try JSON(json: Data(text)) }
      #expect(throws: JSONError.self) { try JSON(json: Data(Array("{".utf8) + text + Array(":1}".utf8))) }
    }
    #expect(throws: JSONError.self) { try JSON(json: Data("[1]".utf16.flatMap { [UInt8($0), 0] })) }
  }

  @Test func `nesting ends in an error, not in a crash`() throws {
    for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
      func nested(_ depth: Int) -> Data {
        Data((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
      }

      #expect(throws: Never.self) { try JSON(json: nested(JSONReader.largestDepth)) }
      #expect(throws: Never.self) { try Skipped(json: nested(JSONReader.largestDepth)) }
      for depth in [JSONReader.largestDepth + 1, 1_000_000] {
        #expect(throws: JSONError.self) { try JSON(json: nested(depth)) }
        #expect(throws: JSONError.self) { try Skipped(json: nested(depth)) }
      }
    }
  }

  @Test func `every cut through a document is an error`() {
    let document = Data(
      #"{"records":[{"recordName":"né\n","fields":{"a":{"value":[1.5,-2],"type":"DOUBLE_LIST"}}}]}"#.utf8
    )

    for length in 0..<document.count {
      #expect(throws: JSONError.self) { try JSON(json: document.prefix(length)) }
      #expect(throws: JSONError.self) { try Skipped(json: document.prefix(length)) }
    }
  }

  @Test func `a repeated key means its last value, however it is written`() throws {
    let object = try #require(try JSON(json: Data(#"{"b":1,"a":2,"\u0062":[3],"c":4,"c":null}"#.utf8)).object)

    #expect(object["b"] == .array([.int(3)]) && object["a"] == .int(2) && object["c"] == nil)
    #expect(JSON.object(object).sorted == .object(["a": .int(2), "b": .array([.int(3)]), "c": .null]))
    struct Named: JSONReadable {
      var name: String?

      init(json: inout JSONReader) throws(JSONError) {
        try json.enterObject()
        while let key = try json.nextKey() {
          if case "name" = key { try json.read(into: &name) } else { try json.skip() }
        }
      }
    }
    #expect(try Named(json: Data(#"{"name":null,"name":"a","n\u0061me":"b"}"#.utf8)).name == "b")
    #expect(try Named(json: Data(#"{"name":"a","name":null}"#.utf8)).name == nil)
  }

  @Test(arguments: [
    ("", 1, 1), ("[1,\n 2,\r\n  x]", 3, 3), ("{\"é\":\n\"\t\"}", 2, 2), ("[\"\\ud800\"]\n", 1, 3), ("[]\n\n ]", 3, 2),
    ("{\"a\"\n", 2, 1),
  ])
  func `an error names its line and column`(_ document: String, _ line: Int, _ column: Int) {
    let error = #expect(throws: JSONError.self) { try JSON(json: Data(document.utf8)) }

    #expect(error?.position.line == line && error?.position.column == column)
  }

  @Test func `what is read is written in the same order and form`() throws {
    for text in [
      #"{"b":[1,-2.5,3.0,1e+20,123456789012345678901234567890,null,true],"a":{"\"\\\b\f\n\r\t\u0001":"/é😀"}}"#, "[]",
      "{}",
    ] {
      #expect(try JSON(json: Data(text.utf8)).text == text)
    }
    #expect(JSON.array([.double(.nan), .double(-.infinity)]).text == "[null,null]")
    #expect(
      String(
        decoding: JSONWriter.bytes(of: .object(["a": .array([.int(1), .object([:])])]), isSpaced: true),
        as: UTF8.self
      ) == #"{"a": [1, {}]}"#
    )
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `what Foundation reads too means the same to it`(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<10 {
      let document = Array(RandomJSON.any(depth: 0, &random).utf8)
      let ours = try JSON(json: Data(document))
      #expect(ours.rounded == (try JSONDecoder().decode(JSON.self, from: Data(document))).rounded)

      var spoilt = document
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 0..<spoilt.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: spoilt[place] = UInt8.random(in: 0...255, using: &random)
        case 1: spoilt.insert(Array(#"{}[],:"\0e.-u"#.utf8).randomElement(using: &random) ?? 0, at: place)
        default: if spoilt.count > 1 { spoilt.remove(at: place) }
        }
      }
      if let ours = try? JSON(json: Data(spoilt)),
        let theirs = try? JSONDecoder().decode(JSON.self, from: Data(spoilt))
      {
        #expect(ours.rounded == theirs.rounded, "\(String(decoding: spoilt, as: UTF8.self))")
      }
    }
  }
}

extension JSON {
  /// Numbers as Foundation gives them: past 64 bits it has only doubles, and a whole number with a fraction's spelling is
  /// one of those where it is large.
  fileprivate var rounded: JSON {
    switch self {
    case .null, .bool, .string: self
    case .int(let value): .double(Double(value))
    case .double(let value): .double(value == 0 ? 0 : value)
    case .digits(let text): Double(text).map(JSON.double) ?? self
    case .array(let elements): .array(elements.map(\.rounded))
    case .object(let object):
      .object(
        JSONObject(
          Dictionary(object.members.map { ($0.key, $0.value.rounded) }) { first, _ in first }.sorted { $0.key < $1.key }
        )
      )
    }
  }
}

/// A value that is checked but not kept.
private struct Skipped: JSONReadable {
  init(json: inout JSONReader) throws(JSONError) { try json.skip() }
}

/// As Foundation reads it, which keeps the first of repeated keys.
extension JSON: Decodable {
  /// Reads a value as Foundation sees it.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .int(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSON].self) {
      self = .array(value)
    } else {
      self = .object(JSONObject(try container.decode([String: JSON].self).map { ($0.key, $0.value) }))
    }
  }
}

/// Random JSON in all its spellings.
private enum RandomJSON {
  static func any(depth: Int, _ random: inout SplitMix64) -> String {
    let blank = ["", "", " ", "\n", "\t\r "].randomElement(using: &random) ?? ""
    let value: String
    switch Int.random(in: 0..<(depth < 5 ? 9 : 6), using: &random) {
    case 0: value = ["null", "true", "false"].randomElement(using: &random) ?? ""
    case 1, 2: value = text(&random)
    case 3: value = "\(Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64, using: &random))"
    case 4: value = decimal(&random)
    case 5: value = "\(Double(bitPattern: .random(in: 0..<0x7FF0_0000_0000_0000, using: &random)))"
    case 6:
      let count = Int.random(in: 0..<4, using: &random)
      value = "[" + (0..<count).map { _ in any(depth: depth + 1, &random) }.joined(separator: ",") + "]"
    default:
      let count = Int.random(in: 0..<5, using: &random)
      let members = (0..<count).map { _ in text(&random) + ":" + any(depth: depth + 1, &random) }
      value = "{" + members.joined(separator: ",") + "}"
    }
    return blank + value + blank
  }

  private static func decimal(_ random: inout SplitMix64) -> String {
    var number = ["", "-"].randomElement(using: &random) ?? ""
    number += "\(Int.random(in: 0..<100_000, using: &random))"
    if Bool.random(using: &random) { number += ".\(Int.random(in: 0..<1_000_000_000, using: &random))" }
    if Bool.random(using: &random) {
      number += ["e", "E", "e+", "E-"].randomElement(using: &random) ?? ""
      number += "\(Int.random(in: 0..<30, using: &random))"
    }
    return number
  }

  private static func text(_ random: inout SplitMix64) -> String {
    let parts = [
      "a", "key", "é", "😀", "\u{7F}", " ", #"\n"#, #"\""#, #"\\"#, #"\/"#, #"\u0000"#, #"\u00E9"#, #"\ud83d\ude00"#,
    ]
    let count = Int.random(in: 0..<6, using: &random)
    return "\"" + (0..<count).compactMap { _ in parts.randomElement(using: &random) }.joined() + "\""
  }
}
