@_exported public import CloudKit
@_exported public import enum Facts.MergeRule

/// A Swift type whose values are stored as records, converted by `CKRecordEncoder` and `CKRecordDecoder`.
///
/// The model itself has the identity, so that a repeated save writes the same record. A model that is `Identifiable` by
/// a `UUID`, a `String`, an integer or another `LosslessStringConvertible` type needs nothing else:
///
/// ```swift
/// struct Note: Codable, Identifiable, CKRecordModel {
///   let id: UUID
///   var title: String
///   var isDone = false
///   var due: Date?
///   var list: CKRecord.Reference?
/// }
/// ```
///
/// A key in ``systemKeys``, ``assetKeys``, ``referenceActions`` or ``mergeRules`` that no property has is an error: of
/// the compiler where `@CKModel` sees the literal, otherwise of each conversion, with the cause `unknownKey`.
///
/// Other types declare `recordName`. The macro `@CKModel` of the product `CloudKitModelMacros` generates all of this
/// and a list of the fields. The identity is never a field of the record: it is decoded from the record name.
public protocol CKRecordModel {
  /// The record type. The default is the unqualified name of the Swift type.
  ///
  /// Declare it before you rename a type whose records are on the server, and for generic types.
  static var recordType: CKRecord.RecordType { get }

  /// The coding key of the identity: `id` for `Identifiable` models, otherwise `recordName`.
  ///
  /// Declare it if your `CodingKeys` use another name for the identity.
  static var recordNameKey: String { get }

  /// The merge rules, by field name, for fields that two devices changed at the same time. By default, one of the two
  /// values wins as a whole.
  ///
  /// ```swift
  /// static let mergeRules: [String: MergeRule] = ["tags": .elements]
  /// ```
  static var mergeRules: [String: MergeRule] { get }

  /// The database of the type's models: the private one unless declared. Zones of other users are in the shared
  /// database in any case. See `CKContainer.database(for:in:)`. A call for another database or a store of it throws
  /// `CKModelError.Cause.otherDatabase`.
  static var databaseScope: CKDatabase.Scope { get }

  /// The coding keys of properties that are system values of the record, not fields. By default there are none.
  ///
  /// ```swift
  /// var createdAt: Date?
  /// var systemFields: Data?
  /// static let systemKeys: [String: CKSystemValue] = ["createdAt": .creationDate, "systemFields": .archive]
  /// ```
  static var systemKeys: [String: CKSystemValue] { get }

  /// The coding keys of properties that are stored as assets: `Data`, file URLs, and values that are encoded as JSON.
  /// By default there are none.
  static var assetKeys: Set<String> { get }

  /// The actions of references, by the coding key of the property: what happens to this record when the target is
  /// deleted. By default there are none, and a ``Link`` keeps the action that it was read with.
  ///
  /// ```swift
  /// static let referenceActions: CKReferenceActions = ["department": .deleteSelf]
  /// ```
  static var referenceActions: CKReferenceActions { get }

  /// The record name, unique within its zone and constant for the lifetime of the model.
  var recordName: String { get }
}

/// The actions of references by the coding keys of their properties.
public typealias CKReferenceActions = [String: CKRecord.ReferenceAction]

extension CKRecordModel {
  /// The name of the Swift type.
  public static var recordType: CKRecord.RecordType { String(describing: Self.self) }
  /// The key of a property named `recordName`.
  public static var recordNameKey: String { "recordName" }
  /// No rules: every field is merged as a whole value.
  public static var mergeRules: [String: MergeRule] { [:] }
  /// The private database.
  public static var databaseScope: CKDatabase.Scope { .private }
  /// No system values.
  public static var systemKeys: [String: CKSystemValue] { [:] }
  /// No assets besides `CKAsset` properties.
  public static var assetKeys: Set<String> { [] }
  /// No actions.
  public static var referenceActions: CKReferenceActions { [:] }
}

extension CKRecordModel where Self: Identifiable {
  /// The key of the property that `Identifiable` requires.
  public static var recordNameKey: String { "id" }
}

extension CKRecordModel where Self: Identifiable, ID == UUID {
  /// The model's `id` in its standard form, in upper case.
  public var recordName: String { id.uuidString }
}

extension CKRecordModel where Self: Identifiable, ID: LosslessStringConvertible {
  /// The model's `id` as text: a `String` itself, an integer in decimal.
  public var recordName: String { id.description }
}

extension CKRecordModel {
  /// Returns a reference to the record of the model, for a `CKRecord.Reference` property or a record. A ``Link`` needs
  /// none.
  ///
  /// - Parameters:
  ///   - action: What happens to the record with the reference when this model is deleted.
  ///   - zoneID: The zone of the model, unless its archive has one. The default is the zone of models that are saved
  ///     without one.
  /// - Throws: `CKModelError` if the model's archive is damaged.
  public func reference(
    action: CKRecord.ReferenceAction = .none,
    in zoneID: CKRecordZone.ID? = nil
  ) throws(CKModelError) -> CKRecord.Reference {
    let encoder = CKRecordEncoder(zoneID: zoneID ?? Self.databaseScope.zoneIDForModels)
    return CKRecord.Reference(recordID: try encoder.place(of: self).recordID, action: action)
  }
}
