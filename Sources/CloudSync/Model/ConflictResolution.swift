public import CloudKit

/// A queued change that contradicts what the server holds by now: what an app is asked about that settles conflicts itself.
///
/// Each of the records is a copy that nobody else sees.
public struct ConflictingChange: Hashable, Sendable {
  /// The record that both sides changed.
  public let recordID: CKRecord.ID
  /// Its type.
  public let recordType: CKRecord.RecordType
  /// The names of the fields that are to be settled, in order. What only one side changed is merged already.
  public let fields: [String]

  /// The changed fields as both sides knew them before; a field that is missing had no value.
  public var ancestorRecord: CKRecord { record(base, nil) }

  /// The record as it would be with all changes made here; nil where it was deleted here.
  public var clientRecord: CKRecord? { local.map { record($0, nil) } }

  /// The record as the server holds it; nil where it was deleted there.
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
    var changes = operation.changes
    for field in conflict.fields { changes[field.name] = field.local }
    local = operation.kind == .delete ? nil : changes.applied(to: server?.fields ?? [:])
    self.server = server
  }

  private func record(_ fields: [String: FieldValue], _ server: MirrorRecord?) -> CKRecord {
    var wire = WireRecord(recordName: recordID.recordName, recordType: recordType)
    wire.take(fields)
    wire.recordChangeTag = server?.changeTag
    wire.created = server?.createdAt.map { WireStamp(timestamp: $0) }
    wire.modified = server?.modifiedAt.map { WireStamp(timestamp: $0, userRecordName: server?.modifiedBy) }
    return CKRecord(wire: wire, zoneID: recordID.zoneID)
  }
}

/// What becomes of a conflict.
public enum ConflictDecision: Sendable {
  /// The server's values stand, ours are dropped. What was dropped can be undone until the record's next edit.
  case server
  /// Our values go up again on top of the server's record.
  case client
  /// The record is to be as this one, fields that are missing in it are cleared. Make it of `serverRecord` or
  /// `clientRecord`: what was changed here without a conflict goes up with it unless the record says otherwise.
  case merged(CKRecord)
  /// A person decides: the conflict waits on the conflict desk, which shows the reason.
  case manual(reason: String)
}

/// Settles a conflict; asked once for each version of it, outside any transaction and away from the engine's own work.
///
/// Where it throws, or does not answer in time, the conflict waits on the conflict desk with that as its reason. It may be
/// asked about the same change again where a crash came between its answer and the disk.
public typealias ConflictResolver = @Sendable (ConflictingChange) async throws -> ConflictDecision
