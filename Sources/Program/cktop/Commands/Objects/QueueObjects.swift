import CloudKit
import CloudSync
import Facts
import JSONText

/// An operation as a line of `queue list`.
struct OperationLine: PrintedObject {
  let id: Int64
  let kind: OperationKind
  let key: RecordKey
  let type: String?
  let enqueuedAt: Int64
  /// Nil once it has ended.
  let row: QueueRow?

  init(_ row: QueueRow) {
    (id, kind, key, type, enqueuedAt, self.row) = (row.id, row.kind, row.key, row.type, row.enqueuedAt, row)
  }

  init(ended entry: HistoryEntry) {
    (id, kind, key, type, enqueuedAt, row) = (entry.id, entry.kind, entry.key, entry.type, entry.enqueuedAt, nil)
  }

  static let jsonFields: JSONFields<Self> = [
    "id": .integer(\.id), "version": .text(\.row?.version), "operation": .text(\.kind.rawValue),
    "recordType": .text(\.type), "recordName": .text { $0.kind.isOfZone ? nil : $0.key.name },
    "zone": .text(\.key.zone), "owner": .unlessEmpty(\.key.owner), "state": .text(\.row?.state.rawValue),
    "reason": .text(\.row?.cause.text), "attempts": .integer(\.row?.attempts),
    "maxAttempts": .integer(\.row?.maxAttempts), "nextAttemptAt": .time(\.row?.nextAttemptAt),
    "blockedBy": .integers { $0.row?.blockedBy ?? [] }, "error": .error(\.row?.errorCode, \.row?.errorMessage),
    "bytes": .integer(\.row?.bytes), "enqueuedAt": .time(\.enqueuedAt),
  ]
}

extension QueueRow {
  /// The operation as a line of `queue list`.
  var json: JSONObject { OperationLine(self).json }
}

extension OperationDetail {
  /// The operation as `queue show` and `queue export` print it; nil if there is none.
  var json: JSONObject? { ShownOperation(self)?.json }
}

/// An operation as `queue show` and `queue export` print it: the line of `queue list`, its payload, the base and server
/// values, and every attempt. One that has ended has the same keys; a value that it no longer has is null.
struct ShownOperation: PrintedObject {
  private let line: OperationLine
  private let detail: OperationDetail
  /// Its ending; nil while it is queued.
  private let ended: HistoryEntry?

  init?(_ detail: OperationDetail) {
    self.detail = detail
    ended = detail.operation == nil ? detail.history : nil
    let row = detail.operation.map { QueueRow($0, serverTag: detail.server?.changeTag) }
    guard let line = row.map(OperationLine.init) ?? ended.map(OperationLine.init(ended:)) else { return nil }
    self.line = line
  }

  private static let payload: JSONFields<FieldChanges> = [
    "fields": .fields(\.values), "cleared": .texts { $0.cleared.sorted() },
  ]
  private static let attempt: JSONFields<Attempt> = [
    "number": .integer(\.number), "at": .time(\.at), "seconds": .number(\.seconds), "error": .error(\.code, \.message),
    "response": .text(\.reply), "uuid": .text(\.requestID),
  ]
  private static let program: JSONFields<ProgramID> = ["program": .text(\.name), "pid": .integer(\.pid)]

  static let jsonFields: JSONFields<Self> = OperationLine.jsonFields.of(\.line).adding([
    "payload": .object(payload, \.detail.operation?.changes), "difference": .list(\.detail.sides),
    "baseTag": .text(\.detail.operation?.baseTag),
    "serverTag": .text { $0.ended == nil ? $0.detail.server?.changeTag : nil },
    "attemptLog": .list(attempt) { $0.detail.attempts.reversed() }, "ending": .text(\.ended?.ending.rawValue),
    "detail": .text(\.ended?.cause.text), "endedAt": .time(\.ended?.endedAt), "dropped": .list(\.detail.dropped),
    "enqueuedBy": .object(program) { $0.ended?.enqueuedBy ?? $0.detail.operation?.enqueuedBy },
  ])
}

extension DroppedChange: PrintedObject {
  /// The change as `conflicts dropped` and `queue show` print it.
  static let jsonFields: JSONFields<Self> = [
    "id": .integer(\.operation), "operation": .text(\.kind.rawValue), "recordName": .text(\.key.name),
    "recordType": .text(\.type), "zone": .text(\.key.zone), "owner": .unlessEmpty(\.key.owner),
    "fields": .fields(\.changes.values), "cleared": .texts { $0.changes.cleared.sorted() },
    "reason": .text(\.cause.text), "droppedAt": .time(\.at), "canBeUndone": .bool(\.isOpen), "seen": .bool(\.isSeen),
    "editedAt": .time(\.editedAt), "overwritten": .object(\.overwritten),
  ]
}

extension Overwritten: PrintedObject {
  /// The server's side that was overwritten.
  static let jsonFields: JSONFields<Self> = [
    "fields": .fields { $0.values?.values ?? [:] }, "cleared": .texts { $0.values?.cleared.sorted() ?? [] },
    "deletion": .bool { $0.values == nil },
  ]
}

extension Conflict.Field: PrintedObject {
  /// The field with its three values.
  static let jsonFields: JSONFields<Self> = [
    "name": .text(\.name), "base": .field(\.base), "local": .field(\.local), "server": .field(\.server),
  ]
}

extension Conflict: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "id": .integer(\.id), "version": .text(\.version), "recordName": .text(\.key.name), "recordType": .text(\.type),
    "zone": .text(\.key.zone), "owner": .unlessEmpty(\.key.owner), "operation": .text(\.kind.rawValue),
    "fields": .list(\.fields), "detectedAt": .time(\.detectedAt), "serverModifiedAt": .time(\.serverModifiedAt),
    "serverModifiedBy": .text(\.serverModifiedBy), "reason": .text(\.cause.text),
    "deletedOnServer": .bool(\.isDeletedOnServer),
  ]
}
