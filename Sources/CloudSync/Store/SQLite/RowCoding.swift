import CloudKit
import Facts
import Foundation
import GRDB
import JSONText

/// JSON columns. Fields use the wire encoding, so that people and other programs can read the file.
enum JSONColumn {
  static func text(_ value: some JSONWritable) throws -> String { String(decoding: try value.json(), as: UTF8.self) }

  static func value<Value: JSONReadable>(_ text: String, as type: Value.Type = Value.self) throws -> Value {
    try Value(json: Data(text.utf8))
  }

  /// Nil if there are none.
  static func text(of assets: [QueuedAsset]) throws -> String? {
    assets.isEmpty ? nil : String(decoding: try JSONEncoder().encode(assets), as: UTF8.self)
  }

  static func assets(_ text: String?) throws -> [QueuedAsset] {
    try text.map { try JSONDecoder().decode([QueuedAsset].self, from: Data($0.utf8)) } ?? []
  }

  static func fields(_ text: String, of key: RecordKey) throws -> [String: FieldValue] {
    do { return try value(text) } catch { throw UnreadableRow(.record(key), error) }
  }
}

extension QueuedOperation {
  /// The columns in the order in which they are selected: access by index is faster than by name.
  fileprivate enum Column: Int, CaseIterable {
    case id, operation, zone, owner, name, type, changes, base, baseTag, state, reason, generation,
      sentGeneration, sentOperation, sentChanges, isRecreation, needsReadBack, conflictRounds, attempts,
      maxAttempts, nextAttemptAt, isServersWait, errorCode, errorMessage, enqueuedAt, editedAt, conflictAt,
      bytes, atomicGroup, assets, isUnanswered, lostRounds, askedAbout, suspicion, program, pid
  }

  static let columns = Column.allCases.map { "\($0)" }.joined(separator: ", ")

  /// The columns that the table `dropped` has by itself, under the names that it has for them.
  private static let droppedColumns: [Column: String] = [
    .id: "operationId", .operation: "operation", .zone: "zone", .owner: "owner", .name: "name", .type: "type",
    .changes: "changes", .base: "coalesce(base, '{}')", .assets: "assets",
  ]

  /// All other columns, as a JSON object that a discard keeps.
  static let former: String = {
    let kept = Column.allCases.filter { droppedColumns[$0] == nil }
    return "json_object(\(kept.map { "'\($0)', \($0)" }.joined(separator: ", ")))"
  }()

  /// The columns of a discarded operation, from the table `dropped`.
  static let discarded = Column.allCases.map { droppedColumns[$0] ?? "json_extract(former, '$.\($0)')" }
    .joined(separator: ", ")

  init(row: Row) throws {
    do { try self.init(readable: row) } catch { throw UnreadableRow(.operation(row[.id]), error) }
  }

  private init(readable row: Row) throws {
    guard let kind = OperationKind(rawValue: row[.operation]), let state = OperationState(rawValue: row[.state])
    else { throw StoreError(.damaged, "the queue holds an operation or state of unknown name") }
    id = row[.id]
    self.kind = kind
    key = RecordKey(zone: row[.zone], owner: row[.owner], name: row[.name] ?? "")
    type = row[.type]
    changes = try JSONColumn.value(row[.changes])
    base = try JSONColumn.value(row[.base])
    baseTag = row[.baseTag]
    self.state = state
    cause = Cause(stored: row[.reason])
    generation = row[.generation]
    sentGeneration = row[.sentGeneration]
    sentKind = (row[.sentOperation] as String?).flatMap(OperationKind.init(rawValue:))
    sentChanges = try (row[.sentChanges] as String?).map { try JSONColumn.value($0) } ?? []
    isRecreation = row[.isRecreation]
    needsReadBack = row[.needsReadBack]
    conflictRounds = row[.conflictRounds]
    attempts = row[.attempts]
    maxAttempts = row[.maxAttempts]
    nextAttemptAt = row[.nextAttemptAt]
    isServersWait = row[.isServersWait]
    errorCode = row[.errorCode]
    errorMessage = row[.errorMessage]
    enqueuedAt = row[.enqueuedAt]
    editedAt = row[.editedAt]
    conflictAt = row[.conflictAt]
    bytes = row[.bytes]
    group = row[.atomicGroup]
    suspicion = row[.suspicion]
    assets = try JSONColumn.assets(row[.assets])
    isUnanswered = row[.isUnanswered]
    lostRounds = row[.lostRounds]
    askedAbout = row[.askedAbout]
    enqueuedBy = (row[.program] as String?).map { ProgramID(name: $0, pid: row[.pid] ?? 0) }
  }
}

extension Row {
  fileprivate subscript<Value>(column: QueuedOperation.Column) -> Value
  where Value: DatabaseValueConvertible & StatementColumnConvertible {
    self[column.rawValue]
  }
}

extension MirrorRecord {
  static let columns = "zone, owner, name, type, changeTag, fields, createdAt, modifiedAt, modifiedBy, createdBy, share"

  init(row: Row) throws {
    let key = RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"])
    self.init(
      key: key,
      type: row["type"],
      changeTag: row["changeTag"],
      fields: try JSONColumn.fields(row["fields"], of: key),
      createdAt: row["createdAt"],
      modifiedAt: row["modifiedAt"],
      modifiedBy: row["modifiedBy"],
      createdBy: row["createdBy"],
      share: row["share"]
    )
  }
}
