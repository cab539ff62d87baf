/// An encoder that throws an error for every value. It is used for containers that records do not support, in methods
/// of `Encoder` that cannot throw.
struct RefusingEncoder: Encoder, SingleValueEncodingContainer, UnkeyedEncodingContainer {
  let codingPath: [any CodingKey]
  let error: EncodingError
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  var count: Int { 0 }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Keyed(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws { throw error }
  func encode<Value: Encodable>(_ value: Value) throws { throw error }

  func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func superEncoder() -> any Encoder { self }

  private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: RefusingEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) throws { throw encoder.error }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { throw encoder.error }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type,
      forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { encoder.container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder }
    func superEncoder() -> any Encoder { encoder }
    func superEncoder(forKey key: Key) -> any Encoder { encoder }
  }
}
