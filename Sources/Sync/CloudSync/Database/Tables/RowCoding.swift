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
    if assets.isEmpty { nil } else { try text(assets) }
  }

  static func assets(_ text: String?) throws -> [QueuedAsset] {
    try text.map { try value($0) } ?? []
  }

  static func fields(_ text: String, of key: RecordKey) throws -> [String: FieldValue] {
    do { return try value(text) } catch { throw UnreadableRow(.record(key), error) }
  }
}

extension QueuedOperation {
  /// The columns in the order in which they are selected: access by index is faster than by name.
  fileprivate enum Column: Int, CaseIterable {
    case id, operation, zone, owner, name, type, changes, base, baseTag, state, reason, generation,
      sentGeneration, sentOperation, sentChanges, isRecreation, needsVerification, conflictRounds, attempts,
      maxAttempts, nextAttemptAt, isServersWait, errorCode, errorMessage, enqueuedAt, editedAt, conflictAt,
      bytes, atomicGroup, assets, isUnconfirmed, lostRounds, askedAbout, bisection, program, pid
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
    guard let kind = OperationKind(rawValue: row[.operation]), let phase = Phase(row) else {
      throw StoreError(.damaged, "the queue holds an operation or state of unknown name")
    }
    let (bytes, enqueuedAt): (Int, Int64) = (row[.bytes], row[.enqueuedAt])
    try Self.check(bytes: bytes, enqueuedAt: enqueuedAt)
    self.init(
      id: row[.id],
      kind: kind,
      key: RecordKey(zone: row[.zone], owner: row[.owner], name: row[.name] ?? ""),
      type: row[.type],
      changes: try JSONColumn.value(row[.changes]),
      base: try JSONColumn.value(row[.base]),
      baseTag: kind.isOfZone ? nil : row[.baseTag],
      zoneToken: kind.isOfZone ? row[.baseTag] : nil,
      phase: phase,
      cause: Cause(stored: row[.reason]),
      generation: row[.generation],
      isRecreation: row[.isRecreation],
      doubt: Doubt(
        needsVerification: row[.needsVerification],
        isUnconfirmed: row[.isUnconfirmed],
        sentChanges: try (row[.sentChanges] as String?).map { try JSONColumn.value($0) } ?? [],
        lostRounds: row[.lostRounds]
      ),
      conflictRounds: row[.conflictRounds],
      attempts: row[.attempts],
      maxAttempts: row[.maxAttempts],
      errorCode: row[.errorCode],
      errorMessage: row[.errorMessage],
      enqueuedAt: enqueuedAt,
      editedAt: row[.editedAt],
      asked: (row[.askedAbout] as String?).map(Asked.init(stored:)),
      bytes: bytes,
      group: row[.atomicGroup],
      assets: try JSONColumn.assets(row[.assets]),
      bisection: (row[.bisection] as Int64?).map(Bisection.init(stored:)),
      enqueuedBy: (row[.program] as String?).map { ProgramID(name: $0, pid: row[.pid] ?? 0) }
    )
  }
}

extension QueuedOperation {
  /// A terabyte, more than the changes of an operation can have: the sums of larger ones could not be computed.
  static let mostBytes = 1 << 40

  /// Throws for a size or a time that no operation has, and with which nothing can be computed.
  static func check(bytes: Int, enqueuedAt: Int64) throws(StoreError) {
    guard !(0...mostBytes).contains(bytes) || enqueuedAt < 0 else { return }
    throw StoreError(.damaged, "the queue holds a size or a time that no change has")
  }
}

extension QueuedOperation.Phase {
  /// Nil for a state of unknown name. The table's conditions keep the other columns from disagreeing with it.
  fileprivate init?(_ row: Row) {
    switch OperationState(rawValue: row[.state]) {
    case .pending: self = .pending
    case .inFlight:
      guard let kind = OperationKind(rawValue: row[.sentOperation]) else { return nil }
      self = .inFlight(generation: row[.sentGeneration], kind)
    case .waiting: self = .waiting(until: row[.nextAttemptAt], isServersWait: row[.isServersWait])
    case .failed: self = .failed
    case .paused: self = .paused
    case .conflict: self = .conflict(since: row[.conflictAt])
    case nil: return nil
    }
  }
}

extension QueuedOperation.Bisection {
  /// A re-fetch has the negative number.
  init(stored: Int64) { self = stored < 0 ? .check(request: -stored) : .send(request: stored) }

  var stored: Int64 {
    switch self {
    case .send(let request): request
    case .check(let request): -request
    }
  }
}

extension QueuedOperation.Asked {
  /// A version has more digits than any generation.
  fileprivate init(stored: String) {
    let generation = DecisionVersion.isWellFormed(stored) ? nil : Int64(stored)
    self = generation.map { .deadLetter(generation: $0) } ?? .conflict(version: stored)
  }

  var stored: String {
    switch self {
    case .conflict(let version): version
    case .deadLetter(let generation): "\(generation)"
    }
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
      type: row["type"] ?? "",
      changeTag: row["changeTag"] ?? "",
      fields: try JSONColumn.fields(row["fields"], of: key),
      createdAt: row["createdAt"],
      modifiedAt: row["modifiedAt"],
      modifiedBy: row["modifiedBy"],
      createdBy: row["createdBy"],
      share: row["share"]
    )
  }

  var values: [(any DatabaseValueConvertible)?] {
    get throws {
      [
        key.zone, key.owner, key.name, type, changeTag, try JSONColumn.text(fields), createdAt, modifiedAt, modifiedBy,
        createdBy, share,
      ]
    }
  }
}
