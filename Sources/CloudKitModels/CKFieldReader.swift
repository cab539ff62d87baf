/// Reads the properties of a model one after the other: for an `init(from:)` that has to tell a missing field from others.
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

  /// Reads what a decoder has under these keys.
  public init(_ decoder: any Decoder, keyedBy: Key.Type) throws {
    container = try decoder.container(keyedBy: Key.self)
  }

  // An optional property is to get the other method, which would be no better a fit.

  /// The value of a field; throws `DecodingError` where there is none.
  @_disfavoredOverload
  public func value<Value: Decodable>(_ key: Key) throws -> Value { try container.decode(Value.self, forKey: key) }

  /// The value of a field, or nil where there is none.
  public func value<Value: Decodable>(_ key: Key) throws -> Value? {
    try container.decodeIfPresent(Value.self, forKey: key)
  }

  /// The value of a field, or the given one where there is none. A list that is missing is an empty one.
  @_disfavoredOverload
  public func value<Value: Decodable>(_ key: Key, default value: @autoclosure () -> Value) throws -> Value {
    guard container.contains(key) || Value.self is any FieldList.Type else { return value() }
    return try container.decode(Value.self, forKey: key)
  }

  /// The value of a field, or nil where there is none: that is how nil is written, whatever the default.
  public func value<Value: Decodable>(_ key: Key, default value: @autoclosure () -> Value?) throws -> Value? {
    try container.decodeIfPresent(Value.self, forKey: key)
  }
}
