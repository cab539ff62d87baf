import CloudKit
import Foundation
import JSONText
import TestSupport
import Testing

/// Section 2 of the protocol: how records and errors come, and what requests look like.
@Suite(.serialized) struct RecordSpellingTests {
  @Test func `a full record is read whole, whatever else it carries`() throws {
    let answer = try WireResults<WireRecord>(
      json: Data(
        #"""
        {"records":[{"pluginFields":{"a":[{}]},"recordName":"na\u0000me😀","recordType":"Note","recordChangeTag":"2f",
        "deleted":false,"fields":{"title":{"value":"Milk","type":"STRING"},"gone":{"value":null},"empty":{},"no":null},
        "created":{"timestamp":"1767322800123","userRecordName":"_0f","deviceID":"2","x":1},
        "modified":{"timestamp":-62135596800000,"userRecordName":null},"zoneID":{"zoneName":"z","ownerRecordName":"_0f"},
        "parent":{"recordName":"p"},"share":{"recordName":"s","zoneID":null},"shortGUID":"g","stableUrl":null}],
        "continuationMarker":"m","syncToken":"t"}
        """#.utf8
      )
    )

    var record = WireRecord(recordName: "na\0me😀", recordType: "Note", recordChangeTag: "2f")
    record.fields = ["title": .string("Milk")]
    record.created = WireStamp(timestamp: 1_767_322_800_123, userRecordName: "_0f")
    record.created?.deviceID = "2"
    record.modified = WireStamp(timestamp: -62_135_596_800_000)
    record.zoneID = WireZoneID(zoneName: "z", ownerRecordName: "_0f")
    record.parent = WireRecordName(recordName: "p")
    record.share = WireReference(recordName: "s", action: nil)
    record.shortGUID = "g"
    #expect(answer.elements == [.item(record)])
    #expect(answer.continuationMarker == "m")
  }

  @Test func `null means absent in every place that may be empty`() throws {
    let keys = [
      "recordType", "recordChangeTag", "fields", "created", "modified", "deleted", "zoneID", "shortGUID", "parent",
      "share",
      "publicPermission", "participants", "owner", "currentUserParticipant", "serverErrorCode", "pluginFields",
    ]
    let members = keys.map { #""\#($0)":null"# }.joined(separator: ",")

    let records = try WireResults<WireRecord>(
      json: Data(#"{"records":[{"recordName":"n",\#(members)}],"continuationMarker":null}"#.utf8)
    )

    #expect(records.elements == [.item(WireRecord(recordName: "n"))])
    #expect(records.continuationMarker == nil)
  }

  @Test func `a share's own keys are read from among the record's`() throws {
    let answer = try WireResults<WireRecord>(
      json: Data(
        #"""
        {"records":[{"recordName":"s","recordType":"cloudkit.share","publicPermission":"READ_ONLY",
        "participants":[{"type":"OWNER","participantId":"1","x":[]}],"fields":{"cloudkit.title":{"value":"T","type":"STRING"}}}]}
        """#.utf8
      )
    )

    guard case .item(let record) = answer.elements.first else {
      Issue.record("expected a record")
      return
    }
    #expect(record.sharing?.publicPermission == "READ_ONLY")
    #expect(record.sharing?.participants?.map(\.participantId) == ["1"])
    #expect(record.fields == ["cloudkit.title": .string("T")])
  }

  @Test func `tombstones and errors stand among records`() throws {
    let answer = try WireResults<WireRecord>(
      json: Data(
        #"""
        {"records":[{"recordName":"a","deleted":true,"recordType":null},
        {"recordName":"c","deleted":true,"recordType":"Note","recordChangeTag":"2"},
        {"recordName":"b","reason":"slow down","serverErrorCode":"THROTTLED","retryAfter":"2.5","uuid":"u"},
        {"serverErrorCode":"FUTURE_CODE","fields":{}}]}
        """#.utf8
      )
    )

    var throttled = WebServicesError(.throttled, "slow down", retryAfter: 2.5)
    throttled.uuid = "u"
    #expect(
      answer.elements == [
        .deleted("a"), .deleted("c", type: "Note"),
        .failure("b", throttled),
        .failure(nil, WebServicesError(.unknown("FUTURE_CODE"), "")),
      ]
    )
  }

  private static let strange: [String] = [
    "", "null", "[]", "{}", #"{"records":null}"#, #"{"records":{}}"#, #"{"records":[1]}"#, #"{"records":[[]]}"#,
    #"{"records":[{}]}"#, #"{"records":[{"recordName":null}]}"#, #"{"records":[{"recordName":1}]}"#,
    #"{"records":[{"recordName":"a","fields":[]}]}"#, #"{"records":[{"recordName":"a","fields":{"f":1}}]}"#,
    #"{"records":[{"recordName":"a","created":{}}]}"#,
    #"{"records":[{"recordName":"a","created":{"timestamp":1e30}}]}"#,
    #"{"records":[{"recordName":"a","deleted":"true"}]}"#, #"{"records":[{"recordName":"a","publicPermission":{}}]}"#,
    #"{"records":[{"recordName":"\udead"}]}"#, #"{"records":[{"serverErrorCode":5}]}"#, #"{"records":[]}{}"#,
    #"{"records":[]"#, "<!DOCTYPE html><title>502</title>",
  ]

  @Test(arguments: strange)
  func `an answer that is not the protocol's is an error of its own`(_ body: String) async throws {
    let server = ScriptedServer(.json(body), .json(body), .json(body))
    let database = server.container().privateCloudDatabase
    let id = CKRecord.ID(recordName: "a")

    #expect(await errorCode { try await database.records(for: [id]) } == .internalError)
    #expect(
      await errorCode {
        try await database.records(matching: CKQuery(recordType: "T", predicate: NSPredicate(value: true)))
      } == .internalError
    )
    // It may have been saved.
    #expect(await errorCode { try await database.save(CKRecord(recordType: "T", recordID: id)) } == .serverResponseLost)
  }

  @Test(arguments: [
    "[]", "{}", #"{"zones":[{"records":[]}]}"#, #"{"zones":[]}"#, #"{"zones":[{"zoneID":{},"records":[]}]}"#,
  ])
  func `changes without a zone are an error`(_ body: String) async {
    let database = ScriptedServer(.json(body)).container().privateCloudDatabase

    let code = await errorCode {
      try await database.recordZoneChanges(inZoneWith: CKRecordZone.ID(zoneName: "z"), since: nil)
    }
    #expect(code == .internalError)
  }

  @Test(arguments: [
    (#"{"value":{"a":[1]},"type":"INT64"}"#, "INT64"), (#"{"value":"x","type":"INT64"}"#, "INT64"),
    (#"{"value":1e30,"type":"TIMESTAMP"}"#, "TIMESTAMP"), (#"{"value":"a\nb?","type":"BYTES"}"#, "BYTES"),
    (#"{"value":1.5,"type":"INT64"}"#, "INT64"), (#"{"value":[1,null],"type":"INT64_LIST"}"#, "INT64_LIST"),
    (#"{"value":5,"type":"STRING","isEncrypted":true}"#, "STRING"), (#"{"value":5,"type":"ENCRYPTED_BYTES"}"#, "BYTES"),
    (#"{"value":{},"type":"LOCATION"}"#, "LOCATION"), (#"{"value":7,"type":"ASSET"}"#, "ASSET"),
  ])
  func `a value that does not fit its type fails its record, and neither the others nor the page`(
    field: String,
    type: String
  ) throws {
    let sound = #"{"recordName":"b","recordType":"T","fields":{"n":{"value":"x","type":"FUTURE"}}}"#
    let answer = try WireResults<WireRecord>(
      json: Data(#"{"records":[{"recordName":"a","recordType":"T","fields":{"n":\#(field)}},\#(sound)]}"#.utf8)
    )

    guard case .failure("a", let error) = answer.elements[0], case .item(let record) = answer.elements[1] else {
      Issue.record("\(answer.elements)")
      return
    }
    #expect(error.code == .unexpectedServerResponse && error.effect == .unknown && error.reason.hasSuffix(type))
    #expect(record.fields["n"] == .other(type: "FUTURE", .string("x")))
  }

  @Test(arguments: [
    (#"{"value":1700000000000.5,"type":"TIMESTAMP"}"#, FieldValue.timestamp(1_700_000_000_001)),
    (#"{"value":"1700000000000.25","type":"TIMESTAMP"}"#, .timestamp(1_700_000_000_000)),
    (#"{"value":-0.4,"type":"TIMESTAMP"}"#, .timestamp(0)),
    (#"{"value":[1.2,2],"type":"TIMESTAMP_LIST"}"#, .list(.timestamp, [.timestamp(1), .timestamp(2)])),
    (#"{"value":"AAEC\r\nAwQF\n","type":"BYTES"}"#, .bytes(Data([0, 1, 2, 3, 4, 5]))),
    (#"{"value":"AAE","type":"BYTES"}"#, .bytes(Data([0, 1]))),
    (
      #"{"value":{"latitude":1,"longitude":2,"timestamp":5.5},"type":"LOCATION"}"#,
      .location(
        {
          var location = WireLocation(latitude: 1, longitude: 2)
          location.timestamp = 6
          return location
        }()
      )
    ),
  ])
  func `a value that is written out of the ordinary is read`(field: String, value: FieldValue) throws {
    let stamp = #""created":{"timestamp":1.5}"#
    let answer = try WireResults<WireRecord>(
      json: Data(#"{"records":[{"recordName":"a","recordType":"T",\#(stamp),"fields":{"n":\#(field)}}]}"#.utf8)
    )

    guard case .item(let record) = answer.elements[0] else {
      Issue.record("\(answer.elements)")
      return
    }
    #expect(record.fields == ["n": value] && record.created?.timestamp == 2)
  }

  @Test func `a value that does not fit its type in the reply to a save is not taken over`() async throws {
    let reply =
      #"{"records":[{"recordName":"a","recordType":"T","recordChangeTag":"2","fields":{"n":{"value":{"a":[1]},"type":"INT64"}}}]}"#
    let database = ScriptedServer(.json(reply), .json(reply)).container().publicCloudDatabase
    let record = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "a"))
    record["n"] = 1

    #expect(await errorCode { try await database.save(record) } == .serverResponseLost)
    #expect(record["n"] as? Int == 1 && record.recordChangeTag == nil && record.changedKeys() == ["n"])
    #expect(await errorCode { try await database.record(for: record.recordID) } == .internalError)
  }

  @Test func `requests are written with their keys in order`() throws {
    var record = WireRecord(recordName: "n\"\\/\u{1}é", recordType: "Note", recordChangeTag: "1")
    record.fields = [
      "b": .double(3), "a": .string("\u{0}\t\u{7F}\u{2028}😀"), "É": .timestamp(-1), "ab": .list(.int64, [.int64(1)]),
      "d": .double(1e-7), "loc": .location(WireLocation(latitude: 0.1, longitude: -180)), "B": .bytes(Data([1])),
      "asset": .asset(WireAsset(fileChecksum: "c", size: 1, receipt: "r")),
      "": .other(type: "X", .object(["a": .bool(true), "b": .null])),
      "ref": .reference(WireReference(recordName: "x", zoneID: WireZoneID(zoneName: "z", ownerRecordName: "_o"))),
    ]
    record.clearedFields = ["aa", "zz"]
    record.zoneID = WireZoneID(zoneName: "z")
    record.parent = WireRecordName(recordName: "p")

    let ours = try WireRecordOperation(.update, record).json()

    #expect(ours == (try JSON(json: ours)).sorted.data)
    let fields = try #require(try JSON(json: ours).object?["record"]?.object?["fields"]?.object)
    #expect(fields.members.last { $0.key == "zz" }?.value == .object(["value": .null]))
  }

  @Test(.timeLimit(.minutes(40)))
  func `long documents take no longer than they are long`() throws {
    let many = (0..<100_000).map { #""k\#($0)":{"value":"\u0041\n","type":"STRING"}"# }.joined(separator: ",")
    let long = String(repeating: #"\u00e9é\""#, count: 500_000)
    let digits = String(repeating: "0", count: 1_000_000)
    let document = """
      {"records":[{"recordName":"\(long)","fields":{\(many),"\(long)":{"value":"\(long)"},
      "i":{"value":1\(digits)e-1000000,"type":"INT64"}}}]}
      """

    let answer = try WireResults<WireRecord>(json: Data(document.utf8))

    guard case .item(let record) = answer.elements[0] else {
      Issue.record("expected a record")
      return
    }
    #expect(record.recordName.count == 1_500_000)
    #expect(record.fields.count == 100_002)
    #expect(record.fields["i"] == .int64(1))
    let tiny = try FieldValue(json: Data(#"{"value":0.\#(digits)1,"type":"DOUBLE"}"#.utf8))
    #expect(tiny == .other(type: "DOUBLE", .digits("0.\(digits)1")))
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `fields of any kind come back from their bytes`(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let fields = Dictionary(
      (0..<20).map { _ in (random.text(), random.field(lists: true)) },
      uniquingKeysWith: { first, _ in first }
    )

    #expect(try [String: FieldValue](json: fields.json()) == fields)
  }
}

extension SplitMix64 {
  fileprivate mutating func text() -> String {
    let scalars = (0..<Int.random(in: 0..<12, using: &self)).compactMap { _ in
      Unicode.Scalar(UInt32.random(in: 0...(Bool.random(using: &self) ? 0x7F : 0x10FFFF), using: &self))
    }
    return scalars.reduce(into: "") { $0.unicodeScalars.append($1) }
  }

  fileprivate mutating func field(lists: Bool) -> FieldValue {
    switch Int.random(in: 0..<(lists ? 10 : 8), using: &self) {
    case 0: return .string(text())
    case 1: return .int64(next().signed >> Int64.random(in: 0..<64, using: &self))
    case 2:
      let number = Double(bitPattern: next())
      return .double(number.isFinite ? number : 0.5)
    case 3:
      return .bytes(Data((0..<Int.random(in: 0..<9, using: &self)).map { _ in .random(in: 0...255, using: &self) }))
    case 4: return .timestamp(next().signed)
    case 5:
      var place = WireLocation(
        latitude: .random(in: -90...90, using: &self),
        longitude: .random(in: -180...180, using: &self)
      )
      if Bool.random(using: &self) {
        (place.speed, place.timestamp) = (.random(in: 0...9, using: &self), next().signed)
      }
      return .location(place)
    case 6:
      let zone = Bool.random(using: &self) ? WireZoneID(zoneName: text(), ownerRecordName: text()) : nil
      return .reference(
        WireReference(recordName: text(), zoneID: zone, action: Bool.random(using: &self) ? text() : nil)
      )
    case 7: return .asset(WireAsset(fileChecksum: text(), size: next().signed, downloadURL: text()))
    case 8:
      let first = field(lists: false)
      guard let type = FieldType(rawValue: first.wireType) else { return first }
      return .list(type, [first, first])
    default:
      return .other(
        type: "FUTURE",
        .array([.string(text()), .int(next().signed), .null, .object([text(): .bool(true)])])
      )
    }
  }
}

extension UInt64 {
  fileprivate var signed: Int64 { Int64(bitPattern: self) }
}
