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
    /// Creates a model that another refers to, unless the local copy has it.
    case target(EncodedModel, rules: [String: MergeRule])
    /// Deletes a record; that of a plan has no model.
    case delete(CKRecord.ID, isArchived: Bool, DeclaredDatabase? = nil)
  }

  private(set) var steps: [Step] = []
  /// The records that are in the steps only because others refer to them.
  private var targets: Set<CKRecord.ID> = []
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
  /// does not declare. Models that it refers to are saved first if the local copy does not have them.
  ///
  /// - Parameter replacing: The fields of properties that are models, to be written exactly as they are: nil clears the
  ///   field, and a list loses what the property lacks.
  /// - Throws: `CKModelError` for a value that a record cannot store.
  public mutating func save<Model: CKRecordModel & Encodable>(
    _ model: Model,
    replacing: Set<String> = []
  ) throws(CKModelError) {
    let encoded = try withTargets(model, replacing: replacing)
    steps.append(.save(encoded, rules: encoded.rules(Model.mergeRules)))
  }

  /// Saves a model whose record is new.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store.
  public mutating func insert<Model: CKRecordModel & Encodable>(_ model: Model) throws(CKModelError) {
    let encoded = try withTargets(model)
    steps.append(.save(encoded, rules: encoded.rules(Model.mergeRules), presence: .absent))
  }

  /// Saves a model whose record is in the local copy.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store.
  public mutating func update<Model: CKRecordModel & Encodable>(_ model: Model) throws(CKModelError) {
    let encoded = try withTargets(model)
    steps.append(.save(encoded, rules: encoded.rules(Model.mergeRules), presence: .present))
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
    guard model.recordName == original.recordName else {
      throw CKModelError(Model.self, encoding: model, "The model and its original have different record names.")
    }
    let before = try ModelGraph([original], encoder).roots[0]
    let edited = try withTargets(model)
    steps.append(.edit(edited, original: before, rules: edited.rules(Model.mergeRules, adding: before.adding)))
  }

  /// Deletes the records of a plan.
  public mutating func delete(_ plan: CKDeletionPlan) {
    for record in plan.records { steps.append(.delete(record.recordID, isArchived: true)) }
  }

  /// Encodes a model, and adds the models that it refers to, each after those that it refers to itself.
  private mutating func withTargets<Model: CKRecordModel & Encodable>(
    _ model: Model,
    replacing: Set<String> = []
  ) throws(CKModelError) -> EncodedModel {
    let graph = try ModelGraph([model], replacing: replacing, encoder)
    let targets = Dictionary(graph.targets.map { ($0.record.recordID, $0) }) { first, _ in first }
    for id in graph.order().ids {
      guard let target = targets[id] else { continue }
      steps.append(.target(target, rules: target.rules(graph.rules[id] ?? [:])))
      self.targets.insert(id)
    }
    // The model itself was a target of one before.
    if self.targets.remove(graph.roots[0].record.recordID) != nil {
      steps.removeAll { $0.isTarget && $0.recordID == graph.roots[0].record.recordID }
    }
    return graph.roots[0]
  }

  /// Deletes the record of a model, whatever its fields. That of a model with an archive is deleted in its zone.
  ///
  /// - Throws: `CKModelError` if the model's archive is damaged.
  public mutating func delete<Model: CKRecordModel>(_ model: Model) throws(CKModelError) {
    let (recordID, isArchived) = try encoder.place(of: model)
    steps.append(.delete(recordID, isArchived: isArchived, DeclaredDatabase(of: Model.self)))
  }
}

extension EncodedModel {
  /// Returns the merge rules of a model, by those of its type. Its lists that only add lose nothing to what others have
  /// saved.
  ///
  /// - Parameter more: The lists of the original that only add.
  fileprivate func rules(_ own: [String: MergeRule], adding more: Set<String> = []) -> [String: MergeRule] {
    own.merging(adding.union(more).map { ($0, MergeRule.elements) }) { own, _ in own }
  }
}
