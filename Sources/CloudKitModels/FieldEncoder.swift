package import CloudKit
internal import Foundation

/// The encoded form of a model's value.
package enum FieldContent {
  /// The value is nil.
  case none
  case scalar(any CKRecordValue)
  case list([any CKRecordValue])
  /// The value needs a container, so it is encoded as JSON.
  case nested

  init(_ value: some Encodable, at path: ValuePath) throws {
    switch value {
    case let value as any FieldScalar:
      do throws(Unfit) {
        self = .scalar(try value.fieldValue())
      } catch {
        throw EncodingError.invalidValue(value, EncodingError.Context(path.keys, error))
      }
    case let value as any FieldList:
      self = try FieldContent(list: value, at: path)
    default:
      if let reference = try path.reference(to: value) {
        self = .scalar(reference)
        return
      }
      // Raw-value enums and wrappers show only while encoding that they are a single scalar.
      let encoder = FieldEncoder(path: try path.entering(value))
      try value.encode(to: encoder)
      self = encoder.content
    }
  }

  private init(list: any FieldList, at path: ValuePath) throws {
    var scalars: [any CKRecordValue] = []
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
      let isOfOneKind = scalars.isEmpty || (nestedCount == 0 && type(of: scalars[0]) == type(of: scalars[index]))
      guard isOfOneKind else { throw path.refusal(of: element, "All values in a list must have the same type.") }
    }
    if nestedCount > 0 {
      self = .nested
    } else {
      self = .list(type(of: list).isOrdered ? scalars : scalars.inStableOrder())
    }
  }

  /// Returns the field's value; nil if the field is to be cleared.
  ///
  /// An empty list has no value, because the server refuses one for a field whose type it does not know yet.
  ///
  /// - Parameters:
  ///   - asAsset: Whether `Data` and JSON are stored as assets.
  ///   - references: Collects the references, for a field of a model.
  static func recordValue<Value: Encodable>(
    of value: Value?,
    at keys: [any CodingKey],
    asAsset: Bool = false,
    references: ModelReferences? = nil
  ) throws -> (any CKRecordValue)? {
    let path = ValuePath(keys, references: references)
    guard let value else {
      if ModelInField.isModel(Value.self) { references?.notePlain() }
      return nil
    }
    // The most common list, which a record stores faster as it is.
    if Value.self == [String].self, !asAsset, let texts = value as? [String], !texts.isEmpty { return texts }
    switch try FieldContent(value, at: path) {
    case .none: return try recordValue(of: Value?.none, at: keys, references: references)
    case .scalar(let scalar): return asAsset ? try asset(of: scalar, at: path) : scalar
    case .list(let elements) where elements.isEmpty:
      return try recordValue(of: Value?.none, at: keys, references: references)
    case .list(let elements):
      guard asAsset else { return NSArray(array: elements) }
      return NSArray(
        array: try elements.enumerated().map { try asset(of: $1, at: path.appending(ListIndex($0))) }
      )
    case .nested:
      let json = try NestedJSON.encode(value, at: keys)
      return asAsset ? try asset(of: json, at: path) : json
    }
  }

  private static func asset(of value: any CKRecordValue, at path: ValuePath) throws -> CKAsset {
    switch value {
    case let asset as CKAsset: return asset
    case let data as Data:
      do {
        return try CKAsset(contents: data)
      } catch {
        let unfit = Unfit(.internalError, "The asset's file could not be written.")
        throw EncodingError.invalidValue(data, EncodingError.Context(path.keys, unfit))
      }
    default: throw path.refusal(of: value, "Only Data, files and values that are encoded as JSON can be assets.")
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
