internal import CloudKit

/// Writes what a model encodes.
final class ModelEncoder: Encoder {
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private var fields: CKFieldWriter
  /// The first container requested that records do not support, in case the model ignores the error.
  private var refusal: EncodingError?

  private init(_ fields: CKFieldWriter) { self.fields = fields }

  /// Writes the fields and the system values of a model.
  static func write<Model: CKRecordModel & Encodable>(_ model: Model, to fields: inout CKFieldWriter) throws {
    if let model = model as? any CKFieldWritable { return try model.write(to: &fields) }
    let encoder = ModelEncoder(fields)
    try model.encode(to: encoder)
    if let refusal = encoder.refusal { throw refusal }
    fields = encoder.fields
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Fields(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    refuse("A record has named fields, so it cannot be a list.")
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    refuse("A record has named fields, so it cannot be a single value.")
  }

  private func refuse(_ reason: String, key: (any CodingKey)? = nil) -> RefusingEncoder {
    let path = key.map { [$0] } ?? []
    let error = EncodingError.invalidValue(fields.recordName, .init(path, Unfit(reason: reason)))
    refusal = refusal ?? error
    return RefusingEncoder(codingPath: path, error: error)
  }

  private func write(_ value: (some Encodable)?, forKey key: any CodingKey) throws {
    try fields.encode(value, for: key)
  }

  private struct Fields<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ModelEncoder
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) throws { try encoder.write(String?.none, forKey: key) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try encoder.write(value, forKey: key) }

    // The standard library's default would skip nil, and the server would keep the old value. It has an overload for
    // each of these types, which would take precedence over the generic method.
    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
      try encoder.write(value, forKey: key)
    }
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encoder.write(value, forKey: key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encoder.write(value, forKey: key) }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type,
      forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
      refuseNesting(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { refuseNesting(key) }

    func superEncoder() -> any Encoder {
      encoder.refuse("Record fields cannot be nested. Call super.encode(to: encoder) instead of superEncoder().")
    }

    func superEncoder(forKey key: Key) -> any Encoder { refuseNesting(key) }

    private func refuseNesting(_ key: Key) -> RefusingEncoder {
      encoder.refuse("Record fields cannot be nested. Use a Codable type for the nested values.", key: key)
    }
  }
}
