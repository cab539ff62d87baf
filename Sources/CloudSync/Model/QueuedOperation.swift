package import CloudKit
package import Facts
import Foundation

/// The kind of an operation.
package enum OperationKind: String, Hashable, Sendable, CaseIterable, Codable {
  case save, delete, zoneSave, zoneDelete
}

/// The state of an operation.
package enum OperationState: String, Hashable, Sendable, CaseIterable, Codable {
  /// Ready to be sent, apart from its order or a throttled scope. Ends when it is sent.
  case pending
  /// Sent, outcome unknown. Ends with the reply, or after a crash by verifying.
  case inFlight
  /// In a back-off until `nextAttemptAt`. Ends at that time.
  case waiting
  /// A dead letter. Ends by an operator's retry or discard, or by a new edit of the record.
  case failed
  /// Paused by an operator. Ends by resuming.
  case paused
  /// In conflict. Ends by a resolution.
  case conflict
}

/// An accepted change to be sent to the server. There is at most one for a record: later edits merge into it and
/// increment its generation.
package struct QueuedOperation: Hashable, Sendable {
  package var id: Int64
  package var kind: OperationKind
  /// The record; for zone operations the zone, with an empty name.
  package var key: RecordKey
  package var type: String?
  package var changes: FieldChanges
  /// The server's values of the touched fields when this change was made: the merge base.
  package var base: [String: FieldValue]
  /// The server's change tag of the base; nil if the record did not exist.
  package var baseTag: String?
  package var state: OperationState
  /// The reason for its state.
  package var cause: Cause
  package var generation: Int64
  /// The generation in flight.
  package var sentGeneration: Int64?
  /// The kind in flight: a save may become a delete meanwhile.
  package var sentKind: OperationKind?
  /// The changes of unconfirmed saves, latest last: if the server holds them, they are our own and no conflict.
  package var sentChanges: [FieldChanges] = []
  /// Whether a request's reply was lost: it may have been carried out, or still be, until the server's record is seen
  /// to have changed.
  package var isUnanswered = false
  /// Whether only a part of it is in flight, as `sentChanges`; the rest follows. Not stored.
  package var isPart = false
  /// Whether this is a save of a record that was deleted earlier in the same operation, so the server may lack it.
  package var isRecreation = false
  /// Whether it must be verified before anything is sent, after a lost reply or a conflict without the server's record.
  package var needsReadBack: Bool
  /// Conflicts in a row without progress; limited, then a person decides.
  package var conflictRounds: Int
  /// Replies lost in a row.
  package var lostRounds = 0
  package var attempts: Int
  package var maxAttempts: Int
  /// Milliseconds since 1970.
  package var nextAttemptAt: Int64?
  /// Whether the server asked for this wait, so that a flush does not end it.
  package var isServersWait = false
  package var errorCode: String?
  package var errorMessage: String?
  package var enqueuedAt: Int64
  package var editedAt: Int64
  package var conflictAt: Int64?
  /// The version of the conflict about which the app was asked without resolving it, or the generation of the dead
  /// letter that it was offered.
  package var askedAbout: String?
  package var bytes: Int
  /// The name of the atomic group; its operations are sent in one atomic request.
  package var group: String?
  /// The assets of its changes that this operation uploads.
  package var assets: [QueuedAsset] = []
  /// Identifies a request with this operation that was rejected as a whole. Negative for a re-fetch.
  package var suspicion: Int64?
  /// The identifiers of the operations that block this one.
  package var blockedBy: [Int64] = []
  /// The program that enqueued it; nil where an earlier version did not store it.
  package var enqueuedBy: ProgramID?

  /// The type and name of its record, or the name of its zone, as messages have it.
  var title: String {
    key.name.isEmpty ? "zone \(key.zone)" : [type, key.name].compactMap(\.self).joined(separator: "/")
  }
}

/// A program on this machine, with the process that ran it.
package struct ProgramID: Hashable, Sendable {
  package var name: String
  package var pid: Int64

  package init(name: String, pid: Int64) { (self.name, self.pid) = (name, pid) }

  /// This process.
  package static let current = ProgramID(
    name: ProcessInfo.processInfo.processName,
    pid: Int64(ProcessInfo.processInfo.processIdentifier)
  )
}

/// The way in which an accepted change ended. Each ends in exactly one way.
package enum Ending: String, Hashable, Sendable, CaseIterable {
  /// The server holds it.
  case acknowledged
  /// A later change replaced it before it was sent.
  case superseded
  /// Merged with the server's record; nothing was left to send.
  case merged
  /// An operator discarded it.
  case discarded
}

/// A record in the server's last known version.
package struct MirrorRecord: Hashable, Sendable {
  package var key: RecordKey
  package var type: String
  package var changeTag: String
  package var fields: [String: FieldValue]
  /// Milliseconds since 1970.
  package var createdAt: Int64?
  package var modifiedAt: Int64?
  package var modifiedBy: String?
  package var createdBy: String?
  /// The record name of its share, in the same zone; nil if it is not the root of one.
  package var share: String?

  package init(
    key: RecordKey,
    type: String,
    changeTag: String,
    fields: [String: FieldValue],
    createdAt: Int64? = nil,
    modifiedAt: Int64? = nil,
    modifiedBy: String? = nil,
    createdBy: String? = nil,
    share: String? = nil
  ) {
    self.key = key
    self.type = type
    self.changeTag = changeTag
    self.fields = fields
    self.createdAt = createdAt
    self.modifiedAt = modifiedAt
    self.modifiedBy = modifiedBy
    self.createdBy = createdBy
    self.share = share
  }

  /// Nil if the record in the reply is incomplete.
  package init?(_ wire: WireRecord, in zone: ZoneKey) {
    guard let type = wire.recordType, let tag = wire.recordChangeTag else { return nil }
    self.init(
      key: RecordKey(zone, wire.recordName),
      type: type,
      changeTag: tag,
      fields: wire.fieldsWithParent(in: zone),
      createdAt: wire.created?.timestamp,
      modifiedAt: wire.modified?.timestamp,
      modifiedBy: wire.modified?.userRecordName,
      createdBy: wire.created?.userRecordName,
      share: wire.share?.recordName
    )
  }
}
