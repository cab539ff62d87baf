public import CloudKit
public import CloudSync

/// A Swift type whose values are records: `CKRecordEncoder` and `CKRecordDecoder` turn one into the other.
///
/// The identity is the model's own, so that a save that is tried again writes the same record. A model that is
/// `Identifiable` by a `String`, `UUID` or integer has nothing to add:
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
/// Others declare `recordName`. `@CKModel` of the product `CloudKitModelMacros` writes all of this and a list of the fields.
/// The identity is never a field of the record: reading takes it from the record's name.
public protocol CKRecordModel {
  /// The record type; unless declared, the name of the Swift type without those around it.
  ///
  /// Declare it before you rename a type whose records are on the server, and for generic types.
  static var recordType: CKRecord.RecordType { get }

  /// The coding key that holds the identity: `id` for `Identifiable` models, otherwise `recordName`.
  ///
  /// Declare it where your `CodingKeys` call the identity something else.
  static var recordNameKey: String { get }

  /// How fields come out that two devices changed at the same time, by their names; unless declared, one of the two values
  /// wins as a whole.
  ///
  /// ```swift
  /// static let mergeRules: [String: MergeRule] = ["likes": .counter, "tags": .elements]
  /// ```
  static var mergeRules: [String: MergeRule] { get }

  /// The record's name, unique within its zone and the same for as long as the model lives.
  var recordName: String { get }
}

extension CKRecordModel {
  /// The name of the Swift type.
  public static var recordType: CKRecord.RecordType { String(describing: Self.self) }
  /// The key of a property called `recordName`.
  public static var recordNameKey: String { "recordName" }
  /// None: every field is merged as a value.
  public static var mergeRules: [String: MergeRule] { [:] }
}

extension CKRecordModel where Self: Identifiable {
  /// The key of the property that `Identifiable` asks for.
  public static var recordNameKey: String { "id" }
}

extension CKRecordModel where Self: Identifiable, ID == String {
  /// The model's `id`.
  public var recordName: String { id }
}

extension CKRecordModel where Self: Identifiable, ID == UUID {
  /// The model's `id` in the usual spelling, in capitals.
  public var recordName: String { id.uuidString }
}

extension CKRecordModel where Self: Identifiable, ID: FixedWidthInteger {
  /// The model's `id` in decimal digits.
  public var recordName: String { String(id) }
}
