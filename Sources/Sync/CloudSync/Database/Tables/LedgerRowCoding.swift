import CloudKit
import Facts
import GRDB

/// Decoding rows of lists and of the engine's own tables.
extension QueueRow {
  /// The columns of `operations` that a row of a list needs, without the payload.
  static let columns = """
    id, operation, zone, owner, name, type, state, reason, generation, isUnconfirmed, attempts, maxAttempts, nextAttemptAt, \
    errorCode, errorMessage, bytes, enqueuedAt, atomicGroup, CASE \
      WHEN state = 'conflict' THEN conflictAt \
      WHEN state IN ('failed', 'waiting') THEN \
        (SELECT at FROM attempts WHERE attempts.operation = operations.id ORDER BY attempts.id DESC LIMIT 1) \
    END AS since
    """

  init(row: Row, blockers: [Int64], serverTag: String?) throws {
    guard let kind = OperationKind(rawValue: row["operation"]), let state = OperationState(rawValue: row["state"])
    else { throw UnreadableRow(.operation(row["id"]), StoreError(.damaged, "an operation or state of unknown name")) }
    do {
      try QueuedOperation.check(bytes: row["bytes"], enqueuedAt: row["enqueuedAt"])
    } catch {
      throw UnreadableRow(.operation(row["id"]), error)
    }
    self.init(
      id: row["id"],
      version: DecisionVersion.operation(
        row["id"],
        kind,
        state,
        generation: row["generation"],
        isUnconfirmed: row["isUnconfirmed"],
        serverTag: serverTag
      ),
      kind: kind,
      key: RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"] ?? ""),
      type: row["type"],
      state: state,
      cause: Cause(stored: row["reason"]),
      attempts: row["attempts"],
      maxAttempts: row["maxAttempts"],
      nextAttemptAt: row["nextAttemptAt"],
      blockedBy: blockers,
      errorCode: row["errorCode"],
      errorMessage: row["errorMessage"],
      bytes: row["bytes"],
      enqueuedAt: row["enqueuedAt"],
      since: row["since"],
      group: row["atomicGroup"]
    )
  }
}

extension Attempt {
  init(row: Row) {
    self.init(
      number: row["number"],
      at: row["at"],
      seconds: row["seconds"],
      code: row["code"],
      message: row["message"],
      response: row["response"]
    )
  }
}

extension HistoryEntry {
  init?(row: Row) {
    guard let kind = OperationKind(rawValue: row["operation"]), let ending = Ending(rawValue: row["ending"]) else {
      return nil
    }
    self.init(
      id: row["operationId"],
      kind: kind,
      key: RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"] ?? ""),
      type: row["type"],
      ending: ending,
      cause: Cause(stored: row["detail"]),
      enqueuedAt: row["enqueuedAt"],
      endedAt: row["endedAt"],
      enqueuedBy: (row["program"] as String?).map { ProgramID(name: $0, pid: row["pid"] ?? 0) }
    )
  }
}

extension DroppedChange {
  init(row: Row) throws {
    operation = row["operationId"]
    kind = OperationKind(rawValue: row["operation"]) ?? .save
    let key = RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"])
    self.key = key
    type = row["type"]
    do {
      changes = try JSONColumn.value(row["changes"])
      base = try (row["base"] as String?).map { try JSONColumn.fields($0, of: key) } ?? [:]
      assets = try JSONColumn.assets(row["assets"])
      overwritten = try (row["overwritten"] as String?).map { try JSONColumn.value($0) }
    } catch {
      throw UnreadableRow(.dropped(row["id"]), error)
    }
    cause = Cause(stored: row["reason"])
    conflict = (row["conflict"] as String?).map(Cause.init(stored:))
    at = row["at"]
    editedAt = row["editedAt"]
    isOpen = row["isOpen"]
    isAutomatic = row["isAutomatic"]
    isSeen = row["isSeen"]
  }
}

extension RecordRow {
  init(row: Row) throws {
    var record = try MirrorRecord(row: row)
    if let changes = row["changes"] as String?, row["operation"] as String? == "save" {
      do {
        record.fields = try JSONColumn.value(changes, as: FieldChanges.self).applied(to: record.fields)
      } catch {
        throw UnreadableRow(.operation(row["operationId"]), error)
      }
    }
    self.init(
      record: record,
      changeTag: row["changeTag"],
      operation: row["operationId"],
      operationState: (row["state"] as String?).flatMap(OperationState.init(rawValue:))
    )
  }
}
