internal import CloudKit
internal import Foundation

/// Decodes one field: a scalar, a native list, or JSON for a type that needs more than a scalar.
final class FieldDecoder: Decoder, SingleValueDecodingContainer {
  let content: StoredField?
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]
  /// The loaded targets of references; nil if there are none.
  let references: LinkResolver?
  /// Whether this is the record name instead of a field. It may contain an integer.
  private let isRecordName: Bool
  /// The type that is being decoded, for errors.
  private let type: Any.Type?
  /// Whether the decoded type requested a container, although the field contains bytes, which are then JSON.
  private var asksForJSON = false

  init(
    _ content: StoredField?,
    codingPath: [any CodingKey],
    isRecordName: Bool = false,
    type: Any.Type? = nil,
    references: LinkResolver? = nil
  ) {
    self.content = content
    self.codingPath = codingPath
    self.references = references
    self.isRecordName = isRecordName
    self.type = type
  }

  /// The value as a record returns it.
  var field: (any CKRecordValue)? { content?.value }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if isRecordName, case .string(let name)? = content?.wire, let identity = type as? any LosslessStringConvertible.Type
    {
      guard let value = identity.init(name) as? Value else {
        throw corrupted(ConversionFailure(reason: "The record name is not a valid \(type)."))
      }
      return value
    }
    if let native = type as? any CKNativeField.Type {
      if let value = try read(native) as? Value { return value }
      // The elements of a list are decoded one by one.
      if !(type is any FieldList.Type) { throw mismatch(type) }
    }
    if let models = try decodeModels(type) { return models }
    // An empty list is stored as a missing value.
    let decoder = FieldDecoder(
      content ?? (type is any FieldList.Type ? StoredField(NSArray()) : nil),
      codingPath: codingPath,
      isRecordName: isRecordName,
      type: type,
      references: references
    )
    do {
      let result = try Value(from: decoder)
      if !decoder.asksForJSON { return result }
    } catch  where !decoder.asksForJSON {
      throw error
    } catch {
      // The error only says that the field has no container.
    }
    guard !ModelInField.isModel(type), let data = try read(Data.self) else { throw mismatch(type) }
    return try NestedJSON.decode(type, from: data, at: codingPath)
  }

  private func read<Native: CKNativeField>(_ type: Native.Type) throws -> Native? {
    guard let content else {
      if type is any FieldList.Type { return nil }
      throw absent(type)
    }
    do {
      return try Native.read(content)
    } catch let failure as ConversionFailure {
      throw corrupted(failure)
    }
  }

  func decodeNil() -> Bool { content == nil }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    asksForJSON = content?.object is NSData || content?.object is CKAsset
    throw content == nil ? absent(self.type ?? [String: Any].self) : mismatch(self.type ?? [String: Any].self)
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    if let elements = content?.elements {
      return ListDecoder(elements: elements, codingPath: codingPath, references: references)
    }
    asksForJSON = content?.object is NSData || content?.object is CKAsset
    throw content == nil ? absent(type ?? [Any].self) : mismatch(type ?? [Any].self)
  }

  private func absent(_ type: Any.Type) -> DecodingError {
    .valueNotFound(type, .init(codingPath, ConversionFailure(reason: "The field has no value.")))
  }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    let found = field.map { Self.kind(of: $0) } ?? "no value"
    let reason = "The model has the type \(type) here, but the record has \(found)."
    return .typeMismatch(type, .init(codingPath, ConversionFailure(reason: reason)))
  }

  private func corrupted(_ failure: ConversionFailure) -> DecodingError { .dataCorrupted(.init(codingPath, failure)) }

  private static func kind(of field: any CKRecordValue) -> String {
    switch field {
    case is NSString: "a string"
    case is NSNumber: "a number"
    case is NSDate: "a date"
    case is NSData: "bytes"
    case is NSArray: "a list"
    case is CKReference: "a reference"
    case is CKAsset: "an asset"
    case is CLLocation: "a location"
    default: "a value of an unknown type"
    }
  }
}

/// The elements of a native list, in order.
private struct ListDecoder: UnkeyedDecodingContainer {
  let elements: [StoredField]
  let codingPath: [any CodingKey]
  let references: LinkResolver?
  private(set) var currentIndex = 0

  init(elements: [StoredField], codingPath: [any CodingKey], references: LinkResolver?) {
    self.elements = elements
    self.codingPath = codingPath
    self.references = references
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }
  private var path: [any CodingKey] { codingPath + [ListIndex(currentIndex)] }

  func decodeNil() throws -> Bool { isAtEnd }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(type, .init(path, ConversionFailure(reason: "The list ends here.")))
    }
    let field = FieldDecoder(elements[currentIndex], codingPath: path, references: references)
    let value = try field.decode(type)
    currentIndex += 1
    return value
  }

  func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw nesting }
  func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw nesting }
  func superDecoder() throws -> any Decoder { throw nesting }

  private var nesting: DecodingError {
    let reason = "A list in a record can contain only scalars. Use a Codable type for nested values."
    return .typeMismatch([String: Any].self, .init(path, ConversionFailure(reason: reason)))
  }
}
