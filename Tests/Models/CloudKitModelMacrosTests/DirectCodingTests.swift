import CloudKit
import CloudKitModelMacros
import Foundation
import Testing

/// The code that the macro generates, which knows the coder of records, compared with what it does for other coders.
@Suite(.serialized) struct DirectCodingTests {
  @Test func `models are written as by Codable and read back`() throws {
    var kitchen = Kitchen(id: UUID(), a: "1", b: "2", url: URL(string: "https://example.com"), kind: .big)
    try expectSameRecord(kitchen)
    (kitchen.in, kitchen.tags, kitchen.count, kitchen.watched, kitchen.note) = ([1, 2], [], 7, "w", nil)
    kitchen.list = CKRecord.Reference(recordID: CKRecord.ID(recordName: "l"), action: .none)
    try expectSameRecord(kitchen)
    try expectSameRecord(Own(id: "u", heading: "h", draft: "d"))
    try expectSameRecord(Box(recordName: "b", value: Kitchen.Kind.big))
    try expectSameRecord(Box(recordName: "b", value: 1.5))
    try expectSameRecord(Drawing(id: "d", lines: Data("d".utf8)))
    try expectSameRecord(Shelf())
    try expectSameRecord(Sample())
    var portrait = Portrait(recordName: "p", data: Data("d".utf8), version: "v")
    portrait.album = CKRecord.Reference(recordID: CKRecord.ID(recordName: "a"), action: .none)
    try expectSameRecord(portrait)
    let target = Kitchen(id: UUID(), a: "1", b: "2", url: nil, kind: .big)
    try expectSameRecord(Linked(id: "a"))
    let linked = Linked(id: "a", kitchen: target, next: Link(Linked(id: "b")), others: [Link(Linked(id: "c"))])
    try expectSameRecord(linked)
    let record = try CKRecordEncoder().encode(linked)
    #expect((record["place"] as? CKRecord.Reference)?.action == .deleteSelf)
    #expect((record["next"] as? CKRecord.Reference)?.action == CKRecord.ReferenceAction.none)
  }

  @Test func `a model that cannot be stored is refused as by Codable`() throws {
    let changes: [(inout Sample) -> Void] = [
      { $0.id = "" }, { $0.number = .max }, { $0.ratio = .nan }, { $0.date = .distantFuture + 1e300 },
      { $0.ratios = [1, .infinity] }, { $0.data = Data(count: 1_000_001) },
      { $0.numbers = [[1], [2]] }, { $0.link = URL(fileURLWithPath: "/nowhere") },
      { $0.texts = ["", String(repeating: "x", count: 1_000_001)] },
    ]
    for change in changes {
      var sample = Sample()
      change(&sample)
      #expect(Facts(of: { try encoded(sample) }) == Facts(of: { try encoded(ByCodable(sample)) }))
    }
    let misnamed = Misnamed(id: 1, title: "t")
    #expect(Facts(of: { try encoded(misnamed) }) == Facts(of: { try encoded(ByCodable(misnamed)) }))
    #expect(Facts(of: { try encoded(misnamed) }).error?.first == "id")
  }

  @Test func `a field of another type is read, or refused, as by Codable`() throws {
    let values: [(any CKRecordValue)?] = [
      nil, "text", "", "https://example.com", UUID().uuidString, 0, 1, 300, -1, 2.5, Date(timeIntervalSince1970: 1),
      Data("[1]".utf8), ["a"], [1, 2], [1.5, 2], NSArray(), CKAsset(fileURL: URL(fileURLWithPath: "/nowhere")),
      CKRecord.Reference(recordID: CKRecord.ID(recordName: "l"), action: .none),
      NSNumber(value: UInt64.max), NSArray(array: [["a"]] as [[String]]),
    ]
    let original = try CKRecordEncoder().encode(Sample())
    for key in Sample.Fields.allCases.map(\.rawValue) {
      for value in values {
        let record = try #require(original.copy() as? CKRecord)
        record[key] = value
        let direct = Facts(of: { try CKRecordDecoder().decode(Sample.self, from: record) })
        let coded = Facts(of: { try CKRecordDecoder().decode(ByCodable<Sample>.self, from: record).model })
        #expect(direct == coded, "\(key): \(String(describing: value))")
      }
    }
  }

