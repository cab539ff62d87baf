public import CloudKit

/// Reads the properties of a model one by one, for an `init(from:)` that distinguishes missing fields from others.
/// `@CKModel` generates such an initializer.
///
/// ```swift
/// init(from decoder: any Decoder) throws {
///   let fields = try CKFieldReader(decoder, keyedBy: CodingKeys.self)
///   title = try fields.value(.title)
///   count = try fields.value(.count, default: 0)
/// }
/// ```
public struct CKFieldReader<Key: CodingKey> {
  /// The record; nil for other decoders.
  private let record: ModelDecoder?
  private let container: KeyedDecodingContainer<Key>

  /// Creates a reader for the keyed values of a decoder.
  public init(_ decoder: any Decoder, keyedBy: Key.Type) throws {
    container = try decoder.container(keyedBy: Key.self)
    record = decoder as? ModelDecoder
  }

  // `type` makes the compiler prefer the overloads for `CKNativeField`, which read a record directly. The others that
  // do not return an optional are disfavored, so that an optional property uses the one that does.

  /// Returns the value of a field; throws `DecodingError` if it is missing.
  @inlinable
  public func value<Value: CKNativeField & Decodable>(_ key: Key, as type: Value.Type = Value.self) throws -> Value {
    if let field = field(key.stringValue), let value = try? Value.read(field) { return value }
    return try decode(type, key)
  }

  /// Returns the value of a field; nil if it is missing.
  @inlinable
  public func value<Value: CKNativeField & Decodable>(_ key: Key, as type: Value.Type = Value.self) throws -> Value? {
    if let field = field(key.stringValue), let value = try? Value.read(field) { return value }
    return try decodeIfPresent(type, key)
  }

  /// Returns the value of a field, or the default if it is missing. A missing list is read as empty, not as the
  /// default.
  @inlinable
  public func value<Value: CKNativeField & Decodable>(
    _ key: Key,
    default value: @autoclosure () -> Value
  ) throws -> Value {
    if let field = field(key.stringValue), let value = try? Value.read(field) { return value }
    return try decode(Value.self, key, default: value)
  }

  /// Returns the value of any property; throws `DecodingError` if it is missing.
  @_disfavoredOverload
  public func value<Value: Decodable>(_ key: Key) throws -> Value { try decode(Value.self, key) }

  /// Returns the value of any property; nil if it is missing.
  public func value<Value: Decodable>(_ key: Key, as type: Value.Type = Value.self) throws -> Value? {
    try decodeIfPresent(type, key)
  }

  /// Returns the value of any property, or the default if it is missing. A missing list is read as empty, not as the
  /// default.
  @_disfavoredOverload
  public func value<Value: Decodable>(_ key: Key, default value: @autoclosure () -> Value) throws -> Value {
    try decode(Value.self, key, default: value)
  }

  /// Returns the value of any property; nil if it is missing. The default is never used, because nil is stored as a
  /// missing field.
  public func value<Value: Decodable>(_ key: Key, default value: @autoclosure () -> Value?) throws -> Value? {
    try decodeIfPresent(Value.self, key)
  }

  @usableFromInline
  func field(_ key: String) -> StoredField? { record?.nativeField(key) }

  @usableFromInline
  func decode<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value {
    try container.decode(type, forKey: key)
  }

  @usableFromInline
  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value? {
    try container.decodeIfPresent(type, forKey: key)
  }

  @usableFromInline
  func decode<Value: Decodable>(_ type: Value.Type, _ key: Key, default value: () -> Value) throws -> Value {
    container.contains(key) || type is any FieldList.Type ? try decode(type, key) : value()
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
      let field = self[key].map { StoredField($0) }
      return try FieldDecoder(field, codingPath: [FieldCodingKey(key)]).decode(type)
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
