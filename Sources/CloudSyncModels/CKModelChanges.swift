public import CloudKit
@_exported public import CloudKitModels
import CloudSync

/// Models to save and delete together. A store accepts them in one transaction, all or none.
///
/// ```swift
/// var changes = CKModelChanges(in: notesZone.zoneID)
/// try changes.save(list)
/// for note in notes { try changes.save(note) }
/// try changes.delete(oldNote)
/// try await store.enqueue(changes, atomically: true)
/// ```
public struct CKModelChanges: Sendable {
  /// One change, with the model already encoded as a record.
  enum Step: Sendable {
    /// Sets every field to the model's value.
    case save(EncodedModel, rules: [String: MergeRule], presence: Change.Presence? = nil)
    /// Applies only the differences between the edited and the original record.
    case edit(EncodedModel, original: EncodedModel, rules: [String: MergeRule])
    case delete(CKRecord.ID, isArchived: Bool)
  }

  private(set) var steps: [Step] = []
  /// The requested zone; nil for the store's zone for changes without one.
  let zoneID: CKRecordZone.ID?

  /// Creates an empty set of changes.
  ///
  /// - Parameter zoneID: The zone of the models. If it is nil, the store's zone is used: `cktop` in a private database,
  ///   because the default zone there has no change feed, and the default zone in other databases.
  public init(in zoneID: CKRecordZone.ID? = nil) { self.zoneID = zoneID }

  /// The zone of new records. References within it do not name it on the wire.
  var encodingZone: CKRecordZone.ID { zoneID ?? .default }
  private var encoder: CKRecordEncoder { CKRecordEncoder(zoneID: encodingZone) }

  /// Saves a model: sets every field to the model's value, clears fields that are nil, and keeps fields that the model
  /// does not declare.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store.
  public mutating func save<Model: CKRecordModel & Encodable>(_ model: Model) throws(CKModelError) {
    steps.append(.save(try encoder.encoded(model), rules: Model.mergeRules))
  }

  /// Saves a model whose record is new.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store.
  public mutating func insert<Model: CKRecordModel & Encodable>(_ model: Model) throws(CKModelError) {
    steps.append(.save(try encoder.encoded(model), rules: Model.mergeRules, presence: .absent))
  }

  /// Saves a model whose record is in the local copy.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store.
  public mutating func update<Model: CKRecordModel & Encodable>(_ model: Model) throws(CKModelError) {
    steps.append(.save(try encoder.encoded(model), rules: Model.mergeRules, presence: .present))
  }

  /// Saves the differences between a model and its original before the edit. Changes that others made to other fields
  /// in the meantime are kept. A field that others have also changed since the original was read is a conflict, which
  /// is resolved by the field's merge rule or the engine's policy.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store, or if the two have different record names.
  public mutating func save<Model: CKRecordModel & Encodable>(
    _ model: Model,
    changedFrom original: Model
  ) throws(CKModelError) {
    let edited = try encoder.encoded(model)
    guard model.recordName == original.recordName else {
      throw CKModelError(Model.self, encoding: model, "The model and its original have different record names.")
    }
    steps.append(.edit(edited, original: try encoder.encoded(original), rules: Model.mergeRules))
  }

  /// Deletes the record of a model, whatever its fields. That of a model with an archive is deleted in its zone.
  ///
  /// - Throws: `CKModelError` if the model's archive is damaged.
  public mutating func delete(_ model: some CKRecordModel) throws(CKModelError) {
    let (recordID, isArchived) = try encoder.place(of: model)
    steps.append(.delete(recordID, isArchived: isArchived))
  }
}
