import CloudKit
import Facts
import Foundation
import Testing

@testable import CloudSync

@Suite(.serialized) struct FieldAssignmentTests {
  private static let berlin = WireLocation(latitude: 52.52, longitude: 13.4)

  /// Argument, type the field is known to have, value; nil clears.
  private static let readings: [(String, String?, FieldValue?)] = [
    ("a=text", nil, .string("text")),
    ("a=two words = one", nil, .string("two words = one")),
    ("a=b:c", nil, .string("b:c")),
    ("a=", nil, nil),
    ("a=", "INT64", nil),
    ("a=null", nil, nil),
    ("a=null", "STRING", nil),
    ("a:STRING=null", nil, .string("null")),
    ("a:STRING=", nil, .string("")),
    ("a=\"\"", nil, .string("")),
    ("a=\"42\"", nil, .string("42")),
    ("a=42", nil, .int64(42)),
    ("a=-0", nil, .int64(0)),
    ("a=9007199254740993", nil, .int64(9_007_199_254_740_993)),
    ("a=9223372036854775807", nil, .int64(.max)),
    ("a=9223372036854775808", nil, .string("9223372036854775808")),
    ("a=2.5", nil, .double(2.5)),
    ("a=1.0", nil, .double(1)),
    ("a=1e400", nil, .string("1e400")),
    ("a=007", nil, .string("007")),
    ("a=+5", nil, .string("+5")),
    ("a=true", nil, .int64(1)),
    ("a=false", nil, .int64(0)),
    ("a=True", nil, .string("True")),
    ("a=[1, 2]", nil, .list(.int64, [.int64(1), .int64(2)])),
    ("a=[1, 2.5]", nil, .list(.double, [.double(1), .double(2.5)])),
    ("a=[\"x\"]", nil, .list(.string, [.string("x")])),
    ("a=[]", nil, .list(.unknown, [])),
    ("a=[]", "STRING_LIST", .list(.string, [])),
    ("a=[1,", nil, .string("[1,")),
    ("a=x", "UNKNOWN_LIST", .string("x")),
    ("a=42", "STRING", .string("42")),
    ("a=1.50", "STRING", .string("1.50")),
    ("a=true", "STRING", .string("true")),
    ("a={\"b\": 1}", "STRING", .string("{\"b\": 1}")),
    ("a=[1]", "STRING", .string("[1]")),
    ("a=3", "DOUBLE", .double(3)),
    ("a=true", "DOUBLE", .double(1)),
    ("a=3.0", "INT64", .int64(3)),
    ("a=1e3", "INT64", .int64(1000)),
    ("a=9007199254740993.0", "INT64", .int64(9_007_199_254_740_993)),
    ("a=9.223372036854775807E+18", "INT64", .int64(.max)),
    ("a=-9223372036854775808", "INT64", .int64(.min)),
    ("a=-9223372036854775808.00", "INT64", .int64(.min)),
    ("a=0e99999999999999999999", "INT64", .int64(0)),
    ("a=-1200e-2", "INT64", .int64(-12)),
    ("a=1e-400", nil, .string("1e-400")),
    ("a=0.0e-400", "DOUBLE", .double(0)),
    ("a=true", "INT64", .int64(1)),
    ("a=3", "TIMESTAMP", .timestamp(3)),
    ("a=1970-01-01T00:00:01Z", "TIMESTAMP", .timestamp(1000)),
    ("a:TIMESTAMP=1970-01-01T01:00:00.25+01:00", nil, .timestamp(250)),
    ("a:bytes=AQID", nil, .bytes(Data([1, 2, 3]))),
    ("a:LOCATION=52.52, 13.4", nil, .location(berlin)),
    ("a:LOCATION={\"latitude\": 52.52, \"longitude\": 13.4}", nil, .location(berlin)),
    ("a:REFERENCE=DE", nil, .reference(WireReference(recordName: "DE", action: nil))),
    ("a=42", "REFERENCE", .reference(WireReference(recordName: "42", action: nil))),
    (
      #"a={"recordName": "DE", "action": "VALIDATE"}"#, nil,
      .reference(WireReference(recordName: "DE", action: "VALIDATE"))
    ),
    (
      "a:REFERENCE={\"recordName\": \"DE\", \"action\": \"DELETE_SELF\"}", nil,
      .reference(WireReference(recordName: "DE", action: "DELETE_SELF"))
    ),
    (
      "a:REFERENCE_LIST=[\"DE\"]", nil, .list(.reference, [.reference(WireReference(recordName: "DE", action: nil))])
    ),
    ("a:STRING_LIST=[1, true]", nil, .list(.string, [.string("1"), .string("true")])),
    ("a:STRING=5", "INT64", .string("5")),
    ("a:ENCRYPTED_STRING=x", nil, .encrypted(.string("x"))),
    ("a:encrypted_int64=7", nil, .encrypted(.int64(7))),
    ("a:ENCRYPTED_STRING=", nil, .encrypted(.string(""))),
    ("a=42", "ENCRYPTED_STRING", .encrypted(.string("42"))),
    ("a=42", "ENCRYPTED_INT64", .encrypted(.int64(42))),
    ("a=AQID", "ENCRYPTED_BYTES", .encrypted(.bytes(Data([1, 2, 3])))),
    ("a=1970-01-01T00:00:01Z", "ENCRYPTED_TIMESTAMP", .encrypted(.timestamp(1000))),
    ("a:ENCRYPTED_LOCATION=52.52, 13.4", nil, .encrypted(.location(berlin))),
    ("a=[\"x\"]", "ENCRYPTED_STRING_LIST", .encrypted(.list(.string, [.string("x")]))),
    ("a=[\"x\"]", "ENCRYPTED_UNKNOWN_LIST", .encrypted(.list(.string, [.string("x")]))),
    ("a=", "ENCRYPTED_STRING", nil),
    ("a=null", "ENCRYPTED_INT64", nil),
    ("Z9_z=x", nil, .string("x")),
  ]

