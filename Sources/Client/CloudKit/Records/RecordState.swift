internal import Foundation

/// The mutable state of a record.
struct RecordState: Sendable {
  var fields: [String: StoredField] = [:]
  /// The server's last known fields, the common ancestor in a conflict; nil for a record that was never fetched or
  /// saved.
  var ancestor: [String: StoredField]?
  /// The fields that were set or cleared since then.
  var changedKeys: Set<String> = []
  /// The number of edits, to detect edits made since a copy was taken.
  var edits = 0
  var changeTag: String?
  var created: WireStamp?
  var modified: WireStamp?
  var parent: CKReference?
  var parentChanged = false
  var share: CKReference?
  /// The state of a share besides its fields; nil for any other record.
  var sharing: ShareState?

  init() {}

  /// - Parameter known: Local fields. Objects of fields with an unchanged value are reused.
  init(wire: WireRecord, zoneID: CKRecordZoneID, known: [String: StoredField] = [:]) {
    if known.isEmpty {
      fields = wire.fields.mapValues { StoredField(wire: $0, zoneID: zoneID) }
    } else {
      fields.reserveCapacity(wire.fields.count)
      for (key, value) in wire.fields {
        let mine = known[key].flatMap { $0.wire == value && !$0.isMorePrecise ? $0 : nil }
        fields[key] = mine ?? StoredField(wire: value, zoneID: zoneID)
      }
    }
    ancestor = fields
    changeTag = wire.recordChangeTag
    created = wire.created
    modified = wire.modified
    parent = wire.parent.map {
      CKReference(recordID: CKRecordID(recordName: $0.recordName, zoneID: zoneID), action: .none)
    }
    share = wire.share.map { CKReference(wire: $0, zoneID: zoneID) }
    if wire.recordType == CKRecord.SystemType.share { sharing = ShareState(wire: wire) }
    noteOrigins(recordName: wire.recordName, zoneID: zoneID)
  }

  /// Returns this state after the server accepted `sent` and replied with `saved`.
  ///
  /// Fields that were edited during the request keep their edit and stay changed.
  func accepting(_ saved: RecordState, sent: RecordState) -> RecordState {
    var result = saved
    result.edits = edits
    for key in edits == sent.edits ? [] : changedKeys
    where fields[key]?.object !== sent.fields[key]?.object || !sent.changedKeys.contains(key) {
      result.fields[key] = fields[key]
      result.changedKeys.insert(key)
    }
    if parentChanged, parent != sent.parent {
      result.parent = parent
      result.parentChanged = true
    }
    if let sharing {
      result.sharing = saved.sharing.map { sharing.accepting($0, sent: sent.sharing ?? sharing) } ?? sharing
    }
    for (key, field) in sent.fields where field.holdsFiles && !result.changedKeys.contains(key) {
      result.fields[key] = result.fields[key]?.keepingFiles(of: field)
    }
    return result
  }

  /// Returns this state after the record was fetched again: the server's state with the local edits.
  func refreshed(from server: RecordState) -> RecordState {
    var sent = self
    // None of the local edits counts as sent.
    (sent.changedKeys, sent.edits) = ([], -1)
    var result = accepting(server, sent: sent)
    if parentChanged { (result.parent, result.parentChanged) = (parent, true) }
    return result
  }
}

extension WireStamp {
  var date: Date { Milliseconds.date(timestamp) }
  var userRecordID: CKRecordID? { userRecordName.map { CKRecordID(recordName: $0) } }
}
