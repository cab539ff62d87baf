import CloudKit
import CloudSync
import JSONText

extension RecordRow {
  /// The record as JSON.
  var json: JSONObject { json(namesFiles: false) }

  /// The record as JSON.
  ///
  /// - Parameter namesFiles: whether an asset has the name of its file.
  func json(namesFiles: Bool) -> JSONObject {
    var object = record.json(changeTag: changeTag, namesFiles)
    object["pending"] = .bool(operation != nil)
    object["operation"] = .optional(operation)
    object["state"] = .optional(operationState?.rawValue)
    return object
  }
}

extension MirrorRecord {
  fileprivate func json(changeTag: String?, _ namesFiles: Bool) -> JSONObject {
    [
      "recordName": .text(key.name), "recordType": .text(type), "zone": .text(key.zone),
      "owner": .unlessEmpty(key.owner), "changeTag": .optional(changeTag),
      "fields": .fields(fields, namesFiles: namesFiles), "createdAt": .time(createdAt), "modifiedAt": .time(modifiedAt),
      "modifiedBy": .optional(modifiedBy),
    ]
  }
}

extension ZoneRow {
  /// The zone as JSON.
  var json: JSONObject {
    [
      "zone": .text(key.zone), "owner": .unlessEmpty(key.owner),
      "records": .integer(Int64(records)), "unsent": .integer(Int64(unsent)), "tokenAt": .time(tokenAt),
      "lastFetchAt": .time(lastFetchAt),
      "state": .text(state), "heldDeletions": held.map { .integer(Int64($0.records)) } ?? .null,
      "deletePending": .bool(isDeletePending), "paused": .bool(isPaused), "needsFetch": .bool(fetch != nil),
      "fetchedSoFar": .integer(Int64(fetch?.fetched ?? 0)),
      "onHold": .integer(Int64(held?.records ?? 0)), "version": .optional(held?.version),
    ]
  }
}