  @Test(arguments: readings)
  func `a value is read by its type, as JSON where it is JSON, else as text`(
    _ argument: String,
    _ known: String?,
    _ value: FieldValue?
  ) throws {
    #expect(try FieldAssignment(parsing: argument).value(knownType: known) == value)
  }

  private static let mistakes: [(String, String?, String)] = [
    ("a", nil, "'a' sets no field; write FIELD=VALUE, or FIELD= to clear one"),
    ("=x", nil, "'' is no field name; use a letter, then letters, digits and _"),
    ("1a=x", nil, "'1a' is no field name; use a letter, then letters, digits and _"),
    ("_a=x", nil, "'_a' is no field name; use a letter, then letters, digits and _"),
    ("a-b=x", nil, "'a-b' is no field name; use a letter, then letters, digits and _"),
    ("ä=x", nil, "'ä' is no field name; use a letter, then letters, digits and _"),
    ("a\u{301}=x", nil, "'a\u{301}' is no field name; use a letter, then letters, digits and _"),
    ("a=abc", "INT64", "a is INT64 and this value is STRING; give a whole number below 2^63"),
    ("a=3.5", "INT64", "a is INT64 and this value is DOUBLE; give a whole number below 2^63"),
    ("a=9223372036854775808", "INT64", "a is INT64 and this value is not one; give a whole number below 2^63"),
    ("a=-9223372036854775809", "INT64", "a is INT64 and this value is not one; give a whole number below 2^63"),
    ("a=9223372036854775808.0", "INT64", "a is INT64 and this value is DOUBLE; give a whole number below 2^63"),
    ("a=-9.223372036854775809e18", "INT64", "a is INT64 and this value is DOUBLE; give a whole number below 2^63"),
    ("a=1e99999999999999999999", "INT64", "a is INT64 and this value is DOUBLE; give a whole number below 2^63"),
    ("a=1e-9223372036854775808", "INT64", "a is INT64 and this value is DOUBLE; give a whole number below 2^63"),
    ("a=1e-400", "DOUBLE", "a is DOUBLE and this value is not one; give a number of a size from 4.9e-324 to 1.79e308"),
    ("a=1e309", "DOUBLE", "a is DOUBLE and this value is not one; give a number of a size from 4.9e-324 to 1.79e308"),
    (
      "a=-9223372036854775809", "TIMESTAMP",
      "a is TIMESTAMP and this value is DOUBLE; give a time such as 2026-01-31T12:00:00Z, or milliseconds since 1970"
    ),
    ("a=[\"1\"]", "REFERENCE", "a is REFERENCE and this value is STRING_LIST; give the name of a record"),
    ("a=\"[1]\"", "REFERENCE", "a is REFERENCE and this value is a list; give the name of a record"),
    ("a=\"3\"", "INT64", "a is INT64 and this value is STRING; give a whole number below 2^63"),
    ("a=abc", "DOUBLE", "a is DOUBLE and this value is STRING; give a number"),
    ("a=[1]", "DOUBLE", "a is DOUBLE and this value is INT64_LIST; give a number"),
    ("a=1", "INT64_LIST", "a is INT64_LIST and this value is INT64; give a JSON list, such as [1, 2]"),
    ("a=[1, \"x\"]", "INT64_LIST", "a is INT64 and this value is STRING; give a whole number below 2^63"),
    ("a=[1, null]", "INT64_LIST", "a is INT64_LIST and a list holds no null; leave it out"),
    ("a:INT64=null", nil, "a is INT64 and null is no value of it; write a= to clear the field"),
    ("a=[1, \"x\"]", nil, "a is a mixed list; give a list of numbers or a list of texts"),
    ("a=[[1]]", nil, "a is a list that holds null, lists or objects; give a list of plain values"),
    ("a={}", nil, "a is an object; say what it is, as in a:LOCATION=… or a:STRING=…"),
    ("a:BYTES=x", nil, "a is BYTES and this value is not one; give the bytes in base64"),
    (
      "a:TIMESTAMP=yesterday", nil,
      "a is TIMESTAMP and this value is not one; give a time such as 2026-01-31T12:00:00Z, or milliseconds since 1970"
    ),
    (
      "a:LOCATION=91,0", nil,
      "a is LOCATION and this value is not one; give latitude,longitude in degrees, such as 52.52,13.40"
    ),
    ("a:REFERENCE=", nil, "a refers to no record: a record name must not be empty"),
    (
      #"a:REFERENCE={"recordName":"x","recordName":"y"}"#, nil,
      "a is REFERENCE and this value is no object of one; check its JSON"
    ),
    (
      #"a={"recordName":"x","action":"FOO"}"#, "REFERENCE",
      "a has an unknown action; use NONE, DELETE_SELF or VALIDATE"
    ),
    (
      #"a={"recordName":"x","actoin":"VALIDATE"}"#, "REFERENCE",
      "a has the key 'actoin'; use recordName, action and zoneID"
    ),
    (
      #"a={"action":"VALIDATE"}"#, "REFERENCE",
      #"a needs a recordName, such as {"recordName": "t1"}; check its JSON"#
    ),
    ("a=x", "ASSETID", "a is ASSETID, which cannot be given as text; leave it out"),
    ("a=x", "ENCRYPTED_FUTURE", "a is of type ENCRYPTED_FUTURE, which this version cannot write; leave it out"),
  ]

