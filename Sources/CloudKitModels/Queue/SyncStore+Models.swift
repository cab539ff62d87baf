public import CloudKit
public import CloudSync
internal import Foundation

/// Models through the durable queue: on disk when a call returns, sent by whoever drives the store.
///
/// The store works off the caller's actor.
extension SyncStore {
  /// Accepts changes of models in one transaction, all or none. What was accepted survives a power cut.
  ///
  /// - Parameter atomically: Whether they are also sent in one request, of which the server does all or nothing. That
  ///   takes a custom zone, and at most 200 records.
  /// - Throws: `StoreError` where the store cannot take them, or one of them can never be sent.
  public func enqueue(_ changes: CKModelChanges, atomically: Bool = false) async throws {
    try await accept(changes, group: atomically ? UUID().uuidString : nil)
  }

  /// Accepts a model to be saved: every field becomes what the model has, nil clears, and fields that the model does not
  /// know stay. Only what differs from what this machine knows is sent. Where it does not know the server's record yet,
  /// the two are merged once they meet.
  ///
  /// A model that was read a while ago also undoes what others have done to its fields since. Where that matters, use
  /// `save(_:changedFrom:in:)`.
  ///
  /// - Parameter zoneID: As `CKModelChanges` has it.
  /// - Throws: `EncodingError` for what a record cannot hold; `StoreError` where the store cannot take it, or it can never
  ///   be sent.
  public func save<Model: CKRecordModel & Encodable>(_ model: Model, in zoneID: CKRecordZone.ID? = nil) async throws {
    var changes = CKModelChanges(in: zoneID)
    try changes.save(model)
    try await accept(changes)
  }

  /// Accepts what differs between a model and the same one before it was edited.
  ///
  /// - Throws: As `save(_:in:)`.
  public func save<Model: CKRecordModel & Encodable>(
    _ model: Model,
    changedFrom original: Model,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws {
    var changes = CKModelChanges(in: zoneID)
    try changes.save(model, changedFrom: original)
    try await accept(changes)
  }

  /// Accepts the deletion of a model's record.
  ///
  /// - Throws: `StoreError` where the store cannot take it.
  public func delete(_ model: some CKRecordModel, in zoneID: CKRecordZone.ID? = nil) async throws {
    var changes = CKModelChanges(in: zoneID)
    changes.delete(model)
    try await accept(changes)
  }

  /// The model of this name as this machine has it: the server's record with the queued changes laid over it; nil where
  /// there is none, or where it is to be deleted.
  ///
  /// - Throws: `DecodingError` where the record does not fit the model, `StoreError` where the store cannot be read.
  public func model<Model: CKRecordModel & Decodable>(
    _ type: Model.Type,
    named recordName: String,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> Model? {
    let recordID = CKRecord.ID(recordName: recordName, zoneID: zoneID ?? .default)
    guard let record = try await current(recordID, in: zoneKey(zoneID)) else { return nil }
    return try CKRecordDecoder().decode(type, from: record)
  }

  // MARK: - The store's own words

  private func zoneKey(_ zoneID: CKRecordZone.ID?) -> ZoneKey {
    guard let zoneID else { return scope.zoneForChangesWithoutOne }
    return ZoneKey(zone: zoneID.zoneName, owner: zoneID.ownerName == CKCurrentUserDefaultName ? "" : zoneID.ownerName)
  }

  @concurrent private func current(_ recordID: CKRecord.ID, in zone: ZoneKey) async throws -> CKRecord? {
    try record(recordID, in: zone)
  }

  private func record(_ recordID: CKRecord.ID, in zone: ZoneKey) throws -> CKRecord? {
    guard let known = try record(RecordKey(zone, recordID.recordName)) else { return nil }
    var wire = WireRecord(recordName: recordID.recordName)
    wire.recordType = known.type
    wire.take(known.fields)
    return CKRecord(wire: wire, zoneID: recordID.zoneID)
  }

  @concurrent private func accept(_ changes: CKModelChanges, group: String? = nil) async throws {
    let zone = zoneKey(changes.zoneID)
    // What the steps so far have made of a record is what the next one finds.
    var records: [CKRecord.ID: CKRecord?] = [:]
    let accepted = try changes.steps.map { step in
      let id = step.recordID
      let known = try records[id] ?? record(id, in: zone)
      let applied = step.applied(to: known)
      records[id] = .some(applied)
      guard let type = step.recordType, let applied else { return Change(RecordKey(zone, id.recordName), .delete) }
      let changed = try applied.changedFields()
      let fields = FieldChanges(values: changed.set, cleared: changed.cleared, rules: step.rules)
      let read = try step.fieldsRead()
      let base = read.map { read in Dictionary(uniqueKeysWithValues: fields.names.map { ($0, read[$0]) }) }
      let key = RecordKey(zone, id.recordName)
      var change = Change(key, .save(type: type, fields), assets: changed.assets, base: base)
      change.unchanged = (read ?? [:]).filter { !fields.names.contains($0.key) && $0.value.assets == nil }
      return change
    }
    _ = try enqueue(accepted, group: group, isWhole: true)
  }
}

extension CKModelChanges.Step {
  var recordID: CKRecord.ID {
    switch self {
    case .save(let model, _), .edit(let model, _, _): model.recordID
    case .delete(let recordID): recordID
    }
  }

  /// The type of the model; nil where its record is deleted.
  var recordType: CKRecord.RecordType? {
    switch self {
    case .save(let model, _), .edit(let model, _, _): model.recordType
    case .delete: nil
    }
  }

  var rules: [String: MergeRule] {
    switch self {
    case .save(_, let rules), .edit(_, _, let rules): rules
    case .delete: [:]
    }
  }

  /// All fields as they were before the edit, where that is known.
  func fieldsRead() throws -> [String: FieldValue]? {
    guard case .edit(_, let original, _) = self else { return nil }
    return try original.changedFields().set
  }

  /// What becomes of a record that is known, or not; nil where it is deleted.
  func applied(to known: CKRecord?) -> CKRecord? {
    switch self {
    case .delete: return nil
    case .save(let model, _):
      guard let known else { return model.copy() as? CKRecord }
      known.adopt(model)
      return known
    case .edit(let model, let original, _):
      let record = known ?? CKRecord(recordType: model.recordType, recordID: model.recordID)
      for key in Set(original.changedKeys()).union(model.changedKeys())
      where !FieldContent.isSame(original[key], model[key]) {
        record[key] = model[key]
      }
      return record
    }
  }
}
