public import CloudKit

/// Collects the fields that a model encodes, nil for fields to clear, and its system values.
@usableFromInline
final class ModelEncoder: Encoder {
  @usableFromInline let codingPath: [any CodingKey] = []
  @usableFromInline let userInfo: [CodingUserInfoKey: Any] = [:]
  private(set) var fields: [(key: String, field: StoredField?)] = []
  private(set) var system = SystemValues()
  /// Whether fields are ignored, also those that a record cannot store.
  private let takesSystemValuesOnly: Bool
  /// The references in the fields; nil if only the system values are needed.
  private let references: ModelReferences?
  private let recordName: String
  private let recordNameKey: String
  private let systemKeys: [String: CKSystemValue]
  private let assetKeys: Set<String>
  private var declared: DeclaredKeys
  /// The first container requested that records do not support, in case the model ignores the error.
  private var refusal: EncodingError?

  /// Encodes a model.
  ///
  /// - Parameters:
  ///   - recordName: The model's record name.
  ///   - references: Collects the references; nil if only the system values are needed.
  init<Model: CKRecordModel & Encodable>(
    _ model: Model,
    named recordName: String,
    references: ModelReferences? = nil
  ) throws {
    self.references = references
    takesSystemValuesOnly = references == nil
    self.recordName = recordName
    recordNameKey = Model.recordNameKey
    systemKeys = Model.systemKeys
    assetKeys = Model.assetKeys
    declared = DeclaredKeys(of: Model.self)
    fields.reserveCapacity(16)
    try model.encode(to: self)
    if let refusal { throw refusal }
    if !takesSystemValuesOnly { try declared.check { fields.map(\.key) + [recordNameKey] } }
  }

  /// Notes the keys that the model is coded by.
  @usableFromInline
  func note(_ keys: any CodingKey.Type) { declared.note(keys) }

  /// Sets or clears a field without `Codable`, or accepts the record name for its key. Returns false for what `encode`
  /// has to handle: other values for the name, system values, assets, empty lists, and values whose encoding depends on
  /// the record.
  @usableFromInline
  func set(_ field: StoredField?, for key: String) -> Bool {
    if key == recordNameKey { return field?.wire == .string(recordName) }
    guard systemKeys[key] == nil, !assetKeys.contains(key) else { return false }
    if let field, field.wire?.isEmptyList ?? true { return false }
    fields.append((key, field))
    return true
  }

  @usableFromInline
  func encode(_ value: (some Encodable)?, for key: any CodingKey) throws {
    let name = key.stringValue
    if takesSystemValuesOnly, systemKeys[name] == nil { return }
    if name == recordNameKey, let name = (value as? any LosslessStringConvertible)?.description {
      return try checkName(name, key: key)
    }
    references?.begin()
    let isAsset = assetKeys.contains(name)
    let field = try FieldContent.field(of: value, at: [key], asAsset: isAsset, references: references)
    if name == recordNameKey {
      try checkName(field.flatMap { (try? Int64.read($0)).map { String($0) } ?? String.read($0) }, key: key)
    } else if let kind = systemKeys[name] {
      system.set(field, for: kind)
    } else if references?.writes(field?.value, for: name) ?? true {
      fields.append((name, field))
    }
  }

  /// Checks the value encoded for the identity. Decoding uses the record name for this key, so no other value is
  /// allowed.
  private func checkName(_ name: String?, key: any CodingKey) throws {
    guard name == recordName else {
      let reason = "The identity for this key differs from the recordName. Declare recordNameKey if it is a field."
      throw EncodingError.invalidValue(recordName, .init([key], ConversionFailure(reason: reason)))
    }
  }

  @usableFromInline
  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    note(type)
    return KeyedEncodingContainer(Fields(encoder: self))
  }

  @usableFromInline
  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    refuse("A record has named fields, so it cannot be a list.")
  }

  @usableFromInline
  func singleValueContainer() -> any SingleValueEncodingContainer {
    refuse("A record has named fields, so it cannot be a single value.")
  }

  private func refuse(_ reason: String, key: (any CodingKey)? = nil) -> RefusingEncoder {
    let path = key.map { [$0] } ?? []
    let error = EncodingError.invalidValue(recordName, .init(path, ConversionFailure(reason: reason)))
    refusal = refusal ?? error
    return RefusingEncoder(codingPath: path, error: error)
  }

  private struct Fields<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ModelEncoder
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) throws { try encoder.encode(String?.none, for: key) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try encoder.encode(value, for: key) }

    // The standard library's default would skip nil, and the server would keep the old value. It has an overload for
    // each of these types, which would take precedence over the generic method.
    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
      try encoder.encode(value, for: key)
    }
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encoder.encode(value, for: key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encoder.encode(value, for: key) }

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
