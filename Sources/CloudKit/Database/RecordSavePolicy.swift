extension CKModifyRecordsOperation {
  /// What a save does when the server has another version of the record.
  public enum RecordSavePolicy: Int, Sendable {
    /// Fails with `CKError.serverRecordChanged`. A record that was never saved must not exist.
    case ifServerRecordUnchanged = 0
    /// Writes the fields that were set or cleared here over the server's; the others stay as the server has them.
    case changedKeys = 1
    /// Writes all fields that the record holds here over the server's; fields that it does not hold stay.
    case allKeys = 2
  }
}

extension CKRecord {
  /// The operation that saves this record (reference 5.3), and the state that it sends.
  ///
  /// - Throws: `CKError.invalidArguments` for what the wire cannot carry, `assetFileNotFound` and `limitExceeded` for files.
  func saveOperation(
    _ policy: CKModifyRecordsOperation.RecordSavePolicy
  ) throws(CKError) -> (operation: WireRecordOperation, sent: RecordState) {
    let state = snapshot
    let isNew = state.changeTag == nil
    let sendsAll = policy == .allKeys || (isNew && policy == .ifServerRecordUnchanged)
    var wire = WireRecord(recordName: recordID.recordName, recordType: recordType)
    // The descriptor of an asset that was only read cannot be written; a field that is not sent stays as it is.
    let keys = sendsAll ? state.fields.keys.filter { isNew || !state.isUntouchedAsset($0) } : Array(state.changedKeys)
    let announced = try state.announcingAssets(in: keys)
    wire.fields = try announced.wireFields(keys: keys, zoneID: recordID.zoneID)
    wire.clearedFields = isNew ? [] : state.changedKeys.filter { state.fields[$0] == nil }
    if policy != .ifServerRecordUnchanged { wire.clearedFields = state.changedKeys.filter { state.fields[$0] == nil } }
    if let parent = state.parent, sendsAll || state.parentChanged {
      wire.parent = WireRecordName(recordName: parent.recordID.recordName)
    } else if state.parentChanged, !isNew {
      wire.clearsParent = true
    }
    wire.sharing = state.sharing?.wire(all: sendsAll)
    switch policy {
    case .ifServerRecordUnchanged where isNew: return (WireRecordOperation(.create, wire), state)
    case .ifServerRecordUnchanged:
      wire.recordChangeTag = state.changeTag
      return (WireRecordOperation(.update, wire), state)
    case .changedKeys, .allKeys: return (WireRecordOperation(.forceUpdate, wire), state)
    }
  }
}

extension RecordState {
  fileprivate func isUntouchedAsset(_ key: String) -> Bool {
    !changedKeys.contains(key) && fields[key]?.wire?.assets != nil
  }
}
