public import CloudKit

/// A model whose fields are converted by hand, and which names its record type as CloudKitExtras does.
public protocol CKConvertedModel: CKFieldModel {
  /// The record type.
  static var RecordType: CKRecord.RecordType { get }
}

extension CKConvertedModel {
  /// The record type.
  public static var recordType: CKRecord.RecordType { RecordType }
}

/// A model that makes itself from a record.
///
/// ```swift
/// init(record: CKRecord) throws {
///   id = record.recordID.recordName
///   title = try Self.extract(.title, from: record)
/// }
/// ```
public protocol CKDecodable: CKConvertedModel, Decodable {
  /// Makes the model of a record, whose name must be kept as the identity.
  init(record: CKRecord) throws
}

/// A model that gives the value of each of its fields.
///
/// ```swift
/// func value(for field: Fields) -> (any CKRecordValueProtocol)? {
///   switch field {
///   case .title: title
///   }
/// }
/// ```
public protocol CKEncodable: CKConvertedModel, Encodable {
  /// Returns the value of a field; nil to clear it.
  func value(for field: Fields) -> (any CKRecordValueProtocol)?
}

/// A model that converts itself to and from a record, without `Codable` of its own.
public typealias CKCodable = CKDecodable & CKEncodable

/// The fields of a model.
public typealias RecordFields = CKRecordFields

extension CKDecodable {
  /// Makes the model of a record.
  ///
  /// - Throws: `DecodingError` for a decoder of anything else.
  public init(from decoder: any Decoder) throws {
    guard let decoder = decoder as? ModelDecoder else {
      let reason = "A \(Self.self) can be decoded from a record only."
      throw DecodingError.typeMismatch(Self.self, .init(decoder.codingPath, ConversionFailure(reason: reason)))
    }
    try self.init(record: decoder.record)
  }

  /// Returns the value of a field as a Swift type, by the rules of `CKRecordDecoder`.
  ///
  /// - Throws: `CKModelError` that names the field if it is missing or has another type.
  @_disfavoredOverload
  public static func extract<Value: Decodable>(
    _ field: Fields,
    from record: CKRecord
  ) throws(CKModelError) -> Value { try record.decode(for: field.rawValue) }

  /// Returns the value of a field as a Swift type; nil if it is missing.
  ///
  /// - Throws: `CKModelError` that names the field if it has another type.
  public static func extract<Value: Decodable>(
    _ field: Fields,
    from record: CKRecord
  ) throws(CKModelError) -> Value? { try record.decodeIfPresent(for: field.rawValue) }
}

extension CKEncodable {
  /// Encodes the value of each field.
  ///
  /// - Throws: `EncodingError` for a value of a Foundation class, such as `NSString`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: ListedKey<Fields>.self)
    for field in Fields.allCases {
      let key = ListedKey(field: field)
      switch value(for: field) {
      case nil: try container.encodeNil(forKey: key)
      case let value as any Encodable: try container.encode(value, forKey: key)
      case let value?:
        let reason = "A field cannot store a \(type(of: value)). Return a Swift type, such as String."
        throw EncodingError.invalidValue(value, .init([key], ConversionFailure(reason: reason)))
      }
    }
  }
}

/// The key of a field in a model's list.
private struct ListedKey<Field: CKRecordFields>: CodingKey {
  let field: Field
  var stringValue: String { field.rawValue }
  var intValue: Int? { nil }

  init(field: Field) { self.field = field }

  init?(stringValue: String) {
    guard let field = Field(rawValue: stringValue) else { return nil }
    self.init(field: field)
  }

  init?(intValue: Int) { nil }
}