  @Test func `an encrypted field and a wrong record name are refused as by Codable`() throws {
    let record = CKRecord(recordType: "Sample", recordID: CKRecord.ID(recordName: "s"))
    record.encryptedValues["ratio"] = 2.0
    #expect(
      Facts(of: { try CKRecordDecoder().decode(Sample.self, from: record) })
        == Facts(of: { try CKRecordDecoder().decode(ByCodable<Sample>.self, from: record).model })
    )
    let kitchen = CKRecord(recordType: "Kitchen", recordID: CKRecord.ID(recordName: "no UUID"))
    let direct = Facts(of: { try CKRecordDecoder().decode(Kitchen.self, from: kitchen) })
    #expect(direct == Facts(of: { try CKRecordDecoder().decode(ByCodable<Kitchen>.self, from: kitchen).model }))
    #expect(direct.error?.first == "id")
  }

  private func expectSameRecord<Model: CKRecordModel & Codable>(_ model: Model) throws {
    let (direct, coded) = (try CKRecordEncoder().encode(model), try CKRecordEncoder().encode(ByCodable(model)))
    #expect(direct.recordID == coded.recordID && direct.recordType == coded.recordType)
    #expect(direct.changedKeys() == coded.changedKeys() && direct.allKeys() == coded.allKeys())
    #expect(direct.parent == coded.parent && direct.recordChangeTag == coded.recordChangeTag)
    for key in direct.changedKeys() { #expect(FieldContent.isSame(direct[key], coded[key]), "\(key)") }
    if Model.assetKeys.isEmpty { #expect(try direct.wireFields() == coded.wireFields()) }
    let (read, decoded) = (
      try CKRecordDecoder().decode(Model.self, from: coded),
      try CKRecordDecoder().decode(ByCodable<Model>.self, from: direct)
    )
    try #expect(encoded(read) == encoded(decoded.model))
  }

  /// The fields of the record of a model, without assets.
  private func encoded(_ model: some CKRecordModel & Encodable) throws -> [String: NSObject] {
    let record = try CKRecordEncoder().encode(model)
    return record.storedFields.mapValues(\.object).filter { !($0.value is CKAsset) }
  }
}

/// The value, or what the error states, besides the name of the model.
private struct Facts<Value: Equatable>: Equatable {
  var value: Value?
  var error: [String?]?

  init(of body: () throws -> Value) {
    do {
      value = try body()
    } catch {
      let error = error as? CKModelError
      self.error = [error?.field, error?.expected, error?.failureReason]
    }
  }
}

/// A model coded by `Codable` alone, because its coders hide that they are those of a record.
private struct ByCodable<Model: CKRecordModel & Codable>: CKRecordModel, Codable {
  static var recordType: String { Model.recordType }
  static var recordNameKey: String { Model.recordNameKey }
  static var systemKeys: [String: CKSystemValue] { Model.systemKeys }
  static var assetKeys: Set<String> { Model.assetKeys }
  static var referenceActions: CKReferenceActions { Model.referenceActions }

  let model: Model
  var recordName: String { model.recordName }

  init(_ model: Model) { self.model = model }
  init(from decoder: any Decoder) throws { model = try Model(from: HiddenDecoder(decoder: decoder)) }
  func encode(to encoder: any Encoder) throws { try model.encode(to: HiddenEncoder(encoder: encoder)) }
}

private struct HiddenDecoder: Decoder {
  let decoder: any Decoder
  var codingPath: [any CodingKey] { decoder.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { decoder.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try decoder.container(keyedBy: type)
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try decoder.unkeyedContainer() }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { try decoder.singleValueContainer() }
}

private struct HiddenEncoder: Encoder {
  let encoder: any Encoder
  var codingPath: [any CodingKey] { encoder.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { encoder.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    encoder.container(keyedBy: type)
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { encoder.unkeyedContainer() }
  func singleValueContainer() -> any SingleValueEncodingContainer { encoder.singleValueContainer() }
}

/// A property of every type.
@CKModel
private struct Sample: Equatable {
  var id = "s"
  var number: UInt64 = 7
  var small: Int8 = -1
  var ratio = 1.5
  var half: Float = 0.5
  var isDone = true
  var date: Date? = Date(timeIntervalSince1970: 1.5)
  var data = Data("d".utf8)
  var link: URL?
  var key: UUID?
  var texts = ["a", "b"]
  var ratios = [1.5, 2]
  var flags: [Bool]? = [true, false]
  var numbers: [[Int]] = [[1], []]
  var chosen: Set<Int> = [3, 1]
  var kind = Kitchen.Kind.small
  var list: CKRecord.Reference?
  var untold = Double?.none
}

/// A model that refers to others and to its own type.
@CKModel
private struct Linked {
  var id: String
  @CKField("place", reference: .deleteSelf) var kitchen: Kitchen?
  var kitchens: [Kitchen] = []
  var next: Link<Linked>?
  var others: [Link<Linked>] = []
}

/// A model whose identity is not its record name.
@CKModel
private struct Misnamed {
  var id: Int
  var title: String
  var recordName: String { "n\(id)" }
}
