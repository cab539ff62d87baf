internal import Synchronization

extension CKRecord {
  /// Makes a record from a reply.
  ///
  /// - Parameter zoneID: The zone of the request, which replies may omit.
  package convenience init(wire: WireRecord, zoneID: CKRecordZoneID) {
    self.init(
      recordType: wire.recordType ?? "",
      recordID: CKRecordID(recordName: wire.recordName, zoneID: zoneID),
      state: RecordState(wire: wire, zoneID: zoneID)
    )
  }

  /// Returns the record in a reply, as a `CKShare` if it is a share.
  package static func received(_ wire: WireRecord, zoneID: CKRecordZoneID) -> CKRecord {
    wire.recordType == SystemType.share ? CKShare(received: wire, zoneID: zoneID) : CKRecord(wire: wire, zoneID: zoneID)
  }

  /// A copy of the mutable state.
  var snapshot: RecordState {
    var snapshot = state.withLock { $0 }
    // Participants are mutable objects, so they are copied.
    snapshot.sharing = snapshot.sharing?.copied()
    return snapshot
  }

  /// Applies the server's reply to a save. Edits made since `sent` stay pending.
  func accept(_ saved: WireRecord, sent: RecordState) {
    var server = RecordState(wire: saved, zoneID: recordID.zoneID, known: sent.fields)
    // A reply without a record type is sparse and has no fields: the server now has the fields that were sent.
    if saved.recordType == nil {
      let fields = sent.fields.mapValues { $0.isMorePrecise ? $0.sent : $0 }
      (server.fields, server.ancestor) = (fields, fields)
    }
    state.withLock { $0 = $0.accepting(server, sent: sent) }
  }

  /// Returns the encoding of all fields.
  ///
  /// - Throws: `CKError.invalidArguments` for a value that cannot be encoded.
  package func wireFields() throws(CKError) -> [String: FieldValue] {
    let state = state.withLock { $0 }
    return try state.wireFields(keys: Array(state.fields.keys), zoneID: recordID.zoneID)
  }

  /// The last version from the server that this instance knows: the common ancestor in a conflict.
  var ancestorRecord: CKRecord? {
    let state = state.withLock { $0 }
    guard let fields = state.ancestor else { return nil }
    var ancestor = state
    ancestor.fields = fields
    ancestor.changedKeys = []
    ancestor.parentChanged = false
    return instance(holding: ancestor)
  }
}

extension RecordState {
  /// Returns the encoding of those of the named fields that have a value.
  func wireFields(keys: [String], zoneID: CKRecordZoneID) throws(CKError) -> [String: FieldValue] {
    var result = [String: FieldValue](minimumCapacity: keys.count)
    var unencoded: [String] = []
    for key in keys {
      guard let field = fields[key] else { continue }
      if let wire = field.wire { result[key] = wire } else { unencoded.append(key) }
    }
    // Sorted, so that the error always names the same one of several invalid fields.
    for key in unencoded.sorted() { result[key] = try fields[key]?.wireValue(key: key, zoneID: zoneID) }
    return result
  }
}
