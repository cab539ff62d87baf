import CloudKit
import Foundation
import Testing

@testable import CloudSync
@testable import RecordImport

@Suite(.serialized) struct ImportPlanTests {
  private func plan(
    _ lines: [String],
    id: String? = "id",
    references: [String: String] = [:],
    known: [String: String] = [:]
  ) throws -> ImportSlice {
    let file = try RecordFile(Data(lines.joined(separator: "\n").utf8), name: "x.ndjson")
    return try ImportPlan(file, recordType: "Note", idField: id, references: references, knownTypes: { _ in known })
      .all()
  }

  /// Values of one column, line by line, and what each becomes; nil omits.
  private static let columns: [([String], [FieldValue?])] = [
    (["1", "2"], [.int64(1), .int64(2)]),
    (["1", "2.5"], [.double(1), .double(2.5)]),
    (["1", "\"x\""], [.string("1"), .string("x")]),
    (["1.50", "\"x\""], [.string("1.50"), .string("x")]),
    (["true", "false"], [.int64(1), .int64(0)]),
    (["true", "3"], [.int64(1), .int64(3)]),
    (["true", "0.5"], [.double(1), .double(0.5)]),
    (["true", "\"yes\""], [.string("true"), .string("yes")]),
    (["null", "1"], [nil, .int64(1)]),
    (["null", "null"], [nil, nil]),
    (["9007199254740993", "1"], [.int64(9_007_199_254_740_993), .int64(1)]),
    (["9007199254740993", "1.5"], [.string("9007199254740993"), .string("1.5")]),
    (["9223372036854775808", "1"], [.string("9223372036854775808"), .string("1")]),
    (["1e400", "1"], [.string("1e400"), .string("1")]),
    (["[1]", "[2, 3]"], [.list(.int64, [.int64(1)]), .list(.int64, [.int64(2), .int64(3)])]),
    (["[1]", "[2.5]"], [.list(.double, [.double(1)]), .list(.double, [.double(2.5)])]),
    (["[1]", "[\"x\"]"], [.list(.string, [.string("1")]), .list(.string, [.string("x")])]),
    (["[]", "[\"x\"]"], [.list(.string, []), .list(.string, [.string("x")])]),
    (["[]", "null"], [.list(.unknown, []), nil]),
    (["\"\"", "\"x\""], [.string(""), .string("x")]),
  ]

  @Test(arguments: columns)
  func `a column has the one type that holds all of it`(_ values: [String], _ fields: [FieldValue?]) throws {
    let plan = try plan(values.enumerated().map { "{\"id\": \"\($0.offset)\", \"f\": \($0.element)}" })

    #expect(plan.refusals == [])
    #expect(plan.records.map { $0.fields["f"] } == fields)
  }

  /// The cells of one column of a table, its type, and the reason.
  private static let cells: [([String], String?, ColumnType.Reason)] = [
    (["713752e1", "5"], "STRING", .code("713752e1", line: 2)), (["12E12"], "STRING", .code("12E12", line: 2)),
    (["1.9", "1.10"], "STRING", .code("1.10", line: 3)), (["1", "1.0", "1.10"], "STRING", .code("1.10", line: 4)),
    (["1.10", "1.9"], "STRING", .code("1.10", line: 2)), (["5", "9.90"], "STRING", .code("9.90", line: 3)),
    (["9.90", "10.50"], "DOUBLE", .fractions), (["-0.50", "12.25", ""], "DOUBLE", .fractions),
    (["1.9", "2.25", "3"], "DOUBLE", .fractions), (["1.0", "2.25"], "DOUBLE", .fractions),
    (["0.30000000000000004", "1.5"], "DOUBLE", .fractions),
    (["0.1234567890123456789"], "STRING", .code("0.1234567890123456789", line: 2)),
    (["007", "12"], "STRING", .text("007", line: 2)), (["-0", "1"], "STRING", .code("-0", line: 2)),
    (["+49", "1"], "STRING", .text("+49", line: 2)), (["1", "2"], "INT64", .integers),
    (["true", "0"], "INT64", .integers), (["9007199254740993", "1"], "INT64", .integers),
    (["1.5", "9007199254740993"], "STRING", .code("9007199254740993", line: 3)),
    (["9223372036854775808"], "STRING", .text("9223372036854775808", line: 2)),
    (["1", "n/a"], "STRING", .text("n/a", line: 3)), (["\"\"", ""], "STRING", .emptyTexts), (["", ""], nil, .empty),
  ]

