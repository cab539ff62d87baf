internal import Synchronization

extension CKRecord {
  /// The record that an answer holds.
  ///
  /// - Parameter zoneID: The zone of the request, which answers may leave out.
  package convenience init(wire: WireRecord, zoneID: CKRecordZoneID) {
    self.init(
      recordType: wire.recordType ?? "",
      recordID: CKRecordID(recordName: wire.recordName, zoneID: zoneID),
      state: RecordState(wire: wire, zoneID: zoneID)
    )
  }

  /// The record that an answer holds, as a share where it is one.
  package static func received(_ wire: WireRecord, zoneID: CKRecordZoneID) -> CKRecord {
    wire.recordType == SystemType.share ? CKShare(received: wire, zoneID: zoneID) : CKRecord(wire: wire, zoneID: zoneID)
  }

  /// Everything that can change, as it is now.
  var snapshot: RecordState {
    var snapshot = state.withLock { $0 }
    // Participants are objects, which go on changing.
    snapshot.sharing = snapshot.sharing?.copied()
    return snapshot
  }

  /// Takes over what the server made of a save; edits made since `sent` stay pending.
  func accept(_ saved: WireRecord, sent: RecordState) {
    var server = RecordState(wire: saved, zoneID: recordID.zoneID, known: sent.fields)
    // A sparse answer, known by its missing type, says nothing about fields: what was sent is what the server has.
    if saved.recordType == nil { (server.fields, server.ancestor) = (sent.fields, sent.fields) }
    state.withLock { $0 = $0.accepting(server, sent: sent) }
  }

  /// All fields as the wire spells them.
  ///
  /// - Throws: `CKError.invalidArguments` for a value that the wire cannot carry.
  package func wireFields() throws(CKError) -> [String: FieldValue] {
    let state = state.withLock { $0 }
    return try state.wireFields(keys: Array(state.fields.keys), zoneID: recordID.zoneID)
  }

  /// The record as the server last had it, as far as this instance knows: the common ancestor of a conflict.
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
  /// The named fields that have a value, as the wire spells them.
  func wireFields(keys: [String], zoneID: CKRecordZoneID) throws(CKError) -> [String: FieldValue] {
    var result = [String: FieldValue](minimumCapacity: keys.count)
    var unspelled: [String] = []
    for key in keys {
      guard let field = fields[key] else { continue }
      if let wire = field.wire { result[key] = wire } else { unspelled.append(key) }
    }
    // In order, so that of several that the wire cannot carry always the same one is told.
    for key in unspelled.sorted() { result[key] = try fields[key]?.wireValue(key: key, zoneID: zoneID) }
    return result
  }
}
