import Foundation

/// The yardstick: a page of records as structs of just its shape, which Foundation's coders read and write.
package struct PlainPage: Codable, Sendable {
  package var records: [PlainRecord]
  package var continuationMarker: String?
}

/// A record with ten fields of mixed types.
package struct PlainRecord: Codable, Sendable {
  package struct Fields: Codable, Sendable {
    package var title: PlainField<String>
    package var body: PlainField<String>
    package var kind: PlainField<String>
    package var count: PlainField<Int64>
    package var serial: PlainField<Int64>
    package var price: PlainField<Double>
    package var due: PlainField<Int64>
    package var digest: PlainField<Data>
    package var list: PlainField<Reference>
    package var tags: PlainField<[String]>
  }

  package struct Reference: Codable, Sendable {
    package var recordName: String
    package var action: String
  }

  package struct Zone: Codable, Sendable {
    package var zoneName: String
    package var ownerRecordName: String?
  }

  package struct Stamp: Codable, Sendable {
    package var timestamp: Int64
    package var userRecordName: String
    package var deviceID: String
  }

  package var recordName: String
  package var recordType: String
  package var fields: Fields
  package var recordChangeTag: String?
  package var created: Stamp?
  package var modified: Stamp?
  package var deleted: Bool?
  package var zoneID: Zone?
}

/// A value beside its type.
package struct PlainField<Value: Codable & Sendable>: Codable, Sendable {
  package var value: Value
  package var type: String

  init(_ value: Value, _ type: String) {
    self.value = value
    self.type = type
  }
}

/// A request that creates the records of a page.
package struct PlainModify: Codable, Sendable {
  package struct Operation: Codable, Sendable {
    package var operationType: String
    package var record: PlainRecord
  }

  package var operations: [Operation]
  package var zoneID: PlainRecord.Zone
  package var atomic: Bool
}

extension PlainPage {
  /// 200 records as a server gives them, each different from the others.
  package static let sample = PlainPage(records: (0..<200).map(PlainRecord.init(sample:)))
  /// The same as bytes.
  package static let sampleBytes = bytes(of: sample)

  static func bytes(of value: some Encodable) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    guard let data = try? encoder.encode(value) else { preconditionFailure("The sample cannot be encoded.") }
    return data
  }
}

extension PlainModify {
  /// The request that creates the sample.
  package static let sample = PlainModify(
    operations: PlainPage.sample.records.map { record in
      var record = record
      (record.recordChangeTag, record.created, record.modified) = (nil, nil, nil)
      (record.deleted, record.zoneID) = (nil, nil)
      return Operation(operationType: "create", record: record)
    },
    zoneID: PlainRecord.Zone(zoneName: "notes"),
    atomic: true
  )
}

extension PlainRecord {
  init(sample index: Int) {
    let stamp = Stamp(
      timestamp: 1_767_322_800_123 + Int64(index),
      userRecordName: "_0123456789abcdef0123456789abcdef",
      deviceID: "2"
    )
    let digits = String(index * 7919, radix: 16)
    recordName = "8C1F0E2D-4B6A-4C51-9D3E-\(String(repeating: "0", count: 12 - digits.count))\(digits)"
    recordType = "Note"
    recordChangeTag = "m\(String(index, radix: 36))"
    deleted = false
    zoneID = Zone(zoneName: "notes", ownerRecordName: stamp.userRecordName)
    (created, modified) = (stamp, stamp)
    fields = Fields(
      title: PlainField("Groceries for week \(index)", "STRING"),
      body: PlainField(
        "Milk, crème fraîche and \"good\" bread\nand whatever else there is on shelf \(index).",
        "STRING"
      ),
      kind: PlainField("note", "STRING"),
      count: PlainField(Int64(index), "INT64"),
      serial: PlainField(9_007_199_254_740_993 - Int64(index), "INT64"),
      price: PlainField(19.99 + Double(index), "DOUBLE"),
      due: PlainField(1_767_322_800_000 + Int64(index) * 86_400_000, "TIMESTAMP"),
      digest: PlainField(Data((0..<32).map { UInt8(truncatingIfNeeded: index &* 31 &+ $0 &* 17) }), "BYTES"),
      list: PlainField(Reference(recordName: "list-\(index % 10)", action: "NONE"), "REFERENCE"),
      tags: PlainField(["home", "weekly", "shelf \(index)"], "STRING_LIST")
    )
  }
}
