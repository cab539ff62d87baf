package import CloudKit
import Foundation

extension Change {
  /// Makes a change of a record: the fields set and cleared since it was fetched, and its parent.
  ///
  /// - Throws: `CKError` for values that a queue cannot store.
  static func saving(_ record: CKRecord) throws(CKError) -> (change: Change, fields: CKRecord.ChangedFields) {
    guard !(record is CKShare) else {
      throw CKError(
        .invalidArguments,
        userInfo: [NSLocalizedDescriptionKey: "A share cannot wait in a queue; save it with CKDatabase."]
      )
    }
    let changed = try record.changedFields()
    var changes = FieldChanges(values: changed.set, cleared: changed.cleared)
    let key = RecordKey(record.recordID)
    if let parent = record.changedParent {
      if let parent, parent.zoneID != record.recordID.zoneID {
        throw CKError(
          .invalidArguments,
          userInfo: [NSLocalizedDescriptionKey: "The parent of \(key.name) lies in another zone."]
        )
      }
      changes[FieldChanges.parent] = parent.map { .parent($0.recordName) }
    }
    let kind = Kind.save(type: record.recordType, changes)
    var change = Change(key, kind, assets: changed.assets, base: changed.base, baseTag: changed.changeTag)
    change.readAt = record.modificationDate.flatMap {
      Milliseconds.since1970(reference: $0.timeIntervalSinceReferenceDate)
    }
    change.unchanged = changed.unchanged
    if changed.base != nil || changed.changeTag != nil, let parent = record.parent, record.changedParent == nil {
      change.unchanged[FieldChanges.parent] = .parent(parent.recordID.recordName)
    }
    return (change, changed)
  }
}

extension RecordKey {
  /// The key in the store for a record identifier.
  package init(_ id: CKRecord.ID) {
    self.init(ZoneKey(id.zoneID), id.recordName)
  }

  package var recordID: CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneKey.zoneID) }
}

extension ZoneKey {
  /// The key in the store for a zone identifier.
  package init(_ id: CKRecordZone.ID) {
    self.init(zone: id.zoneName, owner: id.ownerName == CKCurrentUserDefaultName ? "" : id.ownerName)
  }

  package var zoneID: CKRecordZone.ID {
    CKRecordZone.ID(zoneName: zone, ownerName: owner.isEmpty ? CKCurrentUserDefaultName : owner)
  }
}

extension CKRecord {
  /// Creates a record from the mirror's or the queue's fields.
  package convenience init(_ key: RecordKey, type: String, fields: [String: FieldValue], tag: String? = nil) {
    self.init(MirrorRecord(key: key, type: type, changeTag: tag ?? "", fields: fields))
  }

  /// Creates a record of a list, with its times, and with its change tag if the server has it.
  package convenience init(_ record: MirrorRecord) {
    self.init(wire: record.wire, zoneID: record.key.recordID.zoneID)
  }

  /// All fields as the mirror and the queue store them.
  func queueFields() throws(CKError) -> [String: FieldValue] {
    let zone = RecordKey(recordID).zoneKey
    var fields = try wireFields().mapValues { $0.canonical(in: zone) }
    if let parent { fields[FieldChanges.parent] = .parent(parent.recordID.recordName) }
    return fields
  }
}

extension MirrorRecord {
  /// The record in its wire encoding, with its times, and with its change tag if the server has it.
  var wire: WireRecord {
    var wire = WireRecord(recordName: key.name, recordType: type)
    wire.recordChangeTag = changeTag.isEmpty ? nil : changeTag
    wire.take(fields)
    wire.created = createdAt.map { WireStamp(timestamp: $0, userRecordName: createdBy) }
    wire.modified = modifiedAt.map { WireStamp(timestamp: $0, userRecordName: modifiedBy) }
    wire.share = share.map { WireReference(recordName: $0) }
    return wire
  }
}

extension SyncStore {
  /// Accepts the changes of records, all or none, and marks the records as saved.
  ///
  /// - Parameter origin: the database that downloads the assets of saved records.
  @discardableResult
  package func save(_ records: [CKRecord], origin: CKDatabase? = nil) throws -> [QueuedChange] {
    let savings = try records.map { (record: $0, saving: try Change.saving($0)) }
    let accepted = try enqueue(savings.map(\.saving.change), isWhole: true)
    for (record, saving) in savings { record.accept(saving.fields) }
    return try zip(records, accepted).map { try queued($0.recordID, $1, isDeletion: false, origin) }
  }

  /// Accepts deletions, all or none.
  @discardableResult
  package func delete(_ recordIDs: [CKRecord.ID]) throws(StoreError) -> [QueuedChange] {
    let accepted = try enqueue(recordIDs.map { Change(RecordKey($0), .delete) }, isWhole: true)
    return try zip(recordIDs, accepted).map { id, accepted throws(StoreError) in
      try queued(id, accepted, isDeletion: true, nil)
    }
  }

  /// Returns an accepted change, to await its outcome.
  package func queued(_ recordID: CKRecord.ID, _ accepted: Accepted, isDeletion: Bool, _ origin: CKDatabase?)
    throws(StoreError) -> QueuedChange
  {
    // An unchanged record may have a change of the same values in the queue.
    let id: Int64? =
      if case .enqueued(let id) = accepted { id } else { try read { try $0.operation(for: RecordKey(recordID))?.id } }
    return QueuedChange(recordID: recordID, isDeletion: isDeletion, id: id, store: self, origin: origin)
  }

  /// The record of a queued save, with its changes marked as changed; nil if it is not in the queue any more.
  func draft(_ id: Int64) throws -> CKRecord? {
    guard let local = try read({ ledger in try ledger.operation(id).map(ledger.local) }), let operation = local.queued
    else { return nil }
    let (key, type, changes, server) = (operation.key, operation.type ?? "", operation.changes, local.server)
    let record = CKRecord(key, type: type, fields: local.fields, tag: server?.changeTag)
    for (field, assets) in Dictionary(grouping: operation.assets, by: \.field) {
      let files = assets.sorted { $0.position < $1.position }.compactMap(file(of:))
      guard files.count == changes[field]?.assets?.count else { continue }
      let values = files.map(CKAsset.init(fileURL:))
      if case .asset? = changes[field] { record[field] = values[0] } else { record[field] = values }
    }
    record.countAsChanged(
      changes.names.subtracting([FieldChanges.parent]),
      parent: changes.names.contains(FieldChanges.parent),
      since: server.map { CKRecord(key, type: type, fields: $0.fields, tag: $0.changeTag) }
    )
    return record
  }

  /// A record as this machine has it, with the server's change tag and times if known; nil if there is none, or a
  /// delete is queued.
  package func current(_ recordID: CKRecord.ID) throws(StoreError) -> CKRecord? {
    try record(RecordKey(recordID)).map { CKRecord($0) }
  }
}
