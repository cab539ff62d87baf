internal import CloudKit
internal import Foundation

/// Walks a value that is encoded as JSON later, and refuses what must not be inside it. `JSONEncoder` would copy models
/// and follow a reference cycle until the stack overflows.
struct NestedEncoder: Encoder, SingleValueEncodingContainer {
  let path: ValuePath
  var codingPath: [any CodingKey] { path.keys }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Keyed(path: path))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed(path: path) }
  func singleValueContainer() -> any SingleValueEncodingContainer { self }
  func encodeNil() {}
  func encode<Value: Encodable>(_ value: Value) throws { try path.walk(value) }

  private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let path: ValuePath
    var codingPath: [any CodingKey] { path.keys }

    func encodeNil(forKey key: Key) {}
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try path.appending(key).walk(value) }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type,
      forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { inner(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { inner(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { inner(FieldCodingKey("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { inner(key) }

    private func inner(_ key: any CodingKey) -> NestedEncoder { NestedEncoder(path: path.appending(key)) }
  }

  private struct Unkeyed: UnkeyedEncodingContainer {
    let path: ValuePath
    private(set) var count = 0
    var codingPath: [any CodingKey] { path.keys }

    init(path: ValuePath) { self.path = path }

    mutating func encodeNil() { count += 1 }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try next().walk(value) }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
      NestedEncoder(path: next()).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
      NestedEncoder(path: next()).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { NestedEncoder(path: next()) }

    private mutating func next() -> ValuePath {
      count += 1
      return path.appending(ListIndex(count - 1))
    }
  }
}

extension ValuePath {
  fileprivate func walk<Value: Encodable>(_ value: Value) throws {
    if let url = value as? URL, url.isFileURL {
      throw refusal(of: url, "A file cannot be inside a nested value. Use a URL or CKAsset property of the model.")
    }
    if let link = value as? any AnyLink, link.anyModel != nil, !link.isSaved {
      throw refusal(of: link, "A link in a nested value does not save its model. Make it a property of the model.")
    }
    // Scalars contain nothing; an asset refuses by itself.
    if value is any CKNativeField, !(value is CKAsset), !(value is any FieldList) { return }
    try value.encode(to: NestedEncoder(path: entering(value)))
  }
}
