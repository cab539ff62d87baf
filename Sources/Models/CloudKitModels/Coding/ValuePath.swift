internal import CloudKit

/// The place of a value in a model: its coding path, and the class instances that contain it.
struct ValuePath {
  private(set) var keys: [any CodingKey]
  private var instances: [ObjectIdentifier] = []
  /// Collects the references of a model's fields; nil where models cannot be stored.
  let references: ModelReferences?
  /// The zone of models in a query; nil outside a query.
  private let zoneID: CKRecordZone.ID?

  /// The maximum nesting that JSON decoders accept.
  private static let deepest = 512

  init(_ keys: [any CodingKey], references: ModelReferences? = nil, zoneID: CKRecordZone.ID? = nil) {
    self.keys = keys
    self.references = references
    self.zoneID = zoneID
  }

  func appending(_ key: any CodingKey) -> ValuePath {
    var result = self
    result.keys.append(key)
    return result
  }

  /// Returns the reference to store for a link or a model in a field; nil for other values, and for those that are
  /// deeper than an element of the field's list.
  func reference(to value: some Encodable) throws -> CKRecord.Reference? {
    guard keys.count <= 2 else { return nil }
    do {
      switch value {
      case let link as any AnyLink:
        if let references { return try references.reference(to: link, for: keys[0].stringValue) }
        let id = CKRecord.ID(recordName: link.recordName, zoneID: zoneID ?? .default)
        return link.reference ?? CKRecord.Reference(recordID: id, action: .none)
      case let model as any CKRecordModel:
        if let references { return try references.reference(to: model, for: keys[0].stringValue) }
        return try zoneID.map { try model.reference(in: $0) }
      default: return nil
      }
    } catch let failure as ConversionFailure {
      throw EncodingError.invalidValue(value, EncodingError.Context(keys, failure))
    }
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
      throw refusal(of: value, "The object contains itself, so it cannot be encoded. Use a Link.")
    }
    var result = self
    result.instances.append(instance)
    return result
  }

  func refusal(of value: Any, _ reason: String) -> EncodingError {
    .invalidValue(value, EncodingError.Context(keys, ConversionFailure(reason: reason)))
  }
}

/// Models in fields. They are stored as references: a copy inside another record would not follow the model's own
/// record.
enum ModelInField {
  static let reason = "A model cannot be inside a nested value. Make it a property of the model."

  /// Whether a type is a model, an optional model or a list of models.
  static func isModel(_ type: Any.Type) -> Bool {
    switch type {
    case let list as any FieldList.Type: model(list.elementType) != nil
    case let optional as any OptionalValue.Type: isModel(optional.wrappedType)
    default: type is any CKRecordModel.Type
    }
  }

  /// Returns the type of the models that a property of a type refers to; nil if it refers to none.
  static func target(_ type: Any.Type) -> (any CKRecordModel.Type)? {
    switch type {
    case let list as any FieldList.Type: target(list.elementType)
    case let optional as any OptionalValue.Type: target(optional.wrappedType)
    case let link as any AnyLink.Type: link.modelType
    default: type as? any CKRecordModel.Type
    }
  }

  /// Returns the type of a model or an optional model; nil for other types.
  static func model(_ type: Any.Type) -> (any CKRecordModel.Type)? {
    type as? any CKRecordModel.Type ?? (type as? any OptionalValue.Type).flatMap { model($0.wrappedType) }
  }
}

/// An optional of any type.
protocol OptionalValue {
  static var wrappedType: Any.Type { get }
  static var nothing: Self { get }
}

extension Optional: OptionalValue {
  static var wrappedType: Any.Type { Wrapped.self }
  static var nothing: Self { nil }
}
