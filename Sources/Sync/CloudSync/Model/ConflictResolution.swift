public import CloudKit

/// A queued change that conflicts with the server's record, for an app that resolves conflicts itself.
///
/// Each record is a private copy.
public struct ConflictingChange: Hashable, Sendable {
  /// The record that both sides changed.
  public let recordID: CKRecord.ID
  /// Its type.
  public let recordType: CKRecord.RecordType
  /// The names of the fields to resolve, in order. Fields that only one side changed are merged already.
  public let fields: [String]

  /// The changed fields as both sides knew them before; a missing field had no value.
  public var ancestorRecord: CKRecord { record(base, nil) }

  /// The record with all local changes; nil if it was deleted here.
  public var clientRecord: CKRecord? { local.map { record($0, nil) } }

  /// The record as the server holds it; nil if it was deleted there.
  public var serverRecord: CKRecord? { server.map { record($0.fields, $0) } }

  private let zone: ZoneKey
  private let base: [String: FieldValue]
  private let local: [String: FieldValue]?
  private let server: MirrorRecord?

  init(_ operation: QueuedOperation, server: MirrorRecord?) {
    let conflict = Conflict(operation, server: server)
    recordID = operation.key.recordID
    recordType = conflict.type
    fields = conflict.fields.map(\.name)
    zone = operation.key.zoneKey
    base = operation.base
    var queued = operation
    for field in conflict.fields { queued.changes[field.name] = field.local }
    let whole = LocalRecord(operation.key, mirror: server, queued: queued, zoneIsGoing: false)
    local = operation.kind == .delete ? nil : whole.fields
    self.server = server
  }

  private func record(_ fields: [String: FieldValue], _ server: MirrorRecord?) -> CKRecord {
    var record = server ?? MirrorRecord(key: RecordKey(recordID), type: recordType, changeTag: "", fields: [:])
    (record.type, record.fields) = (recordType, fields)
    return CKRecord(record)
  }
}

/// The app's decision about a conflict.
public enum ConflictDecision: Sendable {
  /// The server's values are kept, ours are dropped. This can be undone until the record's next edit.
  case server
  /// Our values are saved over the server's record.
  case client
  /// The record becomes this one; missing fields are cleared. Create it from `serverRecord` or `clientRecord`: local
  /// changes without a conflict are saved too, unless the record has other values for them.
  case merged(CKRecord)
  /// A person decides: the record stays in the list of conflicts, with this reason.
  case manual(reason: String)
}

/// Resolves a conflict. Called once for each version of it, outside any transaction.
///
/// If it throws or does not answer in time, the conflict waits for a person. It may be called again for the same
/// version after a crash.
public typealias ConflictResolver = @Sendable (ConflictingChange) async throws -> ConflictDecision
