package import CloudKit
internal import Foundation

/// The encoded form of a model's value.
package enum FieldContent {
  /// The value is nil.
  case none
  case scalar(StoredField)
  case list([StoredField])
  /// The value needs a container, so it is encoded as JSON.
  case nested

  init(_ value: some Encodable, at path: ValuePath) throws {
    switch value {
    case let value as any CKNativeField where !(value is any FieldList):
      do {
        self = .scalar(try value.storedField)
      } catch let failure as ConversionFailure {
        throw EncodingError.invalidValue(value, EncodingError.Context(path.keys, failure))
      }
    case let value as any FieldList:
      self = try FieldContent(list: value, at: path)
    default:
      if let reference = try path.reference(to: value) {
        self = .scalar(reference.storedField)
        return
      }
      // Raw-value enums and wrappers show only while encoding that they are a single scalar.
      let encoder = FieldEncoder(path: try path.entering(value))
      try value.encode(to: encoder)
      self = encoder.content
    }
  }

  private init(list: any FieldList, at path: ValuePath) throws {
    var scalars: [StoredField] = []
    var nestedCount = 0
    for (index, element) in list.elements.enumerated() {
      let path = path.appending(ListIndex(index))
      let content = try (element as? any Encodable).map { try FieldContent($0, at: path) } ?? .none
      switch content {
      case .none: throw path.refusal(of: element, "A list in a record cannot contain nil.")
      case .scalar(let value): scalars.append(value)
      case .list, .nested: nestedCount += 1
      }
      // The type of a field never changes, so a list must not be native for some values and JSON for others.
      let isOfOneKind = scalars.isEmpty || (nestedCount == 0 && scalars[0].isOfSameType(as: scalars[index]))
      guard isOfOneKind else { throw path.refusal(of: element, "All values in a list must have the same type.") }
    }
    if nestedCount > 0 {
      self = .nested
    } else {
      self = .list(type(of: list).isOrdered ? scalars : scalars.inStableOrder())
    }
  }

  /// Returns the field; nil if it is to be cleared.
  ///
  /// An empty list has no value, because the server refuses one for a field whose type it does not know yet.
  ///
  /// - Parameters:
  ///   - asAsset: Whether `Data` and JSON are stored as assets.
  ///   - references: Collects the references, for a field of a model.
  ///   - zoneID: The zone of a model that a reference outside a model leads to.
  static func field<Value: Encodable>(
    of value: Value?,
    at keys: [any CodingKey],
    asAsset: Bool = false,
    references: ModelReferences? = nil,
    zoneID: CKRecordZone.ID? = nil
  ) throws -> StoredField? {
    let path = ValuePath(keys, references: references, zoneID: zoneID)
    guard let value else {
      if ModelInField.isModel(Value.self) { references?.notePlain() }
      return nil
    }
    // The most common list, whose elements need no look.
    if Value.self == [String].self, !asAsset, let texts = value as? [String], !texts.isEmpty {
      return try texts.storedField
    }
    switch try FieldContent(value, at: path) {
    case .none: return try field(of: Value?.none, at: keys, references: references)
    case .scalar(let scalar): return asAsset ? try asset(of: scalar, at: path) : scalar
    case .list(let elements) where elements.isEmpty: return try field(of: Value?.none, at: keys, references: references)
    case .list(let elements):
      return try StoredField(list: Array(elements.enumerated())) { index, element in
        asAsset ? try asset(of: element, at: path.appending(ListIndex(index))) : element
      }
    case .nested:
      let json = try NestedJSON.encode(value, at: keys).storedField
      return asAsset ? try asset(of: json, at: path) : json
    }
  }

  private static func asset(of field: StoredField, at path: ValuePath) throws -> StoredField {
    if field.object is CKAsset { return field }
    guard case .bytes(let data)? = field.wire else {
      throw path.refusal(of: field.object, "Only Data, files and values that are encoded as JSON can be assets.")
    }
    do {
      return try CKAsset(contents: data).storedField
    } catch {
      let failure = ConversionFailure(.internalError, "The asset's file could not be written.")
      throw EncodingError.invalidValue(data, EncodingError.Context(path.keys, failure))
    }
  }
}

/// Determines the form of one value: it accepts a scalar, and notes if the value requests a container.
final class FieldEncoder: Encoder, SingleValueEncodingContainer {
  private let path: ValuePath
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private(set) var content = FieldContent.none

  init(path: ValuePath) { self.path = path }

  var codingPath: [any CodingKey] { path.keys }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }
  func encodeNil() { content = .none }
  func encode<Value: Encodable>(_ value: Value) throws { content = try FieldContent(value, at: path) }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    nested().container(keyedBy: type)
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }

  private func nested() -> NestedEncoder {
    content = .nested
    return NestedEncoder(path: path)
  }
}
