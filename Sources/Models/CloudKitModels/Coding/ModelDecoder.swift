internal import CloudKit

/// Decodes a model from the fields of a record, with the record name for the identity's key, and the system values.
final class ModelDecoder: Decoder {
  let record: CKRecord
  private let fields: [String: StoredField]
  private let recordNameKey: String
  private let systemKeys: [String: CKSystemValue]
  private let references: LinkResolver?
  private var declared: DeclaredKeys

  init<Model: CKRecordModel>(_ record: CKRecord, for type: Model.Type, references: LinkResolver?) {
    self.record = record
    self.references = references
    fields = record.storedFields
    (recordNameKey, systemKeys) = (type.recordNameKey, type.systemKeys)
    declared = DeclaredKeys(of: type)
  }

  /// Refuses a type that declares a key that no property has, after a model of it was decoded.
  ///
  /// - Throws: `CKModelError` with the cause `unknownKey`.
  func checkDeclaredKeys(of model: Any) throws(CKModelError) {
    try declared.check { Mirror(reflecting: model).children.compactMap(\.label) }
  }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    declared.note(type)
    return KeyedDecodingContainer(Fields(decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw Self.refusal("A record has named fields, so it cannot be a list.")
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    throw Self.refusal("A record has named fields, so it cannot be a single value.")
  }

  private static func refusal(_ reason: String, path: [any CodingKey] = []) -> DecodingError {
    .typeMismatch(CKRecord.self, .init(path, ConversionFailure(reason: reason)))
  }

  /// The keys of everything that can be read.
  private var keys: [String] { record.allKeys() + [recordNameKey] + systemKeys.keys }

  /// Returns a field, or the record name for its key; nil if there is none or it is a system value.
  func nativeField(_ key: String) -> StoredField? {
    if key == recordNameKey { return record.recordID.recordName.storedField }
    guard systemKeys[key] == nil, let field = fields[key], !field.isEncrypted else { return nil }
    return field
  }

  private func field(_ key: any CodingKey) -> FieldDecoder {
    let name = key.stringValue
    let isName = name == recordNameKey
    let content =
      if !isName, let kind = systemKeys[name] {
        kind.value(of: record).map { StoredField($0) }
      } else {
        nativeField(name)
      }
    return FieldDecoder(content, codingPath: [key], isRecordName: isName, references: references)
  }

  private func decode<Value: Decodable>(
    _ type: Value.Type,
    _ field: FieldDecoder,
    _ key: any CodingKey
  ) throws -> Value {
    do {
      return try field.decode(type)
    } catch {
      guard field.content == nil else { throw error }
      throw DecodingError.keyNotFound(key, .init([key], ConversionFailure(reason: "The record has no such field.")))
    }
  }

  private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ModelDecoder
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { decoder.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { decoder.field(key).content != nil }
    func decodeNil(forKey key: Key) -> Bool { !contains(key) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      try decoder.decode(type, decoder.field(key), key)
    }
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
      // A model that is not loaded counts as missing.
      let field = decoder.field(key)
      return field.content == nil || field.lacksModel(type) ? nil : try decoder.decode(type, field, key)
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type,
      forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
      throw nesting(key)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw nesting(key) }

    func superDecoder() throws -> any Decoder {
      throw ModelDecoder.refusal(
        "Record fields cannot be nested. Call super.init(from: decoder) with the same decoder."
      )
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { throw nesting(key) }

    private func nesting(_ key: Key) -> DecodingError {
      ModelDecoder.refusal("Record fields cannot be nested. Use a Codable type for the nested values.", path: [key])
    }
  }
}
