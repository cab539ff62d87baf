import CloudKit
import Foundation
import JSONText
import Testing

@testable import cktop

@Suite(.serialized) struct OutputJSONTests {
  @Test func `keys keep their order and unknown values are null`() {
    var object: JSONObject = ["store": "x", "lastSuccessAt": .time(nil), "driver": nil, "inSync": false]
    object["progress"] = ["done": 120, "perSecond": 210.5, "etaSeconds": 2.3]
    object["inSync"] = true

    #expect(
      object.line
        == #"{"store": "x", "lastSuccessAt": null, "driver": null, "inSync": true, "#
        + #""progress": {"done": 120, "perSecond": 210.5, "etaSeconds": 2.3}}"#
    )
    #expect(object["store"] == "x")
    #expect(object["nothing"] == nil)
  }

  private static let values: [(OutputJSON, String)] = [
    (.time(0), "\"1970-01-01T00:00:00.000Z\""),
    (.time(1_767_225_600_123), "\"2026-01-01T00:00:00.123Z\""),
    (.time(.max), "null"),
    (.number(.nan), "null"),
    (.number(.infinity), "null"),
    (.number(.leastNonzeroMagnitude), "5e-324"),
    (.integer(.min), "-9223372036854775808"),
    (.optional(Int?.none), "null"),
    (.optional(7), "7"),
    (.optional(String?.none), "null"),
    (.optional(Bool?.none), "null"),
    (.counts(["b": 2, "a": 1]), "{\"a\": 1, \"b\": 2}"),
    ([], "[]"),
    ([:], "{}"),
    ([1, nil, "x", [true]], "[1, null, \"x\", [true]]"),
  ]

  @Test(arguments: values) func `a value is written as JSON`(_ value: OutputJSON, _ text: String) {
    #expect(value.line == text)
  }

  @Test func `hostile text is one line of plain JSON and comes back whole`() throws {
    let hostile = (0...0x2100).compactMap(Unicode.Scalar.init).map(String.init).joined() + "\u{E0001}\u{FEFF}😀\"\\"

    let line = OutputJSON.text(hostile).line

    #expect(
      try JSONDecoder().decode(String.self, from: Data(line.utf8)).unicodeScalars.elementsEqual(hostile.unicodeScalars)
    )
    let shown = line.unicodeScalars.map(\.properties.generalCategory)
    #expect(!shown.contains(.control) && !shown.contains(.lineSeparator) && !shown.contains(.paragraphSeparator))
    #expect(!line.unicodeScalars.contains("\u{202E}"))
  }

  private static let fields: [(FieldValue, String)] = [
    (.string("x"), #"{"type": "STRING", "value": "x"}"#),
    (.int64(.max), #"{"type": "INT64", "value": 9223372036854775807}"#),
    (.double(1), #"{"type": "DOUBLE", "value": 1.0}"#),
    (.bytes(Data([1, 2, 3])), #"{"type": "BYTES", "value": "AQID"}"#),
    (.timestamp(5), #"{"type": "TIMESTAMP", "value": 5}"#),
    (
      .location(WireLocation(latitude: 1, longitude: 2)),
      #"{"type": "LOCATION", "value": {"latitude": 1.0, "longitude": 2.0}}"#
    ),
    (
      .reference(WireReference(recordName: "DE", zoneID: .defaultZone)),
      #"{"type": "REFERENCE", "value": {"recordName": "DE", "zoneID": {"zoneName": "_defaultZone"}, "action": "NONE"}}"#
    ),
    (
      .asset(WireAsset(fileChecksum: "c", size: 3, receipt: "secret", downloadURL: "https://secret")),
      #"{"type": "ASSETID", "value": {"fileChecksum": "c", "size": 3}}"#
    ),
    (.list(.string, [.string("x")]), #"{"type": "STRING_LIST", "value": ["x"]}"#),
    (.list(.unknown, []), #"{"type": "UNKNOWN_LIST", "value": []}"#),
    (.other(type: "ODD", .object(["a": .int(1), "b": .null])), #"{"type": "ODD", "value": {"a": 1, "b": null}}"#),
  ]

  @Test(arguments: fields) func `a field is written with its type, an asset without its secrets`(
    _ value: FieldValue,
    _ text: String
  ) {
    #expect(OutputJSON.field(value).line == text)
  }
}
