import CloudKit
import CloudKitModels
import Foundation

/// A model with one field of any type.
struct Box<Value> {
  var recordName = "box"
  var value: Value
}

extension Box: CKRecordModel {
  static var recordType: CKRecord.RecordType { "Box" }
}
extension Box: Encodable where Value: Encodable {}
extension Box: Decodable where Value: Decodable {}
extension Box: Equatable where Value: Equatable {}
extension Box: Sendable where Value: Sendable {}

struct Note: Codable, Equatable, Identifiable, CKRecordModel {
  var id = UUID(uuidString: "8B0B5C0E-6E2D-4B43-9F2B-0D6E5B3D7A11")!
  var title = "Milk"
  var isDone = false
  var priority: Priority?
  var due: Date?
  var tags: [String] = []
  var place: Place?
}

enum Priority: String, Codable { case low, high }
enum Level: Int, Codable { case first = 1, second }

struct Place: Codable, Equatable {
  var street = "A/B"
  var city: String? = "Bern"
  var floors = [1, 2]
}

/// A wrapper that codes as the value within.
struct Tag: Codable, Equatable {
  var name: String

  init(_ name: String) { self.name = name }
  init(from decoder: any Decoder) throws { name = try decoder.singleValueContainer().decode(String.self) }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}

extension CKRecord {
  /// A record as the server sends it.
  static func fetched(_ type: String, _ name: String, _ fields: [String: FieldValue]) -> CKRecord {
    CKRecord(wire: WireRecord(recordName: name, recordType: type, fields: fields), zoneID: .default)
  }
}

/// The path of an error, as names.
func path(of error: (any Error)?) -> [String]? {
  switch (error as? CKModelError)?.underlying ?? error {
  case EncodingError.invalidValue(_, let context)?: context.codingPath.map(\.stringValue)
  case DecodingError.typeMismatch(_, let context)?, DecodingError.valueNotFound(_, let context)?,
    DecodingError.keyNotFound(_, let context)?, DecodingError.dataCorrupted(let context)?:
    context.codingPath.map(\.stringValue)
  default: nil
  }
}
