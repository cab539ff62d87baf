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

  init(_ value: some Encodable, at path: [any CodingKey]) throws {
    switch value {
    case let value as any FieldScalar:
      do throws(Unfit) {
        self = .scalar(try value.fieldValue())
      } catch {
        throw EncodingError.invalidValue(value, .init(codingPath: path, debugDescription: error.reason))
      }
    case let value as any FieldList:
      self = try FieldContent(list: value, at: path)
    default:
      // Raw-value enums and wrappers show only while encoding that they are a single scalar.
      let encoder = FieldEncoder(codingPath: path)
      let outcome = Result { try value.encode(to: encoder) }
      if case .nested = encoder.content { self = .nested } else { self = try outcome.map { encoder.content }.get() }
    }
  }

  private init(list: any FieldList, at path: [any CodingKey]) throws {
    var scalars: [any CKRecordValue] = []
    var nestedCount = 0
    for (index, element) in list.elements.enumerated() {
      let path = path + [ListIndex(index)]
      func refuse(_ reason: String) -> EncodingError {
        .invalidValue(element, .init(codingPath: path, debugDescription: reason))
      }
      let content = try (element as? any Encodable).map { try FieldContent($0, at: path) } ?? .none
      switch content {
      case .none: throw refuse("A list in a record cannot contain nil.")
      case .scalar(let value): scalars.append(value)
      case .list, .nested: nestedCount += 1
      }
      // The type of a field never changes, so a list must not be native for some values and JSON for others.
      let isOfOneKind = scalars.isEmpty || (nestedCount == 0 && type(of: scalars[0]) == type(of: scalars[index]))
      guard isOfOneKind else { throw refuse("All values in a list must have the same type.") }
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
  static func recordValue(of value: some Encodable, at path: [any CodingKey]) throws -> (any CKRecordValue)? {
    switch try FieldContent(value, at: path) {
    case .none: nil
    case .scalar(let scalar): scalar
    case .list(let elements): elements.isEmpty ? nil : NSArray(array: elements)
    case .nested: try NestedJSON.encode(value, at: path)
    }
  }

  /// Whether a field encoded from a model has the same contents as another field.
  package static func isSame(_ made: (any CKRecordValue)?, _ other: (any CKRecordValue)?) -> Bool {
    switch (made as? NSObject, other as? NSObject) {
    case (nil, nil): true
    case (let left?, let right?): left.isEqual(right)
    // An empty list on the server equals a missing value from the model.
    case (nil, let right?): (right as? NSArray)?.count == 0
    case (_?, nil): false
    }
  }
}

/// Determines the form of one value: it accepts a scalar, and notes if the value requests a container.
final class FieldEncoder: Encoder, SingleValueEncodingContainer {
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private(set) var content = FieldContent.none

  init(codingPath: [any CodingKey]) { self.codingPath = codingPath }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }
  func encodeNil() { content = .none }
  func encode<Value: Encodable>(_ value: Value) throws { content = try FieldContent(value, at: codingPath) }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    nested().container(keyedBy: type)
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { nested() }

  private func nested() -> RefusingEncoder {
    content = .nested
    let context = EncodingError.Context(codingPath: codingPath, debugDescription: "A nested value is encoded as JSON.")
    return RefusingEncoder(codingPath: codingPath, error: .invalidValue(self, context))
  }
}
