import CloudKit
import Foundation
import JSONText
import Testing

/// Section 3 of the protocol: how fields come, and that they go back as they came.
@Suite(.serialized) struct FieldSpellingTests {
  private static let place: WireLocation = {
    var place = WireLocation(latitude: 1, longitude: -2.5)
    (place.altitude, place.timestamp) = (10, -1500)
    return place
  }()

  private static let fields: [(String, FieldValue)] = [
    (#"{"value":"Milk","type":"STRING"}"#, .string("Milk")),
    (#"{"type":"STRING","value":"\u0000 é \ud83d\ude00"}"#, .string("\0 é 😀")),
    (#"{"value":9007199254740993,"type":"INT64"}"#, .int64(9_007_199_254_740_993)),
    (#"{"value":"9007199254740993","type":"INT64"}"#, .int64(9_007_199_254_740_993)),
    (#"{"value":"-9223372036854775808","type":"INT64"}"#, .int64(.min)),
    (#"{"value":2e3,"type":"INT64"}"#, .int64(2000)),
    (#"{"value":3,"type":"DOUBLE"}"#, .double(3)), (#"{"value":"0.25","type":"DOUBLE"}"#, .double(0.25)),
    (#"{"value":0e400,"type":"DOUBLE"}"#, .double(0)), (#"{"value":0.00e-999,"type":"DOUBLE"}"#, .double(0)),
    (#"{"value":"AP8=","type":"BYTES"}"#, .bytes(Data([0, 255]))),
    (#"{"value":"\/w==","type":"BYTES"}"#, .bytes(Data([255]))),
    (#"{"value":-62135596800000,"type":"TIMESTAMP"}"#, .timestamp(-62_135_596_800_000)),
    (#"{"value":1767322800000.0,"type":"TIMESTAMP"}"#, .timestamp(1_767_322_800_000)),
    (#"{"value":"1767322800000","type":"TIMESTAMP"}"#, .timestamp(1_767_322_800_000)),
    (
      #"{"value":{"latitude":1,"longitude":"-2.5","altitude":10,"speed":null,"timestamp":-1500},"type":"LOCATION"}"#,
      .location(place)
    ),
    (
      #"{"value":{"recordName":"x","action":"VALIDATE","zoneID":{"zoneName":"z","zoneType":"Z"}},"type":"REFERENCE"}"#,
      .reference(WireReference(recordName: "x", zoneID: WireZoneID(zoneName: "z"), action: "VALIDATE"))
    ),
    (#"{"value":{"fileChecksum":"c","size":"3"},"type":"ASSETID"}"#, .asset(WireAsset(fileChecksum: "c", size: 3))),
    (#"{"value":{"downloadURL":"u"},"type":"ASSET"}"#, .asset(WireAsset(downloadURL: "u"))),
    (#"{"value":["a","b"],"type":"STRING_LIST"}"#, .list(.string, [.string("a"), .string("b")])),
    (#"{"value":[1,"2",3.0],"type":"INT64_LIST"}"#, .list(.int64, [.int64(1), .int64(2), .int64(3)])),
    (#"{"value":[],"type":"TIMESTAMP_LIST"}"#, .list(.timestamp, [])),
    (#"{"value":[{"size":1}],"type":"ASSET_LIST"}"#, .list(.asset, [.asset(WireAsset(size: 1))])),
    (#"{"value":[],"type":"UNKNOWN_LIST"}"#, .list(.unknown, [])),
    (#"{"value":[],"type":"LIST"}"#, .list(.unknown, [])),
    (#"{"value":[1,2],"type":"LIST"}"#, .list(.int64, [.int64(1), .int64(2)])),
    (#"{"value":["a"],"type":"UNKNOWN_LIST"}"#, .list(.string, [.string("a")])),
    (#"{"value":["a",1],"type":"LIST"}"#, .other(type: "LIST", .array([.string("a"), .int(1)]))),
    // Without a type the server's own inference holds.
    (#"{"value":"a"}"#, .string("a")), (#"{"value":1,"type":null}"#, .int64(1)), (#"{"value":1.5}"#, .double(1.5)),
    (#"{"value":true}"#, .int64(1)), (#"{"value":[]}"#, .list(.unknown, [])),
    (#"{"value":["a"]}"#, .list(.string, [.string("a")])),
    (#"{"value":{"recordName":"x"}}"#, .reference(WireReference(recordName: "x", action: nil))),
    (#"{"value":{"latitude":1,"longitude":2}}"#, .location(WireLocation(latitude: 1, longitude: 2))),
    (#"{"value":{"fileChecksum":"c"}}"#, .asset(WireAsset(fileChecksum: "c"))),
    (#"{"value":{"a":null}}"#, .other(type: "UNKNOWN", .object(["a": .null]))),
    (#"{"value":[null]}"#, .other(type: "UNKNOWN", .array([.null]))),
    (#"{"value":18446744073709551615}"#, .other(type: "UNKNOWN", .digits("18446744073709551615"))),
    // Unknown types, and values that are not of their type, are kept as they came.
    (#"{"value":{"a":[1,null]},"type":"FUTURE"}"#, .other(type: "FUTURE", .object(["a": .array([.int(1), .null])]))),
    (#"{"value":[1],"type":"FUTURE_LIST"}"#, .other(type: "FUTURE_LIST", .array([.int(1)]))),
    (#"{"value":"a","type":"UNKNOWN"}"#, .other(type: "UNKNOWN", .string("a"))),
    (#"{"value":1,"type":""}"#, .other(type: "", .int(1))),
    (#"{"value":1,"type":"STRING"}"#, .other(type: "STRING", .int(1))),
    (#"{"value":"a","type":"INT64"}"#, .other(type: "INT64", .string("a"))),
    (#"{"value":"1\u0030","type":"INT64"}"#, .int64(10)),
    (#"{"value":" 1","type":"INT64"}"#, .other(type: "INT64", .string(" 1"))),
    (#"{"value":"","type":"DOUBLE"}"#, .other(type: "DOUBLE", .string(""))),
    (#"{"value":"NaN","type":"DOUBLE"}"#, .other(type: "DOUBLE", .string("NaN"))),
    (#"{"value":1e400,"type":"DOUBLE"}"#, .other(type: "DOUBLE", .digits("1e400"))),
    (#"{"value":9223372036854775808,"type":"INT64"}"#, .other(type: "INT64", .digits("9223372036854775808"))),
    (#"{"value":"9223372036854775808","type":"INT64"}"#, .other(type: "INT64", .string("9223372036854775808"))),
    (#"{"value":1.5,"type":"TIMESTAMP"}"#, .timestamp(2)),
    (#"{"value":1e30,"type":"TIMESTAMP"}"#, .other(type: "TIMESTAMP", .double(1e30))),
    (#"{"value":"%%%","type":"BYTES"}"#, .other(type: "BYTES", .string("%%%"))),
    (#"{"value":{"latitude":1},"type":"LOCATION"}"#, .other(type: "LOCATION", .object(["latitude": .int(1)]))),
    (#"{"value":[1,null],"type":"INT64_LIST"}"#, .other(type: "INT64_LIST", .array([.int(1), .null]))),
    (#"{"value":5,"type":"STRING_LIST"}"#, .other(type: "STRING_LIST", .int(5))),
    // What else an object holds is passed over, and of two members with one name the last counts.
    (#"{"isEncrypted":true,"value":1,"x":{"value":[{}]},"type":"INT64"}"#, .encrypted(.int64(1))),
    (#"{"value":1,"value":2,"type":"INT64","type":"DOUBLE"}"#, .double(2)),
    (
      #"{"value":{"b":1,"a":2.0,"b":3},"type":"FUTURE"}"#,
      .other(type: "FUTURE", .object(["a": .double(2), "b": .int(3)]))
    ),
  ]

  @Test(arguments: fields)
  func `a field is read, written and read again as the same`(_ spelling: String, _ value: FieldValue) throws {
    #expect(try FieldValue(json: Data(spelling.utf8)) == value)
    #expect(try FieldValue(json: value.json()) == value)
  }

  @Test(arguments: [
    "null", "{}", #"{"value":null}"#, #"{"value":null,"type":"STRING"}"#, #"{"type":"STRING"}"#,
  ])
  func `a null field is an absent field`(_ spelling: String) throws {
    #expect(try [String: FieldValue](json: Data(#"{"a":\#(spelling),"b":{"value":1}}"#.utf8)) == ["b": .int64(1)])
  }

  @Test(arguments: ["1", "[]", #""a""#, #"{"value":1,"type":2}"#, #"{"value":"\ud800","type":"STRING"}"#])
  func `what is no field is an error`(_ spelling: String) {
    #expect(throws: JSONError.self) { try FieldValue(json: Data(spelling.utf8)) }
  }

  @Test func `a number that JSON cannot spell is not written`() {
    #expect(throws: JSONError.self) { try FieldValue.double(.nan).json() }
    #expect(throws: JSONError.self) { try FieldValue.list(.double, [.double(-.infinity)]).json() }
  }

  @Test func `a subscription holds fields in the same spelling`() throws {
    let json = #"""
      {"subscriptionID":"s","query":{"recordType":"T","filterBy":[
      {"comparator":"EQUALS","fieldName":"f","fieldValue":{"type":"BYTES","value":"\/w=="}}]}}
      """#

    let subscription = try WireSubscription(json: Data(json.utf8))

    #expect(subscription.query?.filterBy == [WireFilter(.field("f"), "EQUALS", .bytes(Data([255])))])
    #expect(try WireSubscription(json: subscription.json()) == subscription)
  }
}
