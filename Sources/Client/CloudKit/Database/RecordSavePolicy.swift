extension CKModifyRecordsOperation {
  /// The behavior of a save when the server has another version of the record.
  public enum RecordSavePolicy: Int, Sendable {
    /// Fails with `CKError.serverRecordChanged`. A record that was never saved must not exist on the server.
    case ifServerRecordUnchanged = 0
    /// Overwrites the fields that were set or cleared locally; the server's other fields stay.
    case changedKeys = 1
    /// Overwrites all fields that the local record has and clears those that were cleared locally; the server's other
    /// fields stay.
    case allKeys = 2
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown = -1
  }
}

extension CKRecord {
  /// Returns the operation that saves this record (reference 5.3), and the state that it sends.
  ///
  /// - Throws: `CKError.invalidArguments` for a value that cannot be encoded, `assetFileNotFound` and `limitExceeded`
  ///   for files.
  func saveOperation(
    _ policy: CKModifyRecordsOperation.RecordSavePolicy
  ) throws(CKError) -> (operation: WireRecordOperation, sent: RecordState) {
    let state = snapshot
    let isNew = state.changeTag == nil
    let sendsAll = policy == .allKeys || (isNew && policy == .ifServerRecordUnchanged)
    var wire = WireRecord(recordName: recordID.recordName, recordType: recordType)
    // The descriptor of a fetched asset cannot be written back; a field that is not sent stays as it is.
    let keys = sendsAll ? state.fields.keys.filter { isNew || !state.isUntouchedAsset($0) } : Array(state.changedKeys)
    let announced = try state.announcingAssets(in: keys)
    wire.fields = try announced.wireFields(keys: keys, zoneID: recordID.zoneID)
    let creates = isNew && policy == .ifServerRecordUnchanged
    wire.clearedFields = creates ? [] : state.changedKeys.filter { state.fields[$0] == nil }
    // An empty list means the same as no value. Only a field that the server has takes one: for a new field, the list
    // would not show the type of its elements. A field that the server may have without our knowledge is cleared.
    for (key, value) in wire.fields where value.isEmptyList && state.ancestor?[key] == nil {
      wire.fields[key] = nil
      if !creates { wire.clearedFields.insert(key) }
    }
    if let parent = state.parent, sendsAll || state.parentChanged {
      wire.parent = WireRecordName(recordName: parent.recordID.recordName)
    } else if state.parentChanged, !isNew {
      wire.clearsParent = true
    }
    guard (self as? CKShare)?.isReadable != false else {
      throw .invalidArguments("The share was read from a damaged archive. Fetch it.")
    }
    try state.sharing?.checkIsSupported()
    wire.sharing = state.sharing?.wire(all: sendsAll)
    switch policy {
    case .ifServerRecordUnchanged where creates: return (WireRecordOperation(.create, wire), state)
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
