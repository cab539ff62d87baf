public import CloudKit
public import CloudKitModels
@_exported public import CloudSync
internal import Foundation

/// Saves models through the durable queue. A change is on disk when a call returns, and is sent by the store's syncing
/// process.
///
/// The work does not run on the caller's actor.
extension SyncStore {
  /// Accepts changes to models in one transaction, all or none. Accepted changes survive a power failure.
  ///
  /// - Parameter atomically: Whether the changes are also sent in one atomic request. This requires a custom zone and
  ///   at most 200 records.
  /// - Throws: `StoreError` if the store cannot accept the changes, or one of them can never be sent.
  @discardableResult
  public func enqueue(_ changes: CKModelChanges, atomically: Bool = false) async throws -> [QueuedChange] {
    try await accept(changes, group: atomically ? UUID().uuidString : nil)
  }

  /// Accepts a model to save: sets every field to the model's value, clears fields that are nil, and keeps fields that
  /// the model does not declare. Only differences from the local copy are sent. If the local copy does not contain the
  /// server's record yet, both are merged when the record is fetched.
  ///
  /// Saving a model that was read a while ago also reverts changes that others have made to its fields since. To avoid
  /// this, use `save(_:changedFrom:in:)`.
  ///
  /// Models that it refers to are accepted in the same transaction, before it, if neither the local copy nor the queue
  /// has them.
  ///
  /// - Parameters:
  ///   - zoneID: The zone, as for `CKModelChanges`.
  ///   - replacing: The fields to write exactly as they are, as for `CKModelChanges`.
  /// - Throws: `CKModelError` for a value that a record cannot store; `StoreError` if the store cannot accept the
  ///   change, or it can never be sent.
  @discardableResult
  public func save<Model: CKRecordModel & Encodable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil,
    replacing: Set<String> = []
  ) async throws -> QueuedChange {
    var changes = CKModelChanges(in: zoneID)
    try changes.save(model, replacing: replacing)
    return try await accept(changes)[0]
  }

  /// Accepts a new model.
  ///
  /// If the server turns out to have a record of this name, the change becomes a failed one (`EXISTS`), and the
  /// server's record stays as it is.
  ///
  /// - Throws: `StoreError` of kind `invalid` if the local copy has the record; otherwise as for
  ///   ``save(_:in:replacing:)``.
  @discardableResult
  public func insert<Model: CKRecordModel & Encodable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> QueuedChange {
    var changes = CKModelChanges(in: zoneID)
    try changes.insert(model)
    return try await accept(changes)[0]
  }

  /// Accepts a model whose record is in the local copy.
  ///
  /// - Throws: `StoreError` of kind `invalid` if it is not; otherwise as for ``save(_:in:replacing:)``.
  @discardableResult
  public func update<Model: CKRecordModel & Encodable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> QueuedChange {
    var changes = CKModelChanges(in: zoneID)
    try changes.update(model)
    return try await accept(changes)[0]
  }

  /// Accepts a model, whether its record exists or not; the same as ``save(_:in:replacing:)``.
  @discardableResult
  public func upsert<Model: CKRecordModel & Encodable>(
    _ model: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> QueuedChange { try await save(model, in: zoneID) }

  /// Accepts several models to save, all or none.
  ///
  /// - Throws: The same errors as for one model; nothing is accepted then.
  @discardableResult
  public func save<Model: CKRecordModel & Encodable>(
    _ models: [Model],
    in zoneID: CKRecordZone.ID? = nil,
    replacing: Set<String> = []
  ) async throws -> [QueuedChange] {
    var changes = CKModelChanges(in: zoneID)
    var names: Set<String> = []
    for model in models {
      guard names.insert(model.recordName).inserted else {
        throw CKModelError(Model.self, encoding: model, "Two of the models have the same record name.")
      }
      try changes.save(model, replacing: replacing)
    }
    return try await accept(changes)
  }

  /// Accepts the deletion of several models' records, all or none.
  @discardableResult
  public func delete<Model: CKRecordModel>(
    _ models: [Model],
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> [QueuedChange] {
    var changes = CKModelChanges(in: zoneID)
    for model in models { try changes.delete(model) }
    return try await accept(changes)
  }

  /// Accepts the deletion of a model's record and of the records that a cascade names, found in the local copy with the
  /// queued changes applied.
  ///
  /// Up to 200 records of a custom zone are sent in one atomic request. More are sent in the order of the plan, where
  /// only parents and targets of `VALIDATE` wait for the records that refer to them.
  @discardableResult
  public func delete(
    _ model: some CKRecordModel,
    cascade: CKCascade,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> [QueuedChange] { try await delete([model], cascade: cascade, in: zoneID) }

  /// Accepts the deletion of several models' records and of the records that a cascade names, all or none.
  @discardableResult
  public func delete<Model: CKRecordModel>(
    _ models: [Model],
    cascade: CKCascade,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> [QueuedChange] {
    let plan = try await plan(deleting: models, cascade: cascade, in: zoneID)
    var changes = CKModelChanges(in: zoneID)
    changes.delete(plan)
    // The server may have a model that the local copy lacks.
    let known = Set(plan.records.map(\.recordID))
    let lacking = try models.filter { try !known.contains(recordID(of: $0, in: zoneID)) }
    for model in lacking { try changes.delete(model) }
    return try await enqueue(changes, atomically: lacking.isEmpty && plan.fitsAtomicRequest)
  }

  /// Accepts the deletion of the records of a plan, all or none.
  @discardableResult
  public func delete(_ plan: CKDeletionPlan) async throws -> [QueuedChange] {
    var changes = CKModelChanges()
    changes.delete(plan)
    return try await enqueue(changes, atomically: plan.fitsAtomicRequest)
  }

  /// Returns the records that `delete(_:cascade:in:)` would delete, and accepts nothing.
  public func plan<Model: CKRecordModel>(
    deleting model: Model,
    cascade: CKCascade,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> CKDeletionPlan { try await plan(deleting: [model], cascade: cascade, in: zoneID) }

  /// Returns the records that `delete(_:cascade:in:)` would delete, and accepts nothing.
  public func plan<Model: CKRecordModel>(
    deleting models: [Model],
    cascade: CKCascade,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> CKDeletionPlan {
    try await DeletionSearch.plan(
      deleting: models.map { try recordID(of: $0, in: zoneID) },
      cascade: cascade,
      records: { ids in try await self.records(ids).map(LinkedRecord.init) },
      zone: { zone in
        try await self.records(matching: StoredQuery(type: nil, in: ZoneKey(zone))).map(LinkedRecord.init)
      }
    )
  }

  private func recordID(of model: some CKRecordModel, in zoneID: CKRecordZone.ID?) throws -> CKRecord.ID {
    try checkDatabase(of: type(of: model))
    return try CKRecordEncoder(zoneID: zoneKey(zoneID).zoneID).place(of: model).recordID
  }

  /// Accepts the differences between a model and its original before the edit.
  ///
  /// - Throws: The same errors as `save(_:in:)`.
  @discardableResult
  public func save<Model: CKRecordModel & Encodable>(
    _ model: Model,
    changedFrom original: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> QueuedChange {
    var changes = CKModelChanges(in: zoneID)
    try changes.save(model, changedFrom: original)
    return try await accept(changes)[0]
  }

  /// Accepts the deletion of a model's record.
  ///
  /// - Throws: `StoreError` if the store cannot accept the change.
  @discardableResult
  public func delete(_ model: some CKRecordModel, in zoneID: CKRecordZone.ID? = nil) async throws -> QueuedChange {
    var changes = CKModelChanges(in: zoneID)
    try changes.delete(model)
    return try await accept(changes)[0]
  }

  // MARK: - Conversion to store types

  /// Refuses models that belong to another database than this store's.
  func checkDatabase(of type: any CKRecordModel.Type) throws(CKModelError) {
    try DeclaredDatabase(of: type).check(scope.database.scope)
  }

  func zoneKey(_ zoneID: CKRecordZone.ID?) -> ZoneKey {
    zoneID.map { ZoneKey($0) } ?? scope.zoneForChangesWithoutOne
  }

  private func record(_ recordID: CKRecord.ID, in zone: ZoneKey) throws -> CKRecord? {
    guard let known = try record(RecordKey(zone, recordID.recordName)) else { return nil }
    var wire = WireRecord(recordName: recordID.recordName)
    wire.recordType = known.type
    wire.take(known.fields)
    return CKRecord(wire: wire, zoneID: recordID.zoneID)
  }

  @concurrent private func accept(_ changes: CKModelChanges, group: String? = nil) async throws -> [QueuedChange] {
    for step in changes.steps { try step.database?.check(scope.database.scope) }
    // Later steps build on the records that earlier steps changed.
    var records: [CKRecord.ID: CKRecord?] = [:]
    var schema = KnownSchema(self)
    let requested = try changes.steps.compactMap { step -> (change: Change, isTarget: Bool)? in
      let id = step.recordID
      // A model that was read knows its zone.
      let zone = zoneKey(step.isArchived ? id.zoneID : changes.zoneID)
      let known = try records[id] ?? record(id, in: zone)
      try step.model?.checkZones(in: zone.zoneID)
      if step.isTarget, let known {
        guard known.recordType == step.recordType else {
          let types = "of type \(known.recordType), not \(step.recordType ?? "")"
          throw StoreError(.invalid, "\(id.recordName) is a record \(types)")
        }
        return nil
      }
      let applied = step.applied(to: known)
      records[id] = .some(applied)
      guard let type = step.recordType, let applied else {
        return (Change(RecordKey(zone, id.recordName), .delete), false)
      }
      let changed = try applied.changedFields()
      var fields = FieldChanges(values: changed.set, cleared: changed.cleared, rules: step.rules)
      if let parent = applied.changedParent { fields[FieldChanges.parent] = parent.map { .parent($0.recordName) } }
      try schema.check(fields.values, of: type, in: zone)
      let read = try step.fieldsRead()
      let base = read.map { read in
        // Only a checksum shows what the server had of an asset.
        let known = fields.names.filter { read[$0]?.assets?.allSatisfy { $0.fileChecksum != nil } ?? true }
        return Dictionary(uniqueKeysWithValues: known.map { ($0, read[$0]) })
      }
      let key = RecordKey(zone, id.recordName)
      var change = Change(key, .save(type: type, fields), assets: changed.assets, base: base)
      change.presence = step.presence
      change.unchanged = (read ?? [:]).filter { !fields.names.contains($0.key) && $0.value.assets == nil }
      return (change, step.isTarget)
    }
    let accepted = try enqueue(requested.map(\.change), group: group, isWhole: true)
    return try zip(requested, accepted).filter { !$0.0.isTarget }.map { requested, accepted in
      let change = requested.change
      return try queued(change.key.recordID, accepted, isDeletion: change.kind == .delete, origin)
    }
  }
}

/// The field types that the server has, as far as the local copy shows them. The type of a field never changes.
private struct KnownSchema {
  private struct Place: Hashable {
    var type: String
    var zone: ZoneKey
  }

  private let store: SyncStore
  private var fields: [Place: [String: FieldValue]] = [:]

  init(_ store: SyncStore) { self.store = store }

  /// Refuses a value that the server would reject, with the name of its field.
  mutating func check(_ values: [String: FieldValue], of type: String, in zone: ZoneKey) throws {
    let place = Place(type: type, zone: zone)
    let known = try fields[place] ?? store.newestFields(of: type, in: zone)
    fields[place] = known
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      guard let other = known[name], !value.hasSameType(as: other) else { continue }
      throw CKModelError(
        type,
        field: name,
        "The server has \(other.wireType) in this field, and the model has \(value.wireType)."
      )
    }
  }
}

extension FieldValue {
  fileprivate func hasSameType(as other: FieldValue) -> Bool {
    // The server has no type yet for the elements of an empty list.
    if case .list(.unknown, _) = self { return true }
    if case .list(.unknown, _) = other { return true }
    return wireType == other.wireType
  }
}

extension CKModelChanges.Step {
  /// The model; nil for a deletion.
  var model: EncodedModel? {
    switch self {
    case .save(let model, _, _), .edit(let model, _, _), .target(let model, _): model
    case .delete: nil
    }
  }

  var recordID: CKRecord.ID {
    switch self {
    case .save(let model, _, _), .edit(let model, _, _), .target(let model, _): model.record.recordID
    case .delete(let recordID, _, _): recordID
    }
  }

  /// Whether another model refers to it.
  var isTarget: Bool { if case .target = self { true } else { false } }

  /// Whether the model's archive decided the zone.
  var isArchived: Bool {
    switch self {
    case .save(let model, _, _), .edit(let model, _, _), .target(let model, _): model.isArchived
    case .delete(_, let isArchived, _): isArchived
    }
  }

  /// The database of the model; nil for the deletion of a plan's record.
  var database: DeclaredDatabase? { if case .delete(_, _, let database) = self { database } else { model?.database } }

  /// The type of the model; nil for a deletion.
  var recordType: CKRecord.RecordType? { model?.record.recordType }

  var rules: [String: MergeRule] {
    switch self {
    case .save(_, let rules, _), .edit(_, _, let rules), .target(_, let rules): rules
    case .delete: [:]
    }
  }

  var presence: Change.Presence? {
    switch self {
    case .save(_, _, let presence): presence
    case .target: .absentOrKept
    case .edit, .delete: nil
    }
  }

  /// Returns all fields as they were before the edit, if known.
  func fieldsRead() throws -> [String: FieldValue]? {
    guard case .edit(_, let original, _) = self else { return nil }
    var fields = try original.record.changedFields().set
    if let parent = original.record.parent { fields[FieldChanges.parent] = .parent(parent.recordID.recordName) }
    return fields
  }

  /// Returns the record after the step; nil if the step deletes it.
  func applied(to known: CKRecord?) -> CKRecord? {
    switch self {
    case .delete: return nil
    case .save(let model, _, _), .target(let model, _):
      guard let known else { return model.record.copy() as? CKRecord }
      model.write(onto: known)
      return known
    case .edit(let model, let original, _):
      let record = known ?? CKRecord(recordType: model.record.recordType, recordID: model.record.recordID)
      model.write(onto: record, changedFrom: original)
      return record
    }
  }
}
