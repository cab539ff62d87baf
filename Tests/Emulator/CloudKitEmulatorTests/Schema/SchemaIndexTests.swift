import CloudKitEmulator
import Foundation
import Testing

/// Queries want the indexes that the schema declares.
@Suite(.serialized) struct SchemaIndexTests {
  static func fixture(_ fields: String) throws -> Fixture {
    var configuration = EmulatorConfiguration()
    configuration.assumptions.developmentLearnsSchema = false
    let fixture = try Fixture.withZone(configuration)
    let schema = "DEFINE SCHEMA RECORD TYPE Note (title STRING, n INT64, tags LIST<STRING>, p LOCATION);"
    try fixture.emulator.importSchema(schema, container: "iCloud.test")
    let values =
      #""title":{"value":"Milk"},"n":{"value":1},"tags":{"value":["a"]},"p":{"value":{"latitude":1,"longitude":1}}"#
    _ = try fixture.modify(Fixture.save("a", values))
    let marked = "DEFINE SCHEMA RECORD TYPE Note (\(fields));"
    try fixture.emulator.importSchema(marked, container: "iCloud.test")
    return fixture
  }

  static func filter(_ comparator: String, _ field: String, _ value: String, _ type: String) -> String {
    #""filterBy":[{"comparator":"\#(comparator)","fieldName":"\#(field)","fieldValue":{"value":\#(value),"type":"\#(type)"}}]"#
  }

  static let place = #"{"latitude":1,"longitude":1}"#
  static let sortOnly =
    #""filterBy":[{"comparator":"EQUALS","systemFieldName":"recordName","fieldValue":{"value":"a","type":"STRING"}}],"sortBy""#

  static let rows: [(query: String, index: String, refusal: String)] = [
    (filter("EQUALS", "title", #""Milk""#, "STRING"), "QUERYABLE", "queryable"),
    (filter("IN", "n", "[1]", "INT64_LIST"), "QUERYABLE", "queryable"),
    (filter("GREATER_THAN", "n", "0", "INT64"), "SORTABLE", "sortable"),
    (filter("BEGINS_WITH", "title", #""M""#, "STRING"), "QUERYABLE", "queryable"),
    (filter("BEGINS_WITH", "title", #""M""#, "STRING"), "SORTABLE", "queryable"),
    (filter("CONTAINS_ALL_TOKENS", "title", #""milk""#, "STRING"), "SEARCHABLE", "searchable"),
    (filter("LIST_CONTAINS", "tags", #""a""#, "STRING"), "QUERYABLE", "queryable"),
    (filter("NEAR", "p", place, "LOCATION"), "QUERYABLE", "queryable"),
    (#"\#(sortOnly):[{"fieldName":"n"}]"#, "SORTABLE", "sortable"),
    (#"\#(sortOnly):[{"fieldName":"title","ascending":false}]"#, "SORTABLE", "sortable"),
  ]

  @Test(arguments: rows)
  func `a comparator wants its index`(row: (query: String, index: String, refusal: String)) throws {
    let fields = ["title STRING", "n INT64", "tags LIST<STRING>", "p LOCATION"]
    let key = #""___recordID" REFERENCE QUERYABLE, "#
    let fits = { (field: String) in row.index != "SEARCHABLE" || field.contains("STRING") }

    let bare = try Self.fixture(key + fields.joined(separator: ", "))
    let marked = try Self.fixture(key + fields.map { fits($0) ? "\($0) \(row.index)" : $0 }.joined(separator: ", "))

    let refused = try bare.query(row.query)
    #expect(refused.status == 400 && refused.code == "BAD_REQUEST")
    #expect(refused.reason?.hasSuffix(" is not marked \(row.refusal)") == true)
    #expect(try marked.query(row.query).names == ["a"])
  }

  @Test func `without filters the record name must be queryable`() throws {
    let bare = try Self.fixture("n INT64")
    let marked = try Self.fixture(#"n INT64, "___recordID" REFERENCE QUERYABLE"#)

    #expect(try bare.query(#""filterBy":[]"#).reason == "Field 'recordName' is not marked queryable")
    #expect(try marked.query(#""filterBy":[]"#).names == ["a"])
  }

  @Test func `system fields want indexes too`() throws {
    let bare = try Self.fixture(#"n INT64, "___recordID" REFERENCE QUERYABLE"#)
    let marked = try Self.fixture(
      #"n INT64, "___recordID" REFERENCE QUERYABLE, "___modTime" TIMESTAMP QUERYABLE SORTABLE, "___createdBy" REFERENCE QUERYABLE"#
    )
    let since =
      #""filterBy":[{"comparator":"GREATER_THAN","systemFieldName":"modifiedTimestamp","fieldValue":{"value":0,"type":"TIMESTAMP"}}]"#
    let sorted = #""sortBy":[{"systemFieldName":"modifiedTimestamp"}]"#

    #expect(try bare.query(since).reason == "Field 'modifiedTimestamp' is not marked sortable")
    #expect(try bare.query(sorted).reason == "Field 'modifiedTimestamp' is not marked sortable")
    #expect(try marked.query(since + "," + sorted).names == ["a"])
  }

  @Test func `words of a whole record are looked for in searchable fields alone`() throws {
    let search = #""filterBy":[{"comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":"milk","type":"STRING"}}]"#

    #expect(try Self.fixture("title STRING SEARCHABLE").query(search).names == ["a"])
    #expect(try Self.fixture("title STRING, tags LIST<STRING> SEARCHABLE").query(search).names == [])
    #expect(try Self.fixture("title STRING").query(search).reason == "Field 'record' is not marked searchable")
  }

  @Test func `a locked schema refuses types and fields it does not know`() throws {
    let fixture = try Self.fixture("title STRING")

    let answer = try fixture.modify(
      Fixture.save("b", #""title":{"value":"x"}"#),
      Fixture.save("c", #""other":{"value":"x"}"#),
      #"{"operationType":"create","record":{"recordType":"Other"}}"#
    )

    #expect(answer.outcomes == ["saved", "BAD_REQUEST", "BAD_REQUEST"])
    #expect(
      answer.records[1]["reason"] as? String
        == "Cannot create or modify field 'other' in record 'Note' in production schema"
    )
    #expect(answer.records[2]["reason"] as? String == "Cannot create new type Other in production schema")
  }
}