  @Test(arguments: cells)
  func `a column of a table whose values would not stay as written is text, and says why`(
    _ values: [String],
    _ type: String?,
    _ reason: ColumnType.Reason
  ) throws {
    let text = "f,z\n" + values.map { "\($0),z\n" }.joined()
    let file = try RecordFile(Data(text.utf8), name: "x.csv")
    let plan = try ImportPlan(file, recordType: "Note", idField: nil, references: [:], knownTypes: { _ in [:] })

    #expect(plan.columns.first == ImportColumn(field: "f", type: type, reason: reason))
    if type == "STRING" {
      let texts = values.map { $0 == "" ? nil : FieldValue.string($0 == "\"\"" ? "" : $0) }
      #expect(try plan.all().records.map { $0.fields["f"] } == texts)
    }
  }

  @Test func `a column has the type that is given, else the one that is known`() throws {
    let text = "code,at,n,tags,c\n12E12,2026-01-02T00:00:00Z,1,\"[\"\"a\"\"]\",\nx,0,2,[],x\n"
    let file = try RecordFile(Data(text.utf8), name: "x.csv")
    let given = try ImportPlan.columns(parsing: ["at=timestamp", "tags=STRING_LIST", "code=STRING", "n=INT64"])
    let plan = try ImportPlan(
      file,
      recordType: "Note",
      idField: nil,
      references: ["c": "Country"],
      columns: given,
      knownTypes: { _ in ["n": "INT64", "code": "STRING"] }
    )

    #expect(
      plan.columns == [
        ImportColumn(field: "code", type: "STRING", reason: .given()),
        ImportColumn(field: "at", type: "TIMESTAMP", reason: .given()),
        ImportColumn(field: "n", type: "INT64", reason: .given()),
        ImportColumn(field: "tags", type: "STRING_LIST", reason: .given()),
        ImportColumn(field: "c", type: "REFERENCE", reason: .given()),
      ]
    )
    #expect(
      try plan.all().records.map { $0.fields["at"] } == [.timestamp(1_767_312_000_000), .timestamp(0)]
    )
    #expect(try plan.all().records.map { $0.fields["tags"] } == [.list(.string, [.string("a")]), .list(.string, [])])
    let known = try ImportPlan(file, recordType: "Note", idField: nil, references: [:]) { _ in ["code": "STRING"] }
    #expect(known.columns.first == ImportColumn(field: "code", type: "STRING", reason: .known))
  }

  /// The values of a field, its type in queued changes, its type here, and why.
  private static let beside: [([String], String, String, ColumnType.Reason)] = [
    (["1", "2"], "STRING", "STRING", .queued(own: "INT64")), (["1.5"], "STRING", "STRING", .queued(own: "DOUBLE")),
    (["1", "2"], "DOUBLE", "DOUBLE", .queued(own: "INT64")),
    (["[1]"], "STRING_LIST", "STRING_LIST", .queued(own: "INT64_LIST")),
    (["1"], "ENCRYPTED_STRING", "ENCRYPTED_STRING", .queued(own: "ENCRYPTED_INT64")),
    (["\"x\""], "STRING", "STRING", .queued()), (["\"x\"", "1"], "STRING", "STRING", .queued()),
    (["1"], "INT64", "INT64", .queued()), (["\"x\""], "REFERENCE", "REFERENCE", .queued()),
    (["\"2026-01-31T12:00:00Z\""], "TIMESTAMP", "TIMESTAMP", .queued()),
    (["[]"], "STRING_LIST", "STRING_LIST", .queued()),
    (["null"], "STRING", "STRING", .queued()),
    // The lines are refused, and only another type takes them.
    (["\"x\""], "INT64", "INT64", .queued(own: "STRING")), (["1", "\"x\""], "INT64", "INT64", .queued(own: "STRING")),
    (["\"x\""], "TIMESTAMP", "TIMESTAMP", .queued(own: "STRING")),
  ]

  @Test(arguments: beside)
  func `a type of queued changes counts, and is a warning where the file alone would have another`(
    _ values: [String],
    _ queued: String,
    _ type: String,
    _ reason: ColumnType.Reason
  ) throws {
    let plain = try Self.plan(values, queued: queued)
    #expect(plain.columns.first { $0.field == "f" } == ImportColumn(field: "f", type: type, reason: reason))
    #expect(plain.warnings.isEmpty == (reason == .queued()))
  }

  @Test func `what the server has decides over queued changes, and so does what a person says`() throws {
    let fetched = try Self.plan(["\"eA==\""], known: ["f": "BYTES"], queued: "STRING")
    #expect(fetched.columns.first { $0.field == "f" } == ImportColumn(field: "f", type: "BYTES", reason: .known))
    #expect(fetched.warnings == [])
    let given = try Self.plan(["\"eA==\""], ["f": .scalar(.bytes)], queued: "STRING")
    let column = ImportColumn(field: "f", type: "BYTES", reason: .given(queued: "STRING"))
    #expect(given.columns.first { $0.field == "f" } == column)
    #expect(given.warnings.count == 1)
    // A secret that is only queued is no column to correct.
    #expect(throws: FieldError.self) {
      try Self.plan(["\"x\""], ["f": .scalar(.string)], queued: "ENCRYPTED_STRING")
    }
  }

  /// The plan of an import of a field with these values, beside the types that the server and queued changes have.
  private static func plan(
    _ values: [String],
    _ given: [String: WireTypeTag] = [:],
    known: [String: String] = [:],
    queued: String
  ) throws -> ImportPlan {
    let lines = values.enumerated().map { "{\"id\": \"\($0.offset)\", \"f\": \($0.element)}" }
    return try ImportPlan(
      RecordFile(Data(lines.joined(separator: "\n").utf8), name: "x.ndjson"),
      recordType: "Note",
      idField: "id",
      references: [:],
      columns: given,
      knownTypes: { _ in known },
      queuedTypes: { _ in ["f": queued] }
    )
  }

  @Test func `a date in a column that is given as a time is its midnight in UTC, and no other time without an offset`()
    throws
  {
    let lines = [
      #"{"id": "1", "d": "2026-12-31"}"#, #"{"id": "2", "d": "2026-12-31T12:00:00"}"#, #"{"id": "3", "d": "2026-12"}"#,
      #"{"id": "4", "d": "2026-12-31T00:00:00+01:00"}"#, #"{"id": "5", "d": 5}"#,
    ]
    let file = try RecordFile(Data(lines.joined(separator: "\n").utf8), name: "x.ndjson")
    func plan(_ given: [String: WireTypeTag], known: [String: String] = [:]) throws -> ImportPlan {
      try ImportPlan(file, recordType: "N", idField: "id", references: [:], columns: given) { _ in known }
    }

    for type in [WireTypeTag.scalar(.timestamp), .encrypted(.scalar(.timestamp))] {
      for known in [[:], ["d": type.description]] {
        let plan = try plan(["d": type], known: known)
        let slice = try plan.all()
        let midnight: Int64 = 1_798_675_200_000
        #expect(slice.refusals.map(\.line) == [2, 3])
        #expect(
          slice.records.map { $0.fields["d"] }
            == [midnight, midnight - 3_600_000, 5].map { type.marking(.timestamp($0)) }
        )
        #expect(plan.columns.first?.midnight == ImportColumn.Midnight(date: "2026-12-31", line: 1))
      }
    }
    #expect(try plan([:], known: ["d": "TIMESTAMP"]).all().refusals.map(\.line) == [1, 2, 3])
    #expect(try plan(["d": .list(.timestamp)]).all().records == [])
    #expect(SourceValue.list([.text("2026-12-31")]).atMidnight == .list([.text("2026-12-31T00:00:00Z")]))
    #expect(SourceValue.text(#"["2026-12-31"]"#).atMidnight == .list([.text("2026-12-31T00:00:00Z")]))
  }

  private func exported(_ fields: String) -> String {
    #"{"recordName": "n", "recordType": "Note", "zone": "z", "fields": {\#(fields)}}"#
  }

  @Test func `an exported record is imported with the files that it names, or without them`() throws {
    let file = #"{"fileChecksum": "c", "size": 1, "file": "f"}"#
    func record(_ type: String, _ value: String, takesFiles: Bool = true) throws -> ImportedRecord? {
      let line = exported(#""photo": {"type": "\#(type)", "value": \#(value)}, "n": {"type": "INT64", "value": 1}"#)
      let records = try RecordFile(Data(line.utf8), name: "x.ndjson")
      let plan = try ImportPlan(records, recordType: nil, idField: nil, references: [:], takesFiles: takesFiles) { _ in
        [:]
      }
      let slice = try plan.all()
      if let record = slice.records.first { #expect(record.fields["n"] == .int64(1)) }
      return slice.records.first
    }
    let taken = ImportedFile(name: "f", checksum: "c", size: 1)

    let one = try record("ASSETID", file)
    #expect(one?.files == ["photo": [taken]] && one?.lacksFiles == false && one?.fields["photo"] == nil)
    let two = try record("ASSETID_LIST", "[\(file), \(file)]")
    #expect(two?.files == ["photo": [taken, taken]] && two?.fields["photo"] == .list(.asset, []))
    for without in [
      try record("ASSETID", file, takesFiles: false), try record("ASSETID", #"{"fileChecksum": "c", "size": 1}"#),
      try record("ASSETID", #"{"fileChecksum": null, "size": null, "file": null}"#),
      try record("ASSETID_LIST", #"[\#(file), {"fileChecksum": "c"}]"#),
    ] {
      #expect(without?.files == [:] && without?.lacksFiles == true && without?.fields["photo"] == nil)
    }
    #expect(try record("ASSETID", "null")?.lacksFiles == false)
    for wrong in ["", ".", "..", "a/b", "../f", "/f", #"a\u0000b"#] {
      #expect(try record("ASSETID", #"{"fileChecksum": "c", "file": "\#(wrong)"}"#) == nil)
    }
    #expect(try record("ASSETID", "5") == nil)
  }

  @Test func `an exported record keeps encrypted values encrypted`() throws {
    let line = exported(
      #""a": {"type": "ENCRYPTED_STRING", "value": "x"}, "b": {"type": "ENCRYPTED_INT64_LIST", "value": [1]}, "#
        + #""c": {"type": "ENCRYPTED_UNKNOWN_LIST", "value": []}, "d": {"type": "STRING_LIST", "value": []}"#
    )

    #expect(
      try plan([line], id: nil).records.first?.fields == [
        "a": .encrypted(.string("x")), "b": .encrypted(.list(.int64, [.int64(1)])),
        "c": .encrypted(.list(.unknown, [])), "d": .list(.unknown, []),
      ]
    )
  }

  @Test func `an exported record does not make a known encrypted field plain`() throws {
    for field in [#""a": {"type": "STRING", "value": "x"}"#, #""a": {"type": "STRING_LIST", "value": []}"#] {
      #expect(try plan([exported(field)], id: nil, known: ["a": "ENCRYPTED_STRING"]).refusals.map(\.field) == ["a"])
    }
  }

  @Test(
    arguments: [
      ("cdoe", "there is no column cdoe; did you mean code?"),
      ("size", "there is no column size; the columns are code, n"),
      ("n", nil), ("note", nil), ("draft", nil),
    ] as [(String, String?)]
  )
  func `a type or a reference for a field that no line has and nothing else is a wrong command`(
    _ field: String,
    _ message: String?
  ) throws {
    func plan(_ text: String, isReference: Bool) throws {
      let type = isReference ? "REFERENCE" : "STRING"
      _ = try ImportPlan(
        RecordFile(Data(text.utf8), name: "x.ndjson"),
        recordType: "N",
        idField: nil,
        references: isReference ? [field: "City"] : [:],
        columns: isReference ? [:] : [field: .scalar(.string)],
        knownTypes: { _ in ["note": type] },
        queuedTypes: { _ in ["draft": type] }
      )
    }

    for isReference in [false, true] {
      if let message {
        #expect(throws: RecordFileError(message: message)) {
          try plan("{\"code\": 1}\n{\"n\": 2}\n", isReference: isReference)
        }
      } else {
        #expect(throws: Never.self) { try plan("{\"code\": 1}\n{\"n\": 2}\n", isReference: isReference) }
      }
      #expect(throws: Never.self) { try plan("", isReference: isReference) }
    }
  }

  @Test func `a type that contradicts another, or names no column, is a wrong command`() throws {
    func plan(_ given: [String], _ references: [String: String] = [:], _ text: String = "a,b\n1,2\n") throws {
      let file = try RecordFile(Data(text.utf8), name: "x.csv")
      let columns = try ImportPlan.columns(parsing: given)
      _ = try ImportPlan(file, recordType: "N", idField: nil, references: references, columns: columns) { _ in
        ["a": "INT64", "l": "UNKNOWN_LIST"]
      }
    }
    for wrong in [
      ["a"], ["=STRING"], ["a="], ["a=b=c"], ["a=NUMBER"], ["a=ASSETID"], ["b=STRING", "b=INT64"], ["a=STRING"],
    ] {
      #expect(throws: FieldError.self, "\(wrong)") { try plan(wrong) }
    }
    #expect(throws: FieldError.self) { try plan(["b=STRING"], ["b": "City"]) }
    #expect(throws: FieldError.self) { try plan(["l=STRING"]) }
    #expect(throws: RecordFileError.self) { try plan(["nope=STRING"]) }
    #expect(throws: Never.self) { try plan(["a=INT64", "b=STRING"]) }
    #expect(throws: Never.self) { try plan(["l=STRING_LIST"], [:], "l\n[]\n") }
  }

  @Test func `in a column of references a list among names is refused, and a column of lists is one`() throws {
    func plan(_ text: String, _ known: [String: String] = [:]) throws -> ImportSlice {
      let file = try RecordFile(Data(text.utf8), name: "x.csv")
      return try ImportPlan(file, recordType: "N", idField: nil, references: ["c": "C"]) { _ in known }.all()
    }
    let list = "\"[\"\"1\"\",\"\"3\"\"]\""

    for known in [[:], ["c": "REFERENCE"]] {
      let mixed = try plan("c,n\n\(list),1\nDE,2\n\(list),3\n7,4\n,5\n", known)
      #expect(mixed.records.map { $0.fields["c"] } == [link("DE"), link("7"), nil])
      #expect(mixed.refusals.map(\.line) == [2, 4])
      #expect(mixed.refusals.map(\.field) == ["c", "c"])
    }
    let lists = try plan("c\n\(list)\n\"[\"\"2\"\"]\"\n")
    #expect(
      lists.records.map { $0.fields["c"] } == [
        .list(.reference, [link("1"), link("3")]), .list(.reference, [link("2")]),
      ]
    )
    let object = "\"{\"\"recordName\"\":\"\"DE\"\",\"\"action\"\":\"\"VALIDATE\"\"}\""
    let validated = FieldValue.reference(WireReference(recordName: "DE", action: "VALIDATE"))
    #expect(try plan("c,n\n\(object),1\n").records.map { $0.fields["c"] } == [validated])
    // Names that look like no list stay names.
    #expect(try plan("c\n[1\n(2)\n").records.map { $0.fields["c"] } == [link("[1"), link("(2)")])
  }

  @Test func `an empty cell clears its field where that is wanted`() throws {
    let bytes = Array("id,n,s\n1,,x\n2,5,\n".utf8)
    let file = try RecordFile(name: "x.csv", emptyCells: .clear) { Array(bytes.dropFirst($0).prefix($1)) }
    let plan = try ImportPlan(file, recordType: "N", idField: "id", references: [:]) { _ in ["n": "ASSETID"] }.all()

    #expect(plan.records.map(\.cleared) == [["n"]])
    #expect(plan.refusals.map(\.line) == [3])
  }

  private static let lineRefusals: [(String, String?, String)] = [
    (
      "{\"id\": \"1\", \"f\": {\"a\": 1}}", "f",
      "f is an object; a field holds one value or a list, so give its parts fields of their own"
    ),
    ("{\"id\": \"1\", \"f\": [1, \"x\"]}", "f", "f is a mixed list; give a list of numbers or a list of texts"),
    (
      "{\"id\": \"1\", \"f\": [null]}", "f",
      "f is a list that holds null, lists or objects; give a list of plain values"
    ),
    (
      "{\"id\": \"1\", \"f\": [[1]]}", "f", "f is a list that holds null, lists or objects; give a list of plain values"
    ),
    (
      "{\"id\": \"1\", \"my field\": 1}", "my field",
      "'my field' is no field name; use a letter, then letters, digits and _"
    ),
    ("{\"id\": \"1\", \"\": 1}", "", "'' is no field name; use a letter, then letters, digits and _"),
    ("{\"f\": 1}", "id", "id has no value and names the record; give it one"),
    ("{\"id\": null}", "id", "id has no value and names the record; give it one"),
    ("{\"id\": \"\"}", "id", "id names no record: a record name must not be empty"),
    ("{\"id\": true}", "id", "id names the record; give it a text or a number"),
    ("{\"id\": [1]}", "id", "id names the record; give it a text or a number"),
    ("{\"id\": \"_x\"}", "id", "id names no record: a record name must not begin with _"),
    ("{\"id\": \"a\\u0000b\"}", "id", "id names no record: a record name must not hold control characters"),
    (
      "{\"id\": \"\(String(repeating: "x", count: 256))\"}", "id",
      "id names no record: a record name has at most 255 characters"
    ),
    ("{\"id\": \"1\", \"n\": \"x\"}", "n", "n is INT64 and this value is STRING; give a whole number below 2^63"),
    ("{\"id\": \"1\", \"n\": 1.5}", "n", "n is INT64 and this value is DOUBLE; give a whole number below 2^63"),
    ("{\"id\": \"1\", \"photo\": \"x\"}", "photo", "photo is ASSETID, which cannot be given as text; leave it out"),
    ("{\"id\": \"1\", \"odd\": \"x\"}", "odd", "odd is of type ODD, which this version cannot write; leave it out"),
    (
      "{\"id\": \"1\", \"country\": true}", "country",
      "country is REFERENCE and this value is INT64; give the name of a record"
    ),
    ("{\"id\": \"1\", \"country\": \"\"}", "country", "country refers to no record: a record name must not be empty"),
    ("{\"id\": \"good\"}", "id", "'good' names the record of line 1 already; keep one of the two"),
    ("nonsense", nil, "not JSON: this is not a JSON value (column 1)"),
    (
      "{\"id\": \"1\", \"f\": \"\(String(repeating: "x", count: 1_000_000))\"}", nil,
      "the record has 1000004 bytes and the server takes at most 1000000; shorten it or split it"
    ),
  ]

  @Test(arguments: lineRefusals)
  func `a bad line is refused with its number, the others go on`(
    _ line: String,
    _ field: String?,
    _ message: String
  ) throws {
    let plan = try plan(
      ["{\"id\": \"good\", \"country\": \"at\"}", line, "{\"id\": \"better\"}"],
      references: ["country": "Country"],
      known: ["n": "INT64", "photo": "ASSETID", "odd": "ODD"]
    )

    #expect(plan.records.map(\.name) == ["good", "better"])
    #expect(plan.records.map(\.line) == [1, 3])
    #expect(plan.refusals == [ImportRefusal(line: 2, field: field, message: message)])
  }

  @Test func `a refused line has no say in the types`() throws {
    let plan = try plan(["{\"id\": 1, \"f\": 1}", "{\"id\": 2, \"f\": \"x\", \"g\": {}}"])

    #expect(plan.records.map { $0.fields["f"] } == [.int64(1)])
  }

  @Test func `a list among single values is refused`() throws {
    let plan = try plan(["{\"id\": 1, \"f\": 1}", "{\"id\": 2, \"f\": [1]}"])

    #expect(plan.refusals.map(\.line) == [2])
    #expect(plan.refusals.map(\.field) == ["f"])
  }

  @Test func `the id names the record and stays a field of its column's type`() throws {
    let numbers = try plan(["{\"id\": 7}", "{\"id\": 9007199254740993}"])
    let mixed = try plan(["{\"id\": 7}", "{\"id\": \"x\"}"])

    #expect(numbers.records.map(\.name) == ["7", "9007199254740993"])
    #expect(numbers.records.map { $0.fields["id"] } == [.int64(7), .int64(9_007_199_254_740_993)])
    #expect(mixed.records.map { $0.fields["id"] } == [.string("7"), .string("x")])
  }

  @Test func `7 and text 7 are one record, two spellings of an accent are two`() throws {
    let plan = try plan(["{\"id\": 7}", "{\"id\": \"7\"}", "{\"id\": \"é\"}", "{\"id\": \"e\\u0301\"}"])

    #expect(plan.records.map(\.line) == [1, 3, 4])
    #expect(plan.refusals.map(\.line) == [2])
  }

  @Test func `without an id field every record gets a new name`() throws {
    var count = 0
    let file = try RecordFile(Data("a\n1\n2\n".utf8), name: "x.csv")
    let plan = try ImportPlan(file, recordType: "Note", idField: nil, references: [:], knownTypes: { _ in [:] }).all {
      count += 1
      return "made-\(count)"
    }

    #expect(plan.records.map(\.name) == ["made-1", "made-2"])
  }

  @Test func `known types win over the column`() throws {
    let plan = try plan(
      ["{\"id\": 1, \"n\": 1, \"d\": 2, \"s\": 3.50, \"t\": \"1970-01-01T00:00:00Z\", \"l\": []}"],
      known: ["n": "STRING", "d": "DOUBLE", "s": "STRING", "t": "TIMESTAMP", "l": "DOUBLE_LIST"]
    )

    #expect(
      plan.records[0].fields == [
        "id": .int64(1), "n": .string("1"), "d": .double(2), "s": .string("3.50"), "t": .timestamp(0),
        "l": .list(.double, []),
      ]
    )
  }

  /// A reference that says a name alone.
  private func link(_ name: String) -> FieldValue { .reference(WireReference(recordName: name, action: nil)) }

  @Test func `a reference field refers to the record of that name, whatever the others hold`() throws {
    let plan = try plan(
      [
        "{\"id\": 1, \"c\": \"DE\"}", "{\"id\": 2, \"c\": 42}", "{\"id\": 3, \"c\": null}",
        "{\"id\": 4, \"c\": [\"DE\", 1]}", "{\"id\": 5, \"c\": 1.10}",
      ],
      references: ["c": "Country"],
      known: ["c": "REFERENCE"]
    )
    let free = try self.plan(["{\"id\": 4, \"c\": [\"DE\", 1]}"], references: ["c": "Country"])

    #expect(plan.records.map { $0.fields["c"] } == [link("DE"), link("42"), nil, link("1.10")])
    #expect(plan.refusals.map(\.line) == [4])
    #expect(free.records[0].fields["c"] == .list(.reference, [link("DE"), link("1")]))
  }

  @Test func `a reference to a field of another type is a wrong command`() {
    let error = #expect(throws: FieldError.self) {
      try plan(["{\"id\": 1}"], references: ["c": "Country"], known: ["c": "STRING"])
    }

    #expect(error?.message == "c is STRING already and cannot become REFERENCE; leave out --reference")
  }

  @Test func `CSV cells are numbers only where JSON has them, and empty quotes are an empty text`() throws {
    let text = "id,zip,n,note,tags\n1,01234,1,\"\",\"[\"\"a\"\"]\"\n2,99999,,x,[]\n3,5,2.5,,\n"

    let plan = try ImportPlan(
      RecordFile(Data(text.utf8), name: "x.csv"),
      recordType: "Note",
      idField: "id",
      references: [:],
      knownTypes: { _ in ["tags": "STRING_LIST"] }
    ).all()

    #expect(plan.refusals == [])
    #expect(
      plan.records.map(\.fields) == [
        [
          "id": .int64(1), "zip": .string("01234"), "n": .double(1), "note": .string(""),
          "tags": .list(.string, [.string("a")]),
        ],
        ["id": .int64(2), "zip": .string("99999"), "note": .string("x"), "tags": .list(.string, [])],
        ["id": .int64(3), "zip": .string("5"), "n": .double(2.5)],
      ]
    )
  }

  @Test func `a column of quoted numbers with empty quotes stays a column of numbers`() throws {
    let file = try RecordFile(Data("\"a\",\"b\"\n\"1\",\"x\"\n\"\",\"y\"\n".utf8), name: "x.csv")
    let plan = try ImportPlan(file, recordType: "Note", idField: "b", references: [:], knownTypes: { _ in [:] }).all()

    #expect(plan.records.map(\.fields) == [["a": .int64(1), "b": .string("x")], ["b": .string("y")]])
  }

  /// A line as `records export` writes it.
  private static func exported(_ fields: String, name: String = "n", type: String = "Note", owner: String = "null")
    -> String
  {
    #"{"recordName":"\#(name)","recordType":"\#(type)","zone":"z","owner":\#(owner),"changeTag":"1","#
      + #""fields":{\#(fields)},"createdAt":null,"pending":false}"#
  }

  @Test(arguments: [nil, "Note"])
  func `the shares of an export are left out and counted, and the rest comes back`(type: String?) throws {
    let share = Self.exported(
      #""cloudkit.title":{"type":"STRING","value":"Shared"}"#,
      name: "Share-1",
      type: "cloudkit.share"
    )
    let text = [share, Self.exported(""), share].joined(separator: "\n")
    let file = try RecordFile(Data(text.utf8), name: "x.ndjson")
    let plan = try ImportPlan(file, recordType: type, idField: nil, references: [:]) { _ in [:] }
    let slice = try plan.all()

    #expect(plan.shares?.count == 2 && plan.shares?.line == 1)
    #expect(slice.records.map(\.name) == ["n"] && slice.refusals == [])
  }

  @Test func `what was exported comes back with its names, its zones and its types`() throws {
    let fields =
      #""i":{"type":"INT64","value":1},"d":{"type":"DOUBLE","value":1},"s":{"type":"STRING","value":"2"},"#
      + #""t":{"type":"TIMESTAMP","value":5},"b":{"type":"BYTES","value":"AQ=="},"#
      + #""l":{"type":"STRING_LIST","value":["1"]},"e":{"type":"UNKNOWN_LIST","value":[]},"#
      + #""p":{"type":"LOCATION","value":{"latitude":1.5,"longitude":2}},"#
      + #""r":{"type":"REFERENCE","value":{"recordName":"o","action":"DELETE_SELF"}},"#
      + #""___parent":{"type":"REFERENCE","value":{"recordName":"f","action":"NONE"}}"#

    let plan = try plan(
      [Self.exported(fields, name: "a"), Self.exported("", name: "b", owner: "\"_ana\""), #"{"id": "c", "i": 3}"#]
    )

    #expect(plan.refusals == [])
    #expect(plan.records.map(\.name) == ["a", "b", "c"])
    #expect(plan.records.map(\.zone) == [ZoneKey(zone: "z"), ZoneKey(zone: "z", owner: "_ana"), nil])
    #expect(
      plan.records[0].fields == [
        "i": .int64(1), "d": .double(1), "s": .string("2"), "t": .timestamp(5), "b": .bytes(Data([1])),
        "l": .list(.string, [.string("1")]), "e": .list(.unknown, []),
        "p": .location(WireLocation(latitude: 1.5, longitude: 2)),
        "r": .reference(WireReference(recordName: "o", action: "DELETE_SELF")), FieldChanges.parent: .parent("f"),
      ]
    )
  }

  @Test func `of what was exported the rest is taken where a line cannot be`() throws {
    let lines = [
      Self.exported("", name: "city", type: "City"), Self.exported("", name: ""),
      Self.exported(#""x":{"type":"ASSETID","value":{"size":3}}"#), Self.exported(#""x":{"type":"NEW","value":3}"#),
      Self.exported(#""known":{"type":"INT64","value":3}"#), Self.exported("", name: "twice"),
      Self.exported("", name: "twice"), Self.exported("", name: "twice", owner: "\"_ana\""),
      Self.exported(#""___parent":{"type":"STRING","value":"f"}"#),
    ]

    let plan = try plan(lines, known: ["known": "STRING"])

    // A line with a file is taken without it.
    #expect(plan.records.map(\.line) == [3, 6, 8] && plan.records.map(\.lacksFiles) == [true, false, false])
    #expect(
      plan.refusals.map(\.message) == [
        "the record is a City; leave out --type to import records of any type",
        "recordName names no record: " + (NameRule().recordNameProblem("") ?? ""),
        "x is of type NEW, which this version cannot write; leave it out",
        "known is STRING already, and INT64 here; leave it out",
        "'twice' names the record of line 6 already; keep one of the two", "a parent is a REFERENCE",
      ]
    )
  }

  @Test func `without a type, exported records keep theirs and the known fields of each are checked`() throws {
    let lines = [
      Self.exported(#""x":{"type":"INT64","value":1}"#, name: "n", type: "Note"),
      Self.exported(#""x":{"type":"INT64","value":1}"#, name: "c", type: "City"), #"{"id": "p"}"#,
      Self.exported("", name: "w", type: "1st"),
    ]
    let file = try RecordFile(Data(lines.joined(separator: "\n").utf8), name: "x.ndjson")
    let known = { (type: String) in ["x": type == "City" ? "STRING" : "INT64"] }
    let plan = try ImportPlan(file, recordType: nil, idField: nil, references: [:], knownTypes: known).all()

    #expect(plan.records.map { "\($0.type) \($0.name)" } == ["Note n"])
    #expect(plan.refusals.map(\.line) == [2, 3, 4])
    #expect(plan.refusals.map(\.field) == ["x", nil, nil])
  }

  @Test func `a reference to a column that the file lacks is refused as a whole`() throws {
    func plan(_ text: String, _ reference: String) throws {
      let file = try RecordFile(Data(text.utf8), name: "x.csv")
      _ = try ImportPlan(file, recordType: "City", idField: "id", references: [reference: "Country"]) { _ in [:] }
    }
    #expect(throws: RecordFileError.self) { try plan("id,name\n1,at\n", "nmae") }
    #expect(throws: Never.self) { try plan("id,name\n1,at\n", "name") }
    #expect(throws: Never.self) { try plan("id,name\n1,\n", "name") }
  }

  /// A file of which no line can be imported for one reason, and the reason.
  private static let whole: [(String, String, String?, String)] = [
    ("x.csv", "code,n\n,1\n", "Note", "there is no column id; the columns are code, n"),
    ("x.ndjson", "{\"b\": 1}\n{\"a\": 2}", "Note", "there is no column id; the columns are a, b"),
    ("x.csv", "id,n\n1,1\n", nil, "x.csv has lines that name no record type; give --type"),
  ]

  @Test(arguments: whole)
  func `a file without its id column or types is refused as a whole`(
    _ name: String,
    _ text: String,
    _ type: String?,
    _ message: String
  ) throws {
    let file = try RecordFile(Data(text.utf8), name: name)
    let error = #expect(throws: RecordFileError.self) {
      try ImportPlan(file, recordType: type, idField: "id", references: [:], knownTypes: { _ in [:] })
    }

    #expect(error?.message == message)
  }

  @Test func `exported records go where all go where that is wanted`() throws {
    let file = try RecordFile(Data(Self.exported("").utf8), name: "x.ndjson")
    let plan = try ImportPlan(
      file,
      recordType: "Note",
      keepsZones: false,
      idField: nil,
      references: [:],
      knownTypes: { _ in [:] }
    ).all()

    #expect(plan.records.map(\.zone) == [nil])
    #expect(plan.records.map(\.name) == ["n"])
  }

  @Test func `options for references are read and contradictions refused`() throws {
    #expect(
      try ImportPlan.references(parsing: ["country=Country", "parent=Region"]) == [
        "country": "Country", "parent": "Region",
      ]
    )
    for wrong in [["country"], ["=Country"], ["country="], ["a=b=c"], ["1=Country"], ["a=B", "a=C"]] {
      #expect(throws: FieldError.self) { try ImportPlan.references(parsing: wrong) }
    }
  }

  @Test func `slices have at most 500 lines and some megabytes, and what refuses a line does not depend on them`()
    throws
  {
    let long = String(repeating: "x", count: 900_000)
    let lines =
      (0..<1200).map { "{\"id\": \($0), \"n\": 1}" } + ["{\"id\": 7}", "{\"id\": \"l\", \"n\": [1]}"]
      + (0..<10).map { "{\"id\": \"long\($0)\", \"t\": \"\(long)\"}" }
    let file = try RecordFile(Data(lines.joined(separator: "\n").utf8), name: "x.ndjson")
    let plan = try ImportPlan(file, recordType: "Note", idField: "id", references: [:], knownTypes: { _ in [:] })
    var slices: [ImportSlice] = []

    try plan.slices(makeName: { "" }) { slices.append($0) }

    #expect(slices.map { $0.records.count + $0.refusals.count } == [500, 500, 207, 5])
    #expect(slices.flatMap(\.refusals).map(\.line) == [1201, 1202])
  }
}

extension ImportPlan {
  /// All slices in one.
  /// - Parameter makeName: makes the names of records without one; by default "made", "made2", …
  fileprivate func all(makeName: (() -> String)? = nil) throws -> ImportSlice {
    var all = ImportSlice()
    var made = 0
    let next = {
      made += 1
      return made == 1 ? "made" : "made\(made)"
    }
    try slices(makeName: makeName ?? next) { slice in
      all.records += slice.records
      all.refusals += slice.refusals
    }
    return all
  }
}
