internal import CloudKit

/// Collects the values that a model encodes: one for each field, nil for fields to clear, and its system values.
final class ModelEncoder: Encoder {
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private var fields: [String: (any CKRecordValue)?] = [:]
  private var system = SystemValues()
  private var readsSystemValuesOnly = false
  private let recordName: String
  private let recordNameKey: String
  private let systemKeys: [String: CKSystemValue]
  private let assetKeys: Set<String>
  /// The first container requested that records do not support, in case the model ignores the error.
  private var refusal: EncodingError?

  private init<Model: CKRecordModel>(_ model: Model) {
    recordName = model.recordName
    recordNameKey = Model.recordNameKey
    systemKeys = Model.systemKeys
    assetKeys = Model.assetKeys
  }

  /// Returns the fields and the system values of a model.
  static func values<Model: CKRecordModel & Encodable>(
    of model: Model
  ) throws -> (fields: [String: (any CKRecordValue)?], system: SystemValues) {
    let encoder = ModelEncoder(model)
    try model.encode(to: encoder)
    if let refusal = encoder.refusal { throw refusal }
    return (encoder.fields, encoder.system)
  }

  /// Returns the system values of a model, and ignores its fields.
  static func systemValues<Model: CKRecordModel & Encodable>(of model: Model) throws -> SystemValues {
    let encoder = ModelEncoder(model)
    encoder.readsSystemValuesOnly = true
    try model.encode(to: encoder)
    return encoder.system
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
    let error = EncodingError.invalidValue(recordName, .init(path, Unfit(reason: reason)))
    refusal = refusal ?? error
    return RefusingEncoder(codingPath: path, error: error)
  }

  private func write(_ value: (some Encodable)?, forKey key: any CodingKey) throws {
    if readsSystemValuesOnly, systemKeys[key.stringValue] == nil { return }
    if key.stringValue == recordNameKey, let name = (value as? any LosslessStringConvertible)?.description {
      return try checkName(name, key: key)
    }
    let isAsset = assetKeys.contains(key.stringValue)
    let field = try FieldContent.recordValue(of: value, at: [key], asAsset: isAsset)
    if key.stringValue == recordNameKey {
      try checkName((field as? Int64).map { String($0) } ?? field as? String, key: key)
    } else if let kind = systemKeys[key.stringValue] {
      system.set(field, for: kind)
    } else {
      fields.updateValue(field, forKey: key.stringValue)
    }
  }

  /// Checks the value encoded for the identity. Decoding uses the record name for this key, so no other value is
  /// allowed.
  private func checkName(_ name: String?, key: any CodingKey) throws {
    guard name == recordName else {
      let reason = "The identity for this key differs from the recordName. Declare recordNameKey if it is a field."
      throw EncodingError.invalidValue(recordName, .init([key], Unfit(reason: reason)))
    }
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
