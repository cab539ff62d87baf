public import CloudKit
import Facts

/// A conflict that waits for a decision, as it was when it was read.
public struct OpenConflict: Hashable, Identifiable, Sendable {
  /// The number of the operation, as `cktop conflicts list` shows it.
  public let id: Int64
  /// Changes whenever either side does; a decision applies to one version.
  public let version: String
  /// The record's three versions and the fields to resolve.
  public let change: ConflictingChange
  /// The reason why it waits for a person, in words.
  public let reason: String
  /// The time at which it was found.
  public let detectedAt: Date

  init(_ operation: QueuedOperation, _ server: MirrorRecord?) {
    let conflict = Conflict(operation, server: server)
    (id, version, reason) = (conflict.id, conflict.version, conflict.cause.text)
    change = ConflictingChange(operation, server: server)
    detectedAt = Date(milliseconds: conflict.detectedAt)
  }
}

/// The result of a decision about a conflict.
public enum ConflictResult: Sendable {
  /// The conflict is resolved. The outcome of what is left to send: `merged` if the server's side was taken as a whole.
  case resolved(QueuedChange)
  /// The conflict is not the one that was shown any more, and nothing was done. As it is now; nil if it is resolved.
  case changed(OpenConflict?)
}

/// A change that failed for good, as it was when it was read. It stays in the queue until a person or the app acts.
public struct FailedChange: Hashable, Identifiable, Sendable {
  /// The number of the operation, as `cktop queue list` shows it.
  public let id: Int64
  /// Changes with the operation; a decision applies to one version.
  public let version: String
  /// The record; nil if a zone could not be created or deleted.
  public let recordID: CKRecord.ID?
  /// The zone, or the record's zone.
  public let zoneID: CKRecordZone.ID
  /// The record's type, if known.
  public let recordType: CKRecord.RecordType?
  /// Whether the record or zone was to be deleted.
  public let isDeletion: Bool
  /// The error of the last attempt.
  public let failure: SyncFailure
  /// The reason in words.
  public let reason: String
  /// The number of attempts.
  public let attempts: Int
  /// The time at which the change was accepted.
  public let acceptedAt: Date

  init(_ row: QueueRow) {
    (id, version, recordType) = (row.id, row.version, row.type)
    recordID = row.key.name.isEmpty ? nil : row.key.recordID
    zoneID = row.key.zoneKey.zoneID
    isDeletion = row.kind == .delete || row.kind == .zoneDelete
    failure = SyncFailure(code: row.errorCode ?? "", message: row.errorMessage ?? "")
    (reason, attempts) = (row.cause.text, row.attempts)
    acceptedAt = Date(milliseconds: row.enqueuedAt)
  }
}

/// A change, or a part of one, that a policy, a person or the app dropped, or values of the server that one of them
/// overwrote, as long as they can be restored.
public struct UndoableChange: Hashable, Identifiable, Sendable {
  /// The number of the operation to which it belonged.
  public let id: Int64
  /// Changes when more of the operation is dropped; undoing applies to one version.
  public let version: String
  /// The record.
  public let recordID: CKRecord.ID
  /// The record's type, if known.
  public let recordType: CKRecord.RecordType?
  /// The names of the latest dropped or overwritten fields, in order; empty for a deletion. Undoing restores fields of
  /// the operation that were dropped earlier too.
  public let fields: [String]
  /// Whether a deletion was dropped.
  public let isDeletion: Bool
  /// The reason why it was dropped, in words.
  public let reason: String
  /// The time at which it was dropped.
  public let droppedAt: Date

  init(_ row: DroppedRow) {
    let dropped = row.change
    version = String(row.id)
    (id, recordID, recordType) = (dropped.operation, dropped.key.recordID, dropped.type)
    fields = dropped.changes.names.union(dropped.overwritten?.values?.names ?? []).sorted()
    (isDeletion, reason) = (dropped.kind == .delete, dropped.cause.text)
    droppedAt = Date(milliseconds: dropped.at)
  }
}

/// Decisions of a person or an app, with public values.
extension SyncStore {
  /// The oldest conflicts.
  package func openConflicts(limit: Int?) throws(StoreError) -> [OpenConflict] {
    try read { ledger in
      try ledger.operations(ledger.operationIDs(in: .conflict, limit: limit)).map {
        OpenConflict($0, try ledger.record($0.key))
      }
    }
  }

  /// Resolves a conflict in the version that was shown.
  package func resolve(
    _ conflict: OpenConflict,
    taking side: ConflictSide,
    fields: [String: ConflictSide],
    origin: CKDatabase?,
    actor: String
  ) throws(StoreError) -> ConflictResult {
    switch try resolve(conflict.id, take: side, fields: fields, ifVersion: conflict.version, actor: actor) {
    case .resolved(let resolution, _):
      let isDeletion = resolution.kind == .delete
      let recordID = conflict.change.recordID
      return .resolved(
        QueuedChange(recordID: recordID, isDeletion: isDeletion, id: conflict.id, store: self, origin: origin)
      )
    case .moved:
      return .changed(
        try read { ledger in
          guard let operation = try ledger.operation(conflict.id), operation.state == .conflict else { return nil }
          return OpenConflict(operation, try ledger.record(operation.key))
        }
      )
    }
  }

  /// The oldest failed changes.
  package func failedChanges(limit: Int?) throws(StoreError) -> [FailedChange] {
    // The rows of a list have short messages.
    try read { ledger in
      try ledger.operations(ledger.operationIDs(in: .failed, limit: limit)).map {
        FailedChange(QueueRow($0, serverTag: nil))
      }
    }
  }

  /// Retries or discards failed changes that are still as they were shown.
  ///
  /// - Returns: the changed ones.
  package func perform(_ verb: QueueVerb, on changes: [FailedChange], actor: String) throws(StoreError) -> [Int64] {
    let versions = Dictionary(changes.map { ($0.id, $0.version) }) { first, _ in first }
    return try perform(verb, on: .ids(changes.map(\.id)), versions: versions, actor: actor).changed
  }

  /// The latest dropped changes that can be restored.
  package func undoable(limit: Int) throws(StoreError) -> [UndoableChange] {
    try view { try $0.dropped(DroppedListing(), offset: 0, limit: limit).rows.map(UndoableChange.init) }
  }

  /// Restores a dropped change.
  package func undo(_ change: UndoableChange, origin: CKDatabase?, actor: String) throws(StoreError) -> QueuedChange {
    let id: Int64? =
      if case .enqueued(let id) = try undo(change.id, ifVersion: change.version, actor: actor) { id } else { nil }
    // The server's deletion may be what is restored.
    let kind = try id.flatMap { id throws(StoreError) in try read { try $0.operation(id)?.kind } }
    let isDeletion = kind.map { $0 == .delete } ?? change.isDeletion
    return QueuedChange(recordID: change.recordID, isDeletion: isDeletion, id: id, store: self, origin: origin)
  }
}

extension Date {
  /// A time of the store.
  package init(milliseconds: Int64) { self = Milliseconds.date(milliseconds) }
}
