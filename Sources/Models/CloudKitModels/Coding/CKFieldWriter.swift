public import CloudKit

/// Writes the properties of a model one by one, for an `encode(to:)`. `@CKModel` generates one. Nil clears the field.
///
/// ```swift
/// func encode(to encoder: any Encoder) throws {
///   var fields = CKFieldWriter(encoder, keyedBy: CodingKeys.self)
///   try fields.write(title, for: .title)
/// }
/// ```
public struct CKFieldWriter<Key: CodingKey> {
  /// The encoder of a record; nil for other encoders.
  @usableFromInline let record: ModelEncoder?
  /// The container of another encoder; nil for a record.
  @usableFromInline var container: KeyedEncodingContainer<Key>?

  /// Creates a writer for the keyed values of an encoder.
  @inlinable
  public init(_ encoder: any Encoder, keyedBy: Key.Type) {
    record = encoder as? ModelEncoder
    record?.note(Key.self)
    container = record == nil ? encoder.container(keyedBy: Key.self) : nil
  }

  /// Writes a property. A record takes its field directly, without `Codable`.
  @inlinable
  public mutating func write<Value: CKNativeField & Encodable>(_ value: Value?, for key: Key) throws {
    if let value {
      if let field = try? value.storedField, set(field, for: key.stringValue) { return }
    } else if set(nil, for: key.stringValue) {
      return
    }
    try encode(value, for: key)
  }

  /// Writes a property of any type.
  @inlinable
  public mutating func write<Value: Encodable>(_ value: Value?, for key: Key) throws { try encode(value, for: key) }

  @inlinable
  func set(_ field: StoredField?, for key: String) -> Bool { record?.set(field, for: key) ?? false }

  @inlinable
  mutating func encode<Value: Encodable>(_ value: Value?, for key: Key) throws {
    try record?.encode(value, for: key)
    try container?.encodeIfPresent(value, forKey: key)
  }
}
