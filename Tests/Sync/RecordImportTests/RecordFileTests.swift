import Foundation
import Testing

@testable import CloudSync
@testable import RecordImport

@Suite(.serialized) struct RecordFileTests {
  private func rows(_ text: String, _ name: String) throws -> [ImportRow] {
    let (rows, refusals) = try RecordFile(Data(text.utf8), name: name).contents()
    #expect(refusals == [])
    return rows
  }

  @Test(arguments: ["[\n {\"a\": 1},\n\n {\"a\": 2}\n]", "{\"3166-1\": [\n {\"a\": 1},\n\n {\"a\": 2} ] }\n"])
  func `JSON is an array or an object whose one member is an array`(_ text: String) throws {
    let rows = try rows(text, "x.json")

    #expect(rows == [ImportRow(line: 2, fields: ["a": .number("1")]), ImportRow(line: 4, fields: ["a": .number("2")])])
  }

  @Test func `a bad line of NDJSON is refused and the others are read`() throws {
    let text = "\u{FEFF}{\"a\": 1}\r\n\n{\"a\": }\n[1]\n{\"a\": 2} x\n{\"a\":\"b\",\"a\":1}\n{\"a\": 3}"

    let (rows, refusals) = try RecordFile(Data(text.utf8), name: "x.ndjson").contents()

    #expect(rows.map(\.line) == [1, 7])
    #expect(
      refusals == [
        ImportRefusal(line: 3, field: nil, message: "not JSON: this is not a JSON value (column 7)"),
        ImportRefusal(line: 4, field: nil, message: "not a JSON object; a record is one object"),
        ImportRefusal(
          line: 5,
          field: nil,
          message: "not JSON: something follows the end of the JSON value (column 10)"
        ),
        ImportRefusal(line: 6, field: nil, message: "not JSON: the key \"a\" comes twice (column 15)"),
      ]
    )
  }

  @Test func `a line that is not UTF-8 is refused`() throws {
    let (rows, refusals) = try RecordFile(
      Data("{\"a\": \"".utf8) + [0xFF] + Data("\"}\n{\"a\": 1}".utf8),
      name: "x.jsonl"
    ).contents()

    #expect(rows.map(\.line) == [2])
    #expect(refusals.map(\.message) == ["not JSON: not valid UTF-8 (column 7)"])
  }

  @Test func `CSV has quotes, line breaks in quotes, CRLF and empty cells`() throws {
    let text = "a,b,c\r\n1,\"x, \"\"y\"\"\",\r\n\r\n\"two\r\nlines\",\"\",null\n007,true,\"null\"\n"

    let rows = try rows(text, "x.CSV")

    #expect(
      rows == [
        ImportRow(line: 2, fields: ["a": .number("1"), "b": .text("x, \"y\"")]),
        ImportRow(line: 4, fields: ["a": .text("two\r\nlines"), "b": .emptyCell]),
        ImportRow(line: 6, fields: ["a": .text("007"), "b": .bool(true), "c": .text("null")]),
      ]
    )
  }

  @Test func `a bad line of CSV is refused and the others are read`() throws {
    let text = "a,b\n1,2,3\n1\n\"x\"y,2\n\"\n\",2\n5,6"

    let (rows, refusals) = try RecordFile(Data(text.utf8) + [0x0A, 0xFF, 0x2C, 0x31], name: "x.csv").contents()

    #expect(rows.map(\.line) == [5, 7])
    #expect(
      refusals == [
        ImportRefusal(line: 2, field: nil, message: "3 cells where the first line names 2"),
        ImportRefusal(line: 3, field: nil, message: "1 cells where the first line names 2"),
        ImportRefusal(
          line: 4,
          field: nil,
          message: "text follows a closing quote; double the quotes inside a cell"
        ),
        ImportRefusal(line: 8, field: nil, message: "not valid UTF-8; convert the file, with iconv for example"),
      ]
    )
  }

  private static let formats: [(String, String, RecordFile.Format)] = [
    ("data", " [ {\"a\": 1} ]", .json), ("data", "{\"a\": 1}\n{\"a\": 2}", .ndjson),
    ("data", "{\n\"x\": [{\"a\": 1}]\n}", .json), ("data", "{\"x\": [{\"a\": 1}]}", .json),
    ("data", "{\"x\": [1]}", .ndjson), ("data", "{\"a\": 1}", .ndjson), ("data", "a,b\n1,2", .csv),
    ("/dev/stdin", "name\nx", .csv), ("a.csv", "{\"a\"}\n1", .csv), ("A.JSONL", "", .ndjson),
    ("x.geojson", "[]", .json), ("data", "{\"a\": 1, \"b\":\n{\"a\": 2}", .ndjson),
    ("data", "\n[1,\n{\"a\": 2}\n{\"a\": 3}", .ndjson), ("data", "oops: 1\n{\"a\": 2}", .ndjson),
    ("data", "[\n{\"a\": 1,},\n{\"a\": 2}\n]", .json), ("data", "{\"x\": [\n{\"a\": 1},\n{\"a\": 2}\n]}", .json),
    ("data", "{\"x\": [{\"a\": 1}]}\n{\"a\": 2}", .ndjson),
  ]

  @Test(arguments: formats)
  func `the format is told by the name, else by the content`(
    _ name: String,
    _ text: String,
    _ format: RecordFile.Format
  ) throws {
    #expect(try RecordFile(Data(text.utf8), name: name).format == format)
  }

  @Test func `a list on one line that is longer than any record is JSON`() throws {
    let bytes = Array("[\(Array(repeating: "{\"a\": 1}", count: 200).joined(separator: ", "))]".utf8)

    let file = try RecordFile(name: "data", piece: 10, longest: 100) { Array(bytes.dropFirst($0).prefix($1)) }

    #expect(try file.contents().rows.count == 200)
  }

  @Test func `a damaged first line of any length is one refusal, which quotes little of it`() throws {
    let long = String(repeating: "k", count: 1_100_000)
    for (first, more) in [("{\"id\":\"x\",\"f\":", 0), ("{\"\(long)\": 1, \"\(long)\": 2}", 200)] {
      let (rows, refusals) = try RecordFile(Data("\(first)\n{\"a\": 1}\n".utf8), name: "data").contents()

      #expect(rows.map(\.line) == [2] && refusals.map(\.line) == [1])
      #expect(refusals[0].message.count < 200 + more)
    }
    let rows = try rows("{\"\(long)\": 1}\n{\"a\": 1}\n", "data")
    #expect(rows.map(\.line) == [1, 2])
    let error = #expect(throws: RecordFileError.self) {
      try RecordFile(Data("a b,\(long) \(long)\n1,2\n".utf8), name: "data").contents()
    }
    #expect(error?.message.count ?? .max < 500)
  }

  private static let broken: [(String, String, String)] = [
    ("x.json", "", "x.json line 1, column 1: the JSON ends too early; correct the file, nothing was imported"),
    ("x.json", "[\n {\"a\": 1},\n {\"a\" 2}\n]", "x.json line 3, column 7: expected : after the key;"),
    ("x.json", "[{\"a\": 1}", "x.json line 1, column 10: the JSON ends too early;"),
    ("x.json", "[{\"a\": 1}]\nx", "x.json line 2, column 1: something follows the end of the JSON value;"),
    ("x.json", "[{\"a\": 01}]", "x.json line 1, column 8: this is not a JSON value;"),
    ("x.json", "[{\"a\": NaN}]", "x.json line 1, column 8: this is not a JSON value;"),
    ("x.json", "[{\"a\": \"x\n\"}]", "x.json line 1, column 10: a control character in a string must be escaped;"),
    ("x.json", "[{\"a\": \"\\ud800\"}]", "x.json line 1, column 9: half a surrogate pair;"),
    ("x.json", "[{\"a\": \"\\u12g4\"}]", "x.json line 1, column 9: \\u takes four hexadecimal digits;"),
    ("x.json", "[{\"a\": \"\\x\"}]", "x.json line 1, column 9: \\ is followed by no escape that JSON knows;"),
    ("x.json", "<html>", "x.json line 1, column 1: this is not a JSON list of records;"),
    (
      "x.json", "{\"a\": 1}\n{\"a\": 2}",
      "x.json has no list of records; expected an array, an object whose one member is an array, or one record; "
        + "name it .ndjson, or give --format ndjson,"
    ),
    ("x.json", "{\"n\": 1, \"a\": [{}]}", "x.json has no list of records;"),
    ("x.json", "{}", "x.json has no list of records;"),
    ("x.json", "{\"a\": [{}], \"b\": 1}", "x.json has more than one member;"),
    ("x.csv", "", "x.csv is empty; expected a line with the names of the fields"),
    ("x.csv", "id;n\n1;2", "x.csv line 1: the columns are separated by ';'; separate them by commas"),
    ("x.csv", "id\tn\n", "x.csv line 1: the columns are separated by tabs; separate them by commas"),
    ("x.csv", "a,b,a\n", "x.csv line 1: the column 'a' comes twice; name each once"),
    (
      "x.csv", "a,my field,b\n1,2,3\n4,5,6\n",
      "x.csv line 1: 'my field' is no field name; use a letter, then letters, digits and _"
    ),
    (
      "x.csv", "\na, b,2nd\n1,2,3\n",
      "x.csv line 2: ' b', '2nd' are no field names; use a letter, then letters, digits and _"
    ),
    (
      "x.csv", "a,,b\n1,,2\n3,x,4\n",
      "x.csv line 3: column 2 has a value and no name; name it in the first line, or remove it"
    ),
    ("x.csv", "a\n1\n\"x\ny", "x.csv line 3: a quote is never closed; correct the file, nothing was imported"),
  ]

  @Test(arguments: broken)
  func `a file that cannot be read is one clear line`(_ name: String, _ text: String, _ message: String) {
    let error = #expect(throws: RecordFileError.self) { try RecordFile(Data(text.utf8), name: name).contents() }

    #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
  }

  @Test func `an unnamed column whose cells are empty is skipped`() throws {
    #expect(
      try rows("a,,b,\n1,,2,\n3,\"\",4,\n", "x.csv") == [
        ImportRow(line: 2, fields: ["a": .number("1"), "b": .number("2")]),
        ImportRow(line: 3, fields: ["a": .number("3"), "b": .number("4")]),
      ]
    )
  }

  @Test(arguments: ["{\"a\": 1, \"l\": [1]}", "\n{\n  \"l\": [1],\n  \"a\": 1\n}\n", "{ \"a\": 1,\n\"l\": [1] }"])
  func `one object, also over several lines, is one record`(_ text: String) throws {
    let line = text.hasPrefix("\n") ? 2 : 1
    for name in ["x.json", "standard input"] {
      #expect(try rows(text, name) == [ImportRow(line: line, fields: ["a": .number("1"), "l": .list([.number("1")])])])
    }
    #expect(try rows("{\"l\": []}", "x.json").isEmpty)
  }

  @Test func `a given format counts more than the name and the content`() throws {
    let lines = "{\"a\": 1}\n{\"a\": 2}\n"
    func format(_ text: String, _ name: String, _ format: RecordFile.Format) throws -> [ImportRow] {
      let bytes = Array(text.utf8)
      let file = try RecordFile(name: name, format: format) { Array(bytes.dropFirst($0).prefix($1)) }
      return try file.contents().rows
    }

    #expect(try format(lines, "x.json", .ndjson).map(\.line) == [1, 2])
    #expect(try format("{\"a\": 1}", "x.ndjson", .json).map(\.line) == [1])
    #expect(try format("a\n1\n", "x.json", .csv).map(\.fields) == [["a": .number("1")]])
  }

  @Test func `an empty cell is left alone, clears its field, or is an empty text`() throws {
    func rows(_ empty: EmptyCells) throws -> [ImportRow] {
      let bytes = Array("a,b,c\n1,,\"\"\n2,null,\"null\"\n".utf8)
      return try RecordFile(name: "x.csv", emptyCells: empty) { Array(bytes.dropFirst($0).prefix($1)) }.contents().rows
    }
    let second = ImportRow(line: 3, fields: ["a": .number("2"), "c": .text("null")])

    #expect(try rows(.keep) == [ImportRow(line: 2, fields: ["a": .number("1"), "c": .emptyCell]), second])
    #expect(try rows(.clear) == [ImportRow(line: 2, fields: ["a": .number("1")], cleared: ["b", "c"]), second])
    #expect(
      try rows(.text) == [ImportRow(line: 2, fields: ["a": .number("1"), "b": .emptyCell, "c": .emptyCell]), second]
    )
  }

  private static let binaries: [([UInt8], String)] = [
    ([0x1F, 0x8B, 8, 0], "compressed by gzip"), ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0, 0], "compressed by xz"),
    ([0x28, 0xB5, 0x2F, 0xFD], "compressed by zstd"), (Array("BZh91AY&SY".utf8), "compressed by bzip2"),
    (Array("PK\u{3}\u{4}….[Content_Types].xml…PK\u{3}\u{4}xl/workbook.xml".utf8), "a spreadsheet"),
    (Array("PK\u{3}\u{4}…mimetypeapplication/vnd.oasis.opendocument.spreadsheet".utf8), "a spreadsheet"),
    (Array("PK\u{3}\u{4}…notes.txt".utf8), "a ZIP archive"),
    ([0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1], "a spreadsheet or other document"),
    (Array("SQLite format 3\0".utf8), "an SQLite database"),
  ]

  @Test(arguments: binaries) func `a file that is no text is named as what it is`(_ start: [UInt8], _ kind: String) {
    let error = #expect(throws: RecordFileError.self) { try RecordFile(Data(start), name: "x.csv") }

    #expect(error?.message.hasPrefix("x.csv is \(kind)") == true, "\(error?.message ?? "")")
  }

  @Test func `a text that begins like an archive is a text`() throws {
    #expect(try rows("BZh,PK\n1,2\n", "x.csv").count == 1)
  }

  @Test func `UTF-16 is named as what it is`() {
    let error = #expect(throws: RecordFileError.self) { try RecordFile(Data([0xFF, 0xFE, 0x5B, 0]), name: "x.json") }

    #expect(error?.message == "x.json is UTF-16; convert it to UTF-8, with iconv for example")
  }

  @Test func `a nested bomb is refused before the stack runs out`() {
    let bomb = String(repeating: "[", count: 1_000_000)

    let error = #expect(throws: RecordFileError.self) { try RecordFile(Data(bomb.utf8), name: "x.json").contents() }

    #expect(error?.message.contains("nested more than 100 deep") == true)
  }

  @Test func `escapes and numbers are read exactly`() throws {
    let rows = try rows(
      "[{\"a\": \"\\u00e9\\ud83d\\ude00\\n\\/\\\"\", \"b\": 12345678901234567890, \"c\": -1.50E+2}]",
      "x.json"
    )

    #expect(rows[0].fields["a"] == .text("é😀\n/\""))
    #expect(rows[0].fields["b"] == .number("12345678901234567890"))
    #expect(rows[0].fields["c"] == .number("-1.50E+2"))
  }

  @Test func `no prefix of a valid file crashes the reader`() {
    let json = Data("{\"x\": [{\"a\": [1, 2.5e-3, \"\\ud83d\\ude00\"], \"b\": {\"c\": null}}, true]}".utf8)
    let csv = Data("a,b\r\n\"x\"\"y\",é\r\n1,\n".utf8)

    for length in 0...json.count {
      for name in ["x.json", "x.ndjson", "x"] { _ = try? RecordFile(json.prefix(length), name: name).contents() }
    }
    for length in 0...csv.count { _ = try? RecordFile(csv.prefix(length), name: "x.csv").contents() }
    for byte in UInt8.min...UInt8.max {
      _ = try? RecordFile(Data([byte, 0x22, byte, 0x0A, byte]), name: "x").contents()
    }
  }

  private static let whole: [(String, String)] = [
    ("x.json", "[\n {\"a\": 1, \"b\": \"\\ud83d\\ude00\"},\n\n {\"a\": [true, null]}, 12\n]\n"),
    ("x.json", "{\"x\": [ {\"a\": 1.5e3},{}] }"), ("x.json", "[{\"a\": 1},\n {\"a\" 2}]"), ("x.json", "[{}] x"),
    ("x.ndjson", "\u{FEFF}{\"a\": 1}\r\n\n{\"a\": }\n[1]\n{\"a\": \"é\"}"),
    ("x.csv", "\u{FEFF}a,b\r\n1,\"x, \"\"y\"\"\"\r\n\r\n\"two\r\nlines\",\"\"\n1\n\"x\"y,2\n5,6"),
    ("x.csv", "a\n1\n\"x\ny"),
  ]

  @Test(arguments: whole)
  func `a file read in pieces of any size has the same contents`(_ name: String, _ text: String) throws {
    // Rows are compared as values, because the order in which a dictionary is printed is random.
    func contents(_ piece: Int) -> (rows: [ImportRow], refusals: [ImportRefusal], error: String?) {
      do {
        let contents = try RecordFile(Data(text.utf8), name: name, piece: piece).contents()
        return (contents.rows, contents.refusals, nil)
      } catch {
        return ([], [], "\(error)")
      }
    }
    let expected = contents(1 << 18)

    for piece in 1...text.utf8.count { #expect(contents(piece) == expected, "in pieces of \(piece)") }
  }

  @Test(arguments: ["x.csv", "x.ndjson", "x.json"])
  func `of a large file only pieces are asked for, each once in a reading`(_ name: String) throws {
    let line = name == "x.csv" ? "1,2\n" : "{\"a\": 1}\n"
    let separated = name == "x.json" ? "[" + String(repeating: line + ",", count: 9_999) + line + "]" : nil
    let bytes = Array((separated ?? (name == "x.csv" ? "a,b\n" : "") + String(repeating: line, count: 10_000)).utf8)
    var asked: [Range<Int>] = []
    let file = try RecordFile(name: name, piece: 1000) { offset, count in
      asked.append(offset..<offset + count)
      return Array(bytes.dropFirst(offset).prefix(count))
    }
    asked = []

    #expect(try file.contents().rows.count == 10_000)

    #expect(asked.allSatisfy { $0.count == 1000 })
    #expect(asked.count <= bytes.count / 1000 + 2)
  }

  @Test func `a record longer than any the server takes is an error, and not read whole`() throws {
    var read = 0
    let file = try RecordFile(name: "x.csv", piece: 100, longest: 10_000) { _, count in
      read += count
      return [UInt8](repeating: UInt8(ascii: "x"), count: count)
    }

    read = 0
    let error = #expect(throws: RecordFileError.self) { try file.contents() }

    #expect(error?.message.hasPrefix("x.csv has a record of more than 10000 bytes;") == true)
    #expect(read < 40_000)
  }
}

extension RecordFile {
  init(_ data: Data, name: String, piece: Int = 1 << 18) throws {
    let bytes = Array(data)
    try self.init(name: name, piece: piece) { offset, count in Array(bytes.dropFirst(offset).prefix(count)) }
  }

  /// All records, and all lines that are not one.
  func contents() throws -> (rows: [ImportRow], refusals: [ImportRefusal]) {
    var (rows, refusals): ([ImportRow], [ImportRefusal]) = ([], [])
    try each { line, row in
      switch row {
      case .success(let row): rows.append(row)
      case .failure(let error): refusals.append(ImportRefusal(line: line, field: error.field, message: error.message))
      }
    }
    return (rows, refusals)
  }
}
