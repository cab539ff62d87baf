import CloudKit
import CloudSync

extension RecordRow: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "recordName": .text(\.record.key.name), "recordType": .text(\.record.type), "zone": .text(\.record.key.zone),
    "owner": .unlessEmpty(\.record.key.owner), "changeTag": .text(\.changeTag), "fields": .fields(\.record.fields),
    "createdAt": .time(\.record.createdAt), "modifiedAt": .time(\.record.modifiedAt),
    "modifiedBy": .text(\.record.modifiedBy), "pending": .bool { $0.operation != nil },
    "operation": .integer(\.operation), "state": .text(\.operationState?.rawValue),
  ]

  /// The record, where an asset has the name of its file.
  static let fieldsWithFiles = jsonFields.adding(["fields": .fields(namesFiles: true, \.record.fields)])
}

extension ZoneRow: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "zone": .text(\.key.zone), "owner": .unlessEmpty(\.key.owner), "records": .integer(\.records),
    "unsent": .integer(\.unsent), "tokenAt": .time(\.tokenAt), "lastFetchAt": .time(\.lastFetchAt),
    "state": .text(\.state), "heldDeletions": .integer(\.held?.records), "deletePending": .bool(\.isDeletePending),
    "paused": .bool(\.isPaused), "needsFetch": .bool { $0.fetch != nil },
    "fetchedSoFar": .integer { $0.fetch?.fetched ?? 0 }, "onHold": .integer { $0.held?.records ?? 0 },
    "version": .text(\.held?.version),
  ]
}
