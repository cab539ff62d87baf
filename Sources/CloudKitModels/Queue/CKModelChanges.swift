public import CloudKit
internal import CloudSync

/// Models to be saved and deleted together: a store accepts them in one transaction, all or none.
///
/// ```swift
/// var changes = CKModelChanges(in: notesZone.zoneID)
/// try changes.save(list)
/// for note in notes { try changes.save(note) }
/// changes.delete(oldNote)
/// try await store.enqueue(changes, atomically: true)
/// ```
public struct CKModelChanges: Sendable {
  /// One change, with the model turned into a record already.
  enum Step: Sendable {
    /// Every field becomes what the model has.
    case save(CKRecord, rules: [String: MergeRule])
    /// Just what differs between the two is done.
    case edit(CKRecord, original: CKRecord, rules: [String: MergeRule])
    case delete(CKRecord.ID)
  }

  private(set) var steps: [Step] = []
  /// The zone of the models, as asked for; nil: the one that the store has for changes without one.
  let zoneID: CKRecordZone.ID?

  /// Begins with nothing to do.
  ///
  /// - Parameter zoneID: The zone that the models lie in. Without one it is the store's own: `cktop` in a private
  ///   database, since the default zone there has no change feed, and the default zone in others.
  public init(in zoneID: CKRecordZone.ID? = nil) { self.zoneID = zoneID }

  /// References to the zone that a model itself lies in name none on the wire.
  private var encoder: CKRecordEncoder { CKRecordEncoder(zoneID: zoneID ?? .default) }

  /// Saves a model: every field becomes what the model has, nil clears, and fields that the model does not know stay.
  ///
  /// - Throws: `EncodingError` for what a record cannot hold.
  public mutating func save<Model: CKRecordModel & Encodable>(_ model: Model) throws {
    steps.append(.save(try encoder.encode(model), rules: Model.mergeRules))
  }

  /// Saves what differs between a model and the same one before it was edited, and leaves what others have made of the
  /// other fields meanwhile. What they have made of these very fields since the original was read is a conflict, which the
  /// fields' merge rules settle, or the engine's policy.
  ///
  /// - Throws: `EncodingError` for what a record cannot hold, and where the two have different names.
  public mutating func save<Model: CKRecordModel & Encodable>(_ model: Model, changedFrom original: Model) throws {
    let edited = try encoder.encode(model)
    guard model.recordName == original.recordName else {
      let reason = "The model and the one it was changed from have different names."
      throw EncodingError.invalidValue(model, .init(codingPath: [], debugDescription: reason))
    }
    steps.append(.edit(edited, original: try encoder.encode(original), rules: Model.mergeRules))
  }

  /// Deletes the record of a model, whatever its fields.
  public mutating func delete(_ model: some CKRecordModel) {
    steps.append(.delete(CKRecord.ID(recordName: model.recordName, zoneID: zoneID ?? .default)))
  }
}
