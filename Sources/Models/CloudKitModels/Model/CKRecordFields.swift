/// The fields of a model, by their names on the server.
public protocol CKRecordFields: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == String {}

/// A model with a typed list of its fields, for queries. `@CKModel` generates it.
public protocol CKFieldModel: CKRecordModel {
  /// One case for each field; its raw value is the field's name on the server.
  associatedtype Fields: CKRecordFields

  /// Returns the name by which a query finds a stored property: a field's name, or that of a system value such as
  /// `creationDate`; nil if the property cannot be queried.
  ///
  /// The default knows none. Queries of such a model use `Fields`.
  static func queryKey(for property: PartialKeyPath<Self>) -> String?

  /// The property of each field, for the schema of the model.
  ///
  /// The default has none, so that a schema has the record type without fields.
  static var fieldProperties: [Fields: PartialKeyPath<Self>] { get }
}

extension CKFieldModel {
  /// Returns nil: no property is known.
  public static func queryKey(for property: PartialKeyPath<Self>) -> String? { nil }
  /// No properties.
  public static var fieldProperties: [Fields: PartialKeyPath<Self>] { [:] }
}