  @Test(arguments: mistakes)
  func `a value that does not fit names the field and what to do`(
    _ argument: String,
    _ known: String?,
    _ message: String
  ) {
    let error = #expect(throws: FieldError.self) {
      _ = try FieldAssignment(parsing: argument).value(knownType: known)
    }

    #expect(error?.message == message)
  }

  private static let encryption: [(String, String?, Bool)] = [
    ("a:STRING=x", "ENCRYPTED_STRING", false), ("a:INT64=1", "ENCRYPTED_STRING", false),
    ("a:ENCRYPTED_STRING=x", "STRING", false), ("a:STRING_LIST=[]", "ENCRYPTED_STRING_LIST", false),
    ("a:ENCRYPTED_STRING=x", "ENCRYPTED_STRING", true), ("a:STRING=5", "INT64", true),
    ("a=x", "ENCRYPTED_STRING", true),
    ("a:STRING=x", nil, true), ("a:ENCRYPTED_STRING=x", nil, true), ("a:STRING=x", "FUTURE", true),
  ]

  @Test(arguments: encryption)
  func `a written type is encrypted if that of the server's records is`(
    _ argument: String,
    _ fetched: String?,
    _ fits: Bool
  ) throws {
    let assignment = try FieldAssignment(parsing: argument)
    let result = Result { () throws(FieldError) in try assignment.checkEncryption(fetched: fetched) }

    switch result {
    case .success: #expect(fits)
    case .failure(let error): #expect(!fits && error.message.contains("write a:\(fetched ?? "")="))
    }
  }

  @Test(
    arguments: [
      ("a:STRING=x", nil, ["ENCRYPTED_STRING"], false), ("a:STRING=x", nil, ["STRING", "ENCRYPTED_INT64"], false),
      ("a:STRING=x", "STRING", ["ENCRYPTED_STRING"], true), ("a:STRING=x", nil, ["INT64"], true),
      // A queued change without encryption is corrected.
      ("a:ENCRYPTED_STRING=x", nil, ["STRING"], true), ("a=x", nil, ["ENCRYPTED_STRING"], true),
    ] as [(String, String?, [String], Bool)]
  )
  func `a plain type is refused where only queued changes have the field, encrypted`(
    _ argument: String,
    _ fetched: String?,
    _ queued: [String],
    _ fits: Bool
  ) throws {
    let assignment = try FieldAssignment(parsing: argument)
    let result = Result { () throws(FieldError) in try assignment.checkEncryption(fetched: fetched, queued: queued) }

    if case .success = result { #expect(fits) } else { #expect(!fits) }
  }

  @Test(arguments: [
    "NUMBER", "UNKNOWN", "LIST", "STRING_LIST_LIST", "", "ENCRYPTED_REFERENCE", "ENCRYPTED_ASSETID", "ENCRYPTED_",
    "ENCRYPTED_ENCRYPTED_STRING", "ASSETID_LIST",
  ])
  func `a type that cannot be written is refused with the list of those that can`(_ type: String) {
    let error = #expect(throws: FieldError.self) { try FieldAssignment(parsing: "a:\(type)=1") }

    #expect(error?.message.hasPrefix("a cannot be given the type '\(type)'; write one of STRING, INT64,") == true)
  }

  @Test func `an encrypted value can be typed again`() throws {
    for value: FieldValue in [.encrypted(.string("a b")), .encrypted(.int64(7)), .encrypted(.timestamp(1000))] {
      let text = try #require(value.assigned(Format()))
      #expect(try FieldAssignment(parsing: "a=\(text)").value(knownType: value.wireType) == value)
    }
  }

  @Test func `an asset is the path of its file, by the type written down or the one the field has`() throws {
    let written = try FieldAssignment(parsing: "photo:assetid=./a.jpg")
    let known = try FieldAssignment(parsing: "photo=b.jpg")
    let cleared = try FieldAssignment(parsing: "photo:ASSETID=")

    #expect(written.assetPath(knownType: nil) == "./a.jpg")
    #expect(known.assetPath(knownType: "ASSETID") == "b.jpg")
    #expect(known.assetPath(knownType: "STRING") == nil)
    #expect(cleared.assetPath(knownType: nil) == nil)
    #expect(try cleared.value(knownType: nil) == nil)
  }
}
