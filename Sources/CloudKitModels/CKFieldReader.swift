public import CloudKit

/// Reads the properties of a model one by one, for an `init(from:)` that distinguishes missing fields from others.
///
/// ```swift
/// init(from decoder: any Decoder) throws {
///   let fields = try CKFieldReader(decoder, keyedBy: CodingKeys.self)
///   title = try fields.value(.title)
///   count = try fields.value(.count, default: 0)
/// }
/// ```
public struct CKFieldReader<Key: CodingKey> {
  private let container: KeyedDecodingContainer<Key>

  /// Creates a reader for the keyed values of a decoder.
  public init(_ decoder: any Decoder, keyedBy: Key.Type) throws {
    container = try decoder.container(keyedBy: Key.self)
  }

  // Disfavored, so that an optional property uses the overload that returns an optional. Both would fit equally well.

  /// Returns the value of a field; throws `DecodingError` if it is missing.
  @_disfavoredOverload
  public func value<Value: Decodable>(_ key: Key) throws -> Value { try container.decode(Value.self, forKey: key) }

  /// Returns the value of a field; nil if it is missing.
  public func value<Value: Decodable>(_ key: Key) throws -> Value? {
    try container.decodeIfPresent(Value.self, forKey: key)
  }

  /// Returns the value of a field, or the default if it is missing. A missing list is read as empty, not as the
  /// default.
  @_disfavoredOverload
  public func value<Value: Decodable>(_ key: Key, default value: @autoclosure () -> Value) throws -> Value {
    guard container.contains(key) || Value.self is any FieldList.Type else { return value() }
    return try container.decode(Value.self, forKey: key)
  }

  /// Returns the value of a field; nil if it is missing. The default is never used, because nil is stored as a missing
  /// field.
  public func value<Value: Decodable>(_ key: Key, default value: @autoclosure () -> Value?) throws -> Value? {
    try container.decodeIfPresent(Value.self, forKey: key)
  }
}

extension CKRecord {
  /// Returns the value of a field as a Swift type, by the rules of `CKRecordDecoder`.
  ///
  /// - Throws: `CKModelError` that names the field if it is missing or has another type.
  public func decode<Value: Decodable>(
    _ type: Value.Type = Value.self,
    for key: CKRecord.FieldKey
  ) throws(CKModelError) -> Value {
    do {
      return try FieldDecoder(field: self[key], codingPath: [CloudKitModels.FieldKey(key)]).decode(type)
    } catch {
      throw CKModelError(recordType, decoding: error)
    }
  }

  /// Returns the value of a field as a Swift type; nil if it is missing.
  ///
  /// - Throws: `CKModelError` that names the field if it has another type.
  public func decodeIfPresent<Value: Decodable>(
    _ type: Value.Type = Value.self,
    for key: CKRecord.FieldKey
  ) throws(CKModelError) -> Value? { self[key] == nil ? nil : try decode(type, for: key) }
}
