import CloudKit
import CloudSync
import Facts
import JSONText

extension QueueRow {
  /// The operation as a line of `queue list`.
  var json: JSONObject {
    [
      "id": .integer(id), "version": .text(version), "operation": .text(kind.rawValue), "recordType": .optional(type),
      "recordName": kind.isOfZone ? .null : .text(key.name), "zone": .text(key.zone),
      "owner": .unlessEmpty(key.owner), "state": .text(state.rawValue), "reason": .text(cause.text),
      "attempts": .integer(Int64(attempts)), "maxAttempts": .integer(Int64(maxAttempts)),
      "nextAttemptAt": .time(nextAttemptAt), "blockedBy": .array(blockedBy.map(OutputJSON.integer)),
      "error": .error(errorCode, errorMessage), "bytes": .integer(Int64(bytes)), "enqueuedAt": .time(enqueuedAt),
    ]
  }
}

extension OutputJSON {
  /// The program that enqueued an operation, or null where it is unknown.
  static func program(_ program: ProgramID?) -> OutputJSON {
    program.map { ["program": .text($0.name), "pid": .integer($0.pid)] } ?? .null
  }

  /// An error, or null if there is none.
  static func error(_ code: String?, _ message: String?) -> OutputJSON {
    guard let code else { return .null }
    return ["code": .text(code), "message": .text(message ?? "")]
  }
}

extension OperationDetail {
  /// The operation as `queue show` and `queue export` print it: the line of `queue list`, its payload, the
  /// base and server values, and every attempt.
  var json: JSONObject? {
    guard let operation else { return history.map(ended) }
    var object = QueueRow(operation, serverTag: server?.changeTag).json
    object["payload"] = [
      "fields": .fields(operation.changes.values),
      "cleared": .array(operation.changes.cleared.sorted().map(OutputJSON.text)),
    ]
    object["difference"] = .array(sides.map { .object($0.json) })
    object["baseTag"] = .optional(operation.baseTag)
    object["serverTag"] = .optional(server?.changeTag)
    object["attemptLog"] = attemptLog
    (object["ending"], object["detail"], object["endedAt"]) = (.null, .null, .null)
    object["dropped"] = .array(dropped.map { .object($0.json) })
    object["enqueuedBy"] = .program(operation.enqueuedBy)
    return object
  }

  /// The same keys as for a queued operation; null if an ended operation has no value.
  private func ended(_ entry: HistoryEntry) -> JSONObject {
    [
      "id": .integer(entry.id), "version": .null, "operation": .text(entry.kind.rawValue),
      "recordType": .optional(entry.type),
      "recordName": entry.kind.isOfZone ? .null : .text(entry.key.name), "zone": .text(entry.key.zone),
      "owner": .unlessEmpty(entry.key.owner), "state": .null, "reason": .null, "attempts": .null, "maxAttempts": .null,
      "nextAttemptAt": .null, "blockedBy": .array([]), "error": .null, "bytes": .null,
      "enqueuedAt": .time(entry.enqueuedAt), "ending": .text(entry.ending.rawValue), "detail": .text(entry.cause.text),
      "endedAt": .time(entry.endedAt), "payload": .null, "difference": .array([]), "baseTag": .null,
      "serverTag": .null, "attemptLog": attemptLog,
      "dropped": .array(dropped.map { .object($0.json) }), "enqueuedBy": .program(entry.enqueuedBy),
    ]
  }

  private var attemptLog: OutputJSON {
    .array(
      attempts.reversed().map { attempt in
        [
          "number": .integer(Int64(attempt.number)), "at": .time(attempt.at), "seconds": .number(attempt.seconds),
          "error": .error(attempt.code, attempt.message),
          "response": .optional(attempt.reply), "uuid": .optional(attempt.requestID),
        ]
      }
    )
  }
}

extension OutputJSON {
  /// A field, or null if it is absent.
  static func optionalField(_ value: FieldValue?) -> OutputJSON { value.map { .field($0) } ?? .null }
}

extension DroppedChange {
  /// The change as `conflicts dropped` and `queue show` print it.
  var json: JSONObject {
    [
      "id": .integer(operation), "operation": .text(kind.rawValue), "recordName": .text(key.name),
      "recordType": .optional(type), "zone": .text(key.zone), "owner": .unlessEmpty(key.owner),
      "fields": .fields(changes.values),
      "cleared": .array(changes.cleared.sorted().map(OutputJSON.text)), "reason": .text(cause.text),
      "droppedAt": .time(at), "canBeUndone": .bool(isOpen), "seen": .bool(isSeen), "editedAt": .time(editedAt),
      "overwritten": overwritten.map { .object($0.json) } ?? .null,
    ]
  }
}

extension Overwritten {
  /// The server's side that was overwritten.
  fileprivate var json: JSONObject {
    [
      "fields": .fields(values?.values ?? [:]),
      "cleared": .array((values?.cleared.sorted() ?? []).map(OutputJSON.text)), "deletion": .bool(values == nil),
    ]
  }
}

extension Conflict.Field {
  /// The field with its three values as JSON.
  fileprivate var json: JSONObject {
    [
      "name": .text(name), "base": .optionalField(base), "local": .optionalField(local),
      "server": .optionalField(server),
    ]
  }
}

extension Conflict {
  /// The conflict as JSON.
  var json: JSONObject {
    [
      "id": .integer(id), "version": .text(version), "recordName": .text(key.name), "recordType": .text(type),
      "zone": .text(key.zone), "owner": .unlessEmpty(key.owner), "operation": .text(kind.rawValue),
      "fields": .array(fields.map { .object($0.json) }),
      "detectedAt": .time(detectedAt), "serverModifiedAt": .time(serverModifiedAt),
      "serverModifiedBy": .optional(serverModifiedBy), "reason": .text(cause.text),
      "deletedOnServer": .bool(isDeletedOnServer),
    ]
  }
}
