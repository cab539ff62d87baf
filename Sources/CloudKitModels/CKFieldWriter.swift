internal import CloudKit

/// A model that writes its fields directly, without `Encodable`. `@CKModel` generates it for types without an
/// `encode(to:)` of their own.
public protocol CKFieldWritable {
  /// Writes every property of the model.
  func write(to fields: inout CKFieldWriter) throws
}

/// Collects the fields of a model, nil for fields to clear, and its system values.
public struct CKFieldWriter {
  private(set) var fields: [(key: String, field: StoredField?)] = []
  private(set) var system = SystemValues()
  /// Whether fields are ignored, also those that a record cannot store.
  var takesSystemValuesOnly = false
  /// The references in the fields; nil if only the system values are needed.
  let references: ModelReferences?
  let recordName: String
  private let recordNameKey: String
  private let systemKeys: [String: CKSystemValue]
  private let assetKeys: Set<String>

  init<Model: CKRecordModel>(_ model: Model, references: ModelReferences? = nil) {
    self.references = references
    recordName = model.recordName
    recordNameKey = Model.recordNameKey
    systemKeys = Model.systemKeys
    assetKeys = Model.assetKeys
    fields.reserveCapacity(16)
  }

  /// Writes a field that is neither the identity nor an asset nor a system value.
  @inlinable
  public mutating func write<Value: CKNativeField>(_ value: Value?, for key: String) throws {
    guard let value else { return set(nil, for: key) }
    if let native = value.nativeValue { set(native, for: key) } else { try encode(value, for: key) }
  }

  /// Writes a property of any kind, by the rules of `CKRecordEncoder`.
  public mutating func write<Value: Encodable>(_ value: Value?, for key: String) throws {
    try encode(value, for: key)
  }

  /// Writes the identity, an asset or a system value, by the rules of `CKRecordEncoder`.
  public mutating func write<Value: Encodable>(special value: Value?, for key: String) throws {
    try encode(value, for: key)
  }

  /// Checks the identity, which is the record name.
  @inlinable
  public mutating func write<Value: CKNativeField>(identity value: Value?, for key: String) throws {
    if let native = value?.nativeValue, isName(native) { return }
    try encode(value, for: key)
  }

  /// Checks the identity, which is the record name.
  public mutating func write<Value: Encodable>(identity value: Value?, for key: String) throws {
    try encode(value, for: key)
  }

  @usableFromInline
  mutating func set(_ native: CKNativeValue?, for key: String) {
    fields.append((key, native.map { StoredField(wire: $0.value, zoneID: .default) }))
  }

  @usableFromInline
  func isName(_ native: CKNativeValue) -> Bool { native.value == .string(recordName) }

  @usableFromInline
  mutating func encode(_ value: (some Encodable)?, for key: String) throws { try encode(value, for: FieldKey(key)) }

  mutating func encode(_ value: (some Encodable)?, for key: any CodingKey) throws {
    if takesSystemValuesOnly, systemKeys[key.stringValue] == nil { return }
    if key.stringValue == recordNameKey, let name = (value as? any LosslessStringConvertible)?.description {
      return try checkName(name, key: key)
    }
    let isAsset = assetKeys.contains(key.stringValue)
    references?.begin()
    let field = try FieldContent.recordValue(of: value, at: [key], asAsset: isAsset, references: references)
    if key.stringValue == recordNameKey {
      try checkName((field as? Int64).map { String($0) } ?? field as? String, key: key)
    } else if let kind = systemKeys[key.stringValue] {
      system.set(field, for: kind)
    } else if references?.writes(field, for: key.stringValue) ?? true {
      fields.append((key.stringValue, field.map { StoredField($0) }))
    }
  }

  /// Checks the value encoded for the identity. Decoding uses the record name for this key, so no other value is
  /// allowed.
  private func checkName(_ name: String?, key: any CodingKey) throws {
    guard name == recordName else {
      let reason = "The identity for this key differs from the recordName. Declare recordNameKey if it is a field."
      throw EncodingError.invalidValue(recordName, .init([key], Unfit(reason: reason)))
    }
  }
}
