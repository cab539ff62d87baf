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
}

extension CKFieldModel {
  /// Returns nil: no property is known.
  public static func queryKey(for property: PartialKeyPath<Self>) -> String? { nil }
}
