internal import CloudKit

/// The place of a value in a model: its coding path, and the class instances that contain it.
struct ValuePath {
  private(set) var keys: [any CodingKey]
  private var instances: [ObjectIdentifier] = []

  /// The maximum nesting that JSON decoders accept.
  private static let deepest = 512

  init(_ keys: [any CodingKey]) { self.keys = keys }

  func appending(_ key: any CodingKey) -> ValuePath {
    var result = self
    result.keys.append(key)
    return result
  }

  /// Returns the path for the contents of a value.
  ///
  /// - Throws: `EncodingError` if a field cannot contain the value: another model, or an instance that contains itself.
  func entering<Value: Encodable>(_ value: Value) throws -> ValuePath {
    if value is any CKRecordModel { throw refusal(of: value, ModelInField.reason) }
    guard keys.count < Self.deepest else {
      throw refusal(of: value, "The value is nested more than \(Self.deepest) levels deep, which cannot be decoded.")
    }
    guard type(of: value) is AnyClass else { return self }
    let instance = ObjectIdentifier(value as AnyObject)
    guard !instances.contains(instance) else {
      throw refusal(of: value, "The object contains itself, so it cannot be encoded. Use a CKRecord.Reference.")
    }
    var result = self
    result.instances.append(instance)
    return result
  }

  func refusal(of value: Any, _ reason: String) -> EncodingError {
    .invalidValue(value, EncodingError.Context(keys, Unfit(reason: reason)))
  }
}

/// Models as values of fields, which are refused: a copy inside another record would not follow the model's own record.
enum ModelInField {
  static let reason = "A model cannot be a value of another model. Store a CKRecord.Reference to its record."

  /// Whether a type is a model, an optional model or a list of models.
  static func isModel(_ type: Any.Type) -> Bool {
    switch type {
    case is any CKRecordModel.Type: true
    case let list as any FieldList.Type: isModel(list.elementType)
    case let optional as any OptionalValue.Type: isModel(optional.wrappedType)
    default: false
    }
  }
}

private protocol OptionalValue {
  static var wrappedType: Any.Type { get }
}

extension Optional: OptionalValue {
  fileprivate static var wrappedType: Any.Type { Wrapped.self }
}
