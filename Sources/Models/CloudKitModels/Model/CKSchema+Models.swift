internal import CloudKit
internal import Foundation

@_exported public import struct CloudKitSchema.CKSchema

extension CKSchema {
  /// Creates the schema that models need: a record type for each, with the fields of its properties.
  ///
  /// ```swift
  /// print(CKSchema(Order.self, Customer.self))
  /// ```
  ///
  /// Models with the same record type share one declaration. Types have the grants that CloudKit Console gives new
  /// ones. Fields have no indexes, because models do not know the queries of the program.
  public init(_ models: any CKFieldModel.Type...) {
    self.init(types: [:])
    for model in models { add(model) }
  }

  private mutating func add<Model: CKFieldModel>(_ model: Model.Type) {
    var type = types[Model.recordType] ?? RecordType(grants: Role.defaultGrants)
    for (field, property) in Model.fieldProperties {
      let isAsset = Model.assetKeys.contains(field.rawValue)
      let fieldType = FieldType(of: Swift.type(of: property as AnyKeyPath).valueType, isAsset: isAsset)
      type.fields[field.rawValue] = Field(type: fieldType)
    }
    types[Model.recordType] = type
  }
}

extension CKSchema.FieldType {
  /// The type of the field that stores a property; see `FieldContent`.
  fileprivate init(of type: Any.Type, isAsset: Bool) {
    self = Self.native(type) ?? Self(.bytes)
    if isAsset { scalar = .asset }
  }

  /// The type of the field that stores values of a type as they are; nil if they are stored as JSON.
  private static func native(_ type: Any.Type) -> Self? {
    switch type {
    case let optional as any OptionalValue.Type: return native(optional.wrappedType)
    case let list as any FieldList.Type:
      guard let element = native(list.elementType), !element.isList else { return nil }
      return Self(element.scalar, isList: true)
    case is String.Type, is UUID.Type, is URL.Type: return Self(.string)
    case is Bool.Type, is any FixedWidthInteger.Type: return Self(.int64)
    case is Double.Type, is Float.Type: return Self(.double)
    case is Date.Type: return Self(.timestamp)
    case is Data.Type: return Self(.bytes)
    case is CLLocation.Type: return Self(.location)
    case is CKAsset.Type: return Self(.asset)
    case is CKReference.Type, is any AnyLink.Type, is any CKRecordModel.Type: return Self(.reference)
    case let type as any Decodable.Type: return SingleValueProbe.value(of: type).flatMap(native)
    default: return nil
    }
  }
}

/// Finds the type of the single value that a type decodes, such as the raw value of an enum. Nothing is decoded.
private final class SingleValueProbe: Decoder, SingleValueDecodingContainer {
  /// Ends the decoding once the type is known.
  private struct Found: Error {}

  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private var type: Any.Type?

  /// Returns the type of the single value; nil for a type that needs a container.
  static func value<Value: Decodable>(of type: Value.Type) -> Any.Type? {
    let probe = SingleValueProbe()
    _ = try? Value(from: probe)
    return probe.type
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }
  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw Found() }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Found() }
  func decodeNil() -> Bool { false }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    self.type = self.type ?? type
    throw Found()
  }
}
