internal import CloudKit

/// Decodes a model from the fields of a record, with the record name for the identity's key.
struct ModelDecoder: Decoder {
  let fields: CKFieldSource

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Fields(fields: fields))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw Self.refusal("A record has named fields, so it cannot be a list.")
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    throw Self.refusal("A record has named fields, so it cannot be a single value.")
  }

  private static func refusal(_ reason: String, path: [any CodingKey] = []) -> DecodingError {
    .typeMismatch(CKRecord.self, .init(path, Unfit(reason: reason)))
  }

  private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let fields: CKFieldSource
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { fields.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { fields.contains(key) }
    func decodeNil(forKey key: Key) -> Bool { !contains(key) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      try fields.decode(type, for: key)
    }
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
      try fields.decodeIfPresent(type, for: key)
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
