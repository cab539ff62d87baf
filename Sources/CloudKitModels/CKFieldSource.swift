internal import CloudKit

/// A model that reads its fields directly, without `Decodable`. `@CKModel` generates it for types without an
/// `init(from:)` of their own.
public protocol CKFieldReadable {
  /// Reads every property of the model.
  init(fields: CKFieldSource) throws
}

/// The fields of a record, with the record name for the identity's key, and the system values.
public struct CKFieldSource {
  private let record: CKRecord
  private let fields: [String: StoredField]
  private let recordNameKey: String
  private let systemKeys: [String: CKSystemValue]
  private let references: LinkResolver?

  init<Model: CKRecordModel>(_ record: CKRecord, for type: Model.Type, references: LinkResolver? = nil) {
    self.record = record
    self.references = references
    fields = record.storedFields
    (recordNameKey, systemKeys) = (type.recordNameKey, type.systemKeys)
  }

  /// The keys of everything that can be read.
  var keys: [String] { record.allKeys() + [recordNameKey] + systemKeys.keys }

  // `type` makes the compiler prefer the overloads for `CKNativeField`. The others that do not return an optional are
  // disfavored, so that an optional property uses the one that does.

  /// Returns the value of a field; throws `DecodingError` if it is missing.
  @inlinable
  public func value<Value: CKNativeField>(_ key: String, as type: Value.Type = Value.self) throws -> Value {
    if let native = native(key), let value = Value.read(native) { return value }
    return try decode(type, for: key)
  }

  /// Returns the value of a field; nil if it is missing.
  @inlinable
  public func value<Value: CKNativeField>(_ key: String, as type: Value.Type = Value.self) throws -> Value? {
    if let native = native(key), let value = Value.read(native) { return value }
    return try decodeIfPresent(type, for: key)
  }

  /// Returns the value of a field, or the default if it is missing. A missing list is read as empty, not as the
  /// default.
  @inlinable
  public func value<Value: CKNativeField>(_ key: String, default value: @autoclosure () -> Value) throws -> Value {
    if let native = native(key), let value = Value.read(native) { return value }
    return try decode(Value.self, for: key, default: value)
  }

  /// Returns the value of any property; throws `DecodingError` if it is missing.
  @_disfavoredOverload
  public func value<Value: Decodable>(_ key: String) throws -> Value { try decode(Value.self, for: key) }

  /// Returns the value of any property; nil if it is missing.
  public func value<Value: Decodable>(_ key: String, as type: Value.Type = Value.self) throws -> Value? {
    try decodeIfPresent(Value.self, for: key)
  }

  /// Returns the value of any property, or the default if it is missing. A missing list is read as empty, not as the
  /// default.
  @_disfavoredOverload
  public func value<Value: Decodable>(_ key: String, default value: @autoclosure () -> Value) throws -> Value {
    try decode(Value.self, for: key, default: value)
  }

  /// Returns the value of any property; nil if it is missing. The default is never used, because nil is stored as a
  /// missing field.
  public func value<Value: Decodable>(_ key: String, default value: @autoclosure () -> Value?) throws -> Value? {
    try decodeIfPresent(Value.self, for: key)
  }

  /// Returns a system value; nil if the record does not have it.
  public func value<Value: Decodable>(special key: String) throws -> Value? {
    try decodeIfPresent(Value.self, for: key)
  }

  /// Returns the identity, which is the record name.
  @inlinable
  public func value<Value: CKNativeField>(identity key: String) throws -> Value {
    if let value = Value.read(name) { return value }
    return try decode(Value.self, for: key)
  }

  /// Returns the identity, which is the record name.
  @_disfavoredOverload
  public func value<Value: Decodable>(identity key: String) throws -> Value {
    try decode(Value.self, for: key)
  }

  @usableFromInline var name: CKNativeValue { CKNativeValue(.string(record.recordID.recordName)) }

  @usableFromInline
  func native(_ key: String) -> CKNativeValue? {
    guard let field = fields[key], !field.isEncrypted else { return nil }
    return field.wire.map { CKNativeValue($0) }
  }

  @usableFromInline
  func decode<Value: Decodable>(_ type: Value.Type, for key: String) throws -> Value {
    try decode(type, for: FieldKey(key))
  }

  func decode<Value: Decodable>(_ type: Value.Type, for key: any CodingKey) throws -> Value {
    try decode(type, decoder(for: key), key)
  }

  private func decode<Value: Decodable>(
    _ type: Value.Type,
    _ field: FieldDecoder,
    _ key: any CodingKey
  ) throws -> Value {
    do {
      return try field.decode(type)
    } catch {
      guard field.field == nil else { throw error }
      let context = DecodingError.Context([key], Unfit(reason: "The record has no such field."))
      throw DecodingError.keyNotFound(key, context)
    }
  }

  @usableFromInline
  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, for key: String) throws -> Value? {
    try decodeIfPresent(type, for: FieldKey(key))
  }

  /// Returns the value of a field; nil if it is missing, or refers to a model that is not loaded.
  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, for key: any CodingKey) throws -> Value? {
    let field = decoder(for: key)
    return field.field == nil || field.lacksModel(type) ? nil : try decode(type, field, key)
  }

  @usableFromInline
  func decode<Value: Decodable>(_ type: Value.Type, for key: String, default value: () -> Value) throws -> Value {
    contains(FieldKey(key)) || type is any FieldList.Type ? try decode(type, for: key) : value()
  }

  func contains(_ key: any CodingKey) -> Bool { decoder(for: key).field != nil }

  private func decoder(for key: any CodingKey) -> FieldDecoder {
    let isName = key.stringValue == recordNameKey
    let value =
      if isName {
        record.recordID.recordName as (any CKRecordValue)?
      } else if let kind = systemKeys[key.stringValue] {
        kind.value(of: record)
      } else {
        fields[key.stringValue].flatMap { $0.isEncrypted ? nil : $0.value }
      }
    return FieldDecoder(field: value, codingPath: [key], isRecordName: isName, references: references)
  }
}
