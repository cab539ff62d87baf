internal import CloudKit

/// Decodes a model from the fields of a record, with the record name for the identity's key.
struct ModelDecoder: Decoder {
  let record: CKRecord
  let recordNameKey: String
  let systemKeys: [String: CKSystemValue]

  init<Model: CKRecordModel>(_ record: CKRecord, for type: Model.Type) {
    self.record = record
    (recordNameKey, systemKeys) = (type.recordNameKey, type.systemKeys)
  }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Fields(decoder: self))
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

  private func field(_ key: any CodingKey) -> FieldDecoder {
    let isName = key.stringValue == recordNameKey
    let value =
      if isName {
        record.recordID.recordName as (any CKRecordValue)?
      } else if let kind = systemKeys[key.stringValue] {
        kind.value(of: record)
      } else {
        record[key.stringValue]
      }
    return FieldDecoder(field: value, codingPath: [key], isRecordName: isName)
  }

  private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ModelDecoder
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] {
      (decoder.record.allKeys() + [decoder.recordNameKey] + decoder.systemKeys.keys).compactMap { Key(stringValue: $0) }
    }

    func contains(_ key: Key) -> Bool { decoder.field(key).field != nil }
    func decodeNil(forKey key: Key) -> Bool { !contains(key) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      let field = decoder.field(key)
      do {
        return try field.decode(type)
      } catch {
        guard field.field == nil else { throw error }
        let context = DecodingError.Context([key], Unfit(reason: "The record has no such field."))
        throw DecodingError.keyNotFound(key, context)
      }
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
