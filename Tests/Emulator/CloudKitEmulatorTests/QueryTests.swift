import CloudKitEmulator
import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct QueryTests {
  /// Four notes that every comparator can tell apart.
  static func fixture() throws -> Fixture {
    let fixture = try Fixture.withZone()
    let records = [
      (
        "a",
        #""t":{"value":"Milk and tea"},"n":{"value":1},"l":{"value":["x","y"]},"p":{"value":{"latitude":52.52,"longitude":13.40}}"#
      ),
      (
        "b",
        #""t":{"value":"Mildew"},"n":{"value":2},"l":{"value":["y","zeta"]},"p":{"value":{"latitude":48.85,"longitude":2.35}}"#
      ),
      (
        "c",
        #""t":{"value":"TEA, café"},"n":{"value":3},"l":{"value":["zeta"]},"p":{"value":{"latitude":52.39,"longitude":13.06}}"#
      ),
      ("d", ""),
    ]
    for (name, fields) in records { _ = try fixture.modify(Fixture.save(name, fields)) }
    return fixture
  }

  static let comparators: [(filter: String, names: [String])] = [
    (#"{"comparator":"EQUALS","fieldName":"n","fieldValue":{"value":2,"type":"INT64"}}"#, ["b"]),
    (#"{"comparator":"NOT_EQUALS","fieldName":"n","fieldValue":{"value":2,"type":"INT64"}}"#, ["a", "c"]),
    (#"{"comparator":"LESS_THAN","fieldName":"n","fieldValue":{"value":2,"type":"INT64"}}"#, ["a"]),
    (#"{"comparator":"LESS_THAN_OR_EQUALS","fieldName":"n","fieldValue":{"value":2,"type":"INT64"}}"#, ["a", "b"]),
    (#"{"comparator":"GREATER_THAN","fieldName":"n","fieldValue":{"value":2,"type":"INT64"}}"#, ["c"]),
    (#"{"comparator":"GREATER_THAN_OR_EQUALS","fieldName":"n","fieldValue":{"value":2,"type":"INT64"}}"#, ["b", "c"]),
    (#"{"comparator":"IN","fieldName":"n","fieldValue":{"value":[1,3],"type":"INT64_LIST"}}"#, ["a", "c"]),
    (#"{"comparator":"NOT_IN","fieldName":"n","fieldValue":{"value":[1,3],"type":"INT64_LIST"}}"#, ["b"]),
    (#"{"comparator":"BEGINS_WITH","fieldName":"t","fieldValue":{"value":"Mil","type":"STRING"}}"#, ["a", "b"]),
    (#"{"comparator":"NOT_BEGINS_WITH","fieldName":"t","fieldValue":{"value":"Mil","type":"STRING"}}"#, ["c"]),
    (#"{"comparator":"CONTAINS_ALL_TOKENS","fieldName":"t","fieldValue":{"value":"tea cafe","type":"STRING"}}"#, ["c"]),
    (
      #"{"comparator":"CONTAINS_ANY_TOKENS","fieldName":"t","fieldValue":{"value":"tea","type":"STRING"}}"#, ["a", "c"]
    ),
    (#"{"comparator":"LIST_CONTAINS","fieldName":"l","fieldValue":{"value":"y","type":"STRING"}}"#, ["a", "b"]),
    (#"{"comparator":"NOT_LIST_CONTAINS","fieldName":"l","fieldValue":{"value":"y","type":"STRING"}}"#, ["c"]),
    (
      #"{"comparator":"LIST_CONTAINS_ALL","fieldName":"l","fieldValue":{"value":["x","y"],"type":"STRING_LIST"}}"#,
      ["a"]
    ),
    (
      #"{"comparator":"LIST_CONTAINS_ANY","fieldName":"l","fieldValue":{"value":["x","zeta"],"type":"STRING_LIST"}}"#,
      ["a", "b", "c"]
    ),
    (
      #"{"comparator":"NOT_LIST_CONTAINS_ANY","fieldName":"l","fieldValue":{"value":["x"],"type":"STRING_LIST"}}"#,
      ["b", "c"]
    ),
    (
      #"{"comparator":"LIST_MEMBER_BEGINS_WITH","fieldName":"l","fieldValue":{"value":"ze","type":"STRING"}}"#,
      ["b", "c"]
    ),
    (
      #"{"comparator":"NEAR","fieldName":"p","distance":50000,"fieldValue":{"value":{"latitude":52.5,"longitude":13.4},"type":"LOCATION"}}"#,
      ["a", "c"]
    ),
    (
      #"{"comparator":"EQUALS","systemFieldName":"recordName","fieldValue":{"value":{"recordName":"d"},"type":"REFERENCE"}}"#,
      ["d"]
    ),
    (#"{"comparator":"EQUALS","fieldName":"___recordID","fieldValue":{"value":"d","type":"STRING"}}"#, ["d"]),
    (
      #"{"comparator":"GREATER_THAN","systemFieldName":"modifiedTimestamp","fieldValue":{"value":1767322803000,"type":"TIMESTAMP"}}"#,
      ["c", "d"]
    ),
  ]

  @Test(arguments: comparators)
  func `each comparator finds its records`(row: (filter: String, names: [String])) throws {
    let answer = try Self.fixture().query(#""filterBy":[\#(row.filter)]"#)

    #expect(answer.names == row.names)
  }

  @Test func `filters are ANDed`() throws {
    let filters = Self.comparators[0].filter + "," + Self.comparators[1].filter

    #expect(try Self.fixture().query(#""filterBy":[\#(filters)]"#).names == [])
  }

  @Test func `sorting follows its descriptors, nulls first, and distances where asked`() throws {
    let fixture = try Self.fixture()
    let sort = { (json: String) in try fixture.query(#""sortBy":[\#(json)]"#).names }

    #expect(try sort(#"{"fieldName":"n","ascending":false}"#) == ["c", "b", "a", "d"])
    #expect(try sort(#"{"systemFieldName":"createdTimestamp","ascending":false}"#) == ["d", "c", "b", "a"])
    #expect(try sort(#"{"fieldName":"n"},{"systemFieldName":"recordName"}"#) == ["d", "a", "b", "c"])
    let paris = #"{"value":{"latitude":48.85,"longitude":2.35},"type":"LOCATION"}"#
    #expect(try sort(#"{"fieldName":"p","relativeLocation":\#(paris)}"#).suffix(3) == ["b", "c", "a"])
  }

  @Test(arguments: [
    #"{"comparator":"IN","fieldName":"n","fieldValue":{"value":[1,3]}}"#,
    #"{"comparator":"EQUALS","fieldName":"n","fieldValue":{"value":"2","type":"STRING"}}"#,
    #"{"comparator":"EQUALS","fieldName":"nowhere","fieldValue":{"value":2,"type":"INT64"}}"#,
    #"{"comparator":"LIKE","fieldName":"n","fieldValue":{"value":2,"type":"INT64"}}"#,
    #"{"comparator":"NEAR","fieldName":"n","fieldValue":{"value":2,"type":"INT64"}}"#,
    #"{"comparator":"EQUALS","fieldName":"n"}"#,
  ])
  func `a filter that cannot be is refused instead of dropped`(filter: String) throws {
    let answer = try Self.fixture().query(#""filterBy":[\#(filter)]"#)

    #expect(answer.status == 400 && answer.code == "BAD_REQUEST")
  }

  @Test func `an unknown record type is not found`() throws {
    let answer = try Fixture().post("records/query", #"{"query":{"recordType":"Ghost"}}"#)

    #expect(answer.status == 404 && answer.reason == "Did not find record type: Ghost")
  }

  @Test(arguments: [
    "", #""sortBy":[{"fieldName":"n","ascending":false}],"#,
    #""sortBy":[{"fieldName":"n"},{"systemFieldName":"createdTimestamp"}],"#,
  ])
  func `450 records come page by page, each once, while others are written`(sort: String) throws {
    let fixture = try Fixture.withZone()
    try fixture.fill(450)
    let all =
      #"\#(sort)"filterBy":[{"comparator":"GREATER_THAN_OR_EQUALS","fieldName":"n","fieldValue":{"value":0,"type":"INT64"}}]"#

    var names: [String] = []
    var marker: String?
    repeat {
      let answer = try fixture.query(all, marker.map { #","continuationMarker":"\#($0)""# } ?? "")
      names += answer.names
      marker = answer.object["continuationMarker"] as? String
      _ = try fixture.modify(Fixture.delete(names[0]), Fixture.save("stranger\(names.count)", #""n":{"value":-1}"#))
    } while marker != nil

    #expect(names.count == 450)
    #expect(Set(names).count == 450)
  }

  @Test func `a marker continues only its own query`() throws {
    let fixture = try Self.fixture()
    let first = try fixture.query(#""filterBy":[]"#, #","resultsLimit":2"#)
    let marker = try #require(first.object["continuationMarker"] as? String)

    let other = try fixture.query(#""sortBy":[{"fieldName":"n"}]"#, #","continuationMarker":"\#(marker)""#)

    #expect(other.status == 400)
  }

  @Test func `zoneWide looks into every zone, and a zone ID overrules it`() throws {
    let fixture = try Self.fixture()
    try fixture.createZone("other")
    _ = try fixture.modify(Fixture.save("b"), Fixture.save("z"), zone: "other")
    let query = #"{"zoneWide":true,"query":{"recordType":"Note"}"#

    #expect(try fixture.post("records/query", query + "}").names == ["a", "b", "b", "c", "d", "z"])
    #expect(try fixture.post("records/query", query + #","zoneID":{"zoneName":"other"}}"#).names == ["b", "z"])
    #expect(try fixture.post("records/query", #"{"query":{"recordType":"Note"}}"#).names == [])
    var names: [String] = []
    var marker = ""
    for _ in 0..<6 {
      let page = try fixture.post("records/query", query + #","resultsLimit":1\#(marker)}"#)
      names += page.names
      marker = (page.object["continuationMarker"] as? String).map { #","continuationMarker":"\#($0)""# } ?? ""
    }
    #expect(names == ["a", "b", "b", "c", "d", "z"] && marker.isEmpty)
  }

  @Test func `new records reach queries late where the index lags, and lookups at once`() throws {
    var configuration = EmulatorConfiguration()
    configuration.indexDelay = .seconds(3)
    let fixture = try Fixture.withZone(configuration)
    _ = try fixture.modify(Fixture.save("a"))

    #expect(try fixture.query(#""filterBy":[]"#).names == [])
    #expect(
      try fixture.post("records/lookup", #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"a"}]}"#).names == [
        "a"
      ]
    )
    fixture.pass(3)
    #expect(try fixture.query(#""filterBy":[]"#).names == ["a"])
  }

  @Test(arguments: 0..<20)
  func `indexes answer as a scan of all records does, whatever was written before`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    func roll(_ sides: Int) -> Int { random.below(sides) }
    let fixture = try Fixture.withZone()
    var model: [String: Int] = [:]
    for _ in 0..<60 {
      let name = "r\(roll(30))"
      if roll(4) == 0 {
        _ = try fixture.modify(Fixture.delete(name))
        model[name] = nil
      } else {
        model[name] = roll(8)
        _ = try fixture.modify(Fixture.save(name, #""n":{"value":\#(model[name] ?? 0)}"#))
      }
      guard !model.isEmpty, roll(3) == 0 else { continue }
      let (bound, ascending) = (roll(8), roll(2) == 0)

      let answer = try fixture.query(
        #""sortBy":[{"fieldName":"n","ascending":\#(ascending)}],"filterBy":[{"comparator":"LESS_THAN","fieldName":"n","fieldValue":{"value":\#(bound),"type":"INT64"}}]"#
      )

      let expected = model.filter { $0.value < bound }
        .sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
      #expect(answer.names == (ascending ? expected : expected.reversed()), "seed \(seed)")
    }
  }

  @Test(arguments: [
    #""filterBy":{}"#, #""filterBy":"x""#, #""filterBy":5"#, #""sortBy":7"#, #""sortBy":{}"#,
    #""sortBy":[{"fieldName":"n","ascending":"no"}]"#,
  ])
  func `what should be a list or a flag and is none is refused, and widens nothing`(_ member: String) throws {
    let fixture = try Fixture.withZone()
    try fixture.fill(3)

    let answer = try fixture.query(member)

    #expect(answer.status == 400 && answer.code == "BAD_REQUEST")
    #expect(try fixture.query(#""filterBy":null,"sortBy":null"#).records.count == 3)
  }
}
