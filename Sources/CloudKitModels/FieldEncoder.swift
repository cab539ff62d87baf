internal import CloudKit
internal import Foundation

/// What one value of a model becomes in a record.
enum FieldContent {
  /// The value is nil.
  case none
  case scalar(any CKRecordValue)
  case list([any CKRecordValue])
  /// The value has an inside of its own.
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
      // Raw-value enums and wrappers say only here that they are one plain value.
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
      case .none: throw refuse("A list in a record cannot hold nil.")
      case .scalar(let value): scalars.append(value)
      case .list, .nested: nestedCount += 1
      }
      // A field has one type for good: a list must not be native today and JSON tomorrow.
      let isOfOneKind = scalars.isEmpty || (nestedCount == 0 && type(of: scalars[0]) == type(of: scalars[index]))
      guard isOfOneKind else { throw refuse("A list in a record holds values of one type.") }
    }
    if nestedCount > 0 {
      self = .nested
    } else {
      self = .list(type(of: list).isOrdered ? scalars : scalars.inStableOrder())
    }
  }

  /// The field's value; nil where the field is to be cleared.
  ///
  /// An empty list is no value: the server refuses one for a field whose type it has not learnt yet.
  static func recordValue(of value: some Encodable, at path: [any CodingKey]) throws -> (any CKRecordValue)? {
    switch try FieldContent(value, at: path) {
    case .none: nil
    case .scalar(let scalar): scalar
    case .list(let elements): elements.isEmpty ? nil : NSArray(array: elements)
    case .nested: try NestedJSON.encode(value, at: path)
    }
  }

  /// Whether a field that a model made holds what another field does.
  static func isSame(_ made: (any CKRecordValue)?, _ other: (any CKRecordValue)?) -> Bool {
    switch (made as? NSObject, other as? NSObject) {
    case (nil, nil): true
    case (let left?, let right?): left.isEqual(right)
    // An empty list on the server is what the model wrote as no value.
    case (nil, let right?): (right as? NSArray)?.count == 0
    case (_?, nil): false
    }
  }
}

/// Finds out what one value is: it takes a plain value, and notes when the value asks for more than that.
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
    let context = EncodingError.Context(codingPath: codingPath, debugDescription: "A nested value is written as JSON.")
    return RefusingEncoder(codingPath: codingPath, error: .invalidValue(self, context))
  }
}
