package import CloudKit
package import Facts
import Foundation

/// What an operation does on the server.
package enum OperationKind: String, Hashable, Sendable, CaseIterable, Codable {
  case save, delete, zoneSave, zoneDelete
}

/// Where an operation stands.
package enum OperationState: String, Hashable, Sendable, CaseIterable, Codable {
  /// Nothing but order, or a scope's wait, stands before it. Leaves by being sent.
  case pending
  /// Sent, the outcome not yet known. Leaves by the answer, or, after a crash, by reading back.
  case inFlight
  /// In its own back-off until `nextAttemptAt`. Leaves when that has passed.
  case waiting
  /// A dead letter. Leaves by an operator's retry or discard, or by a new edit of the record.
  case failed
  /// Held by an operator. Leaves by resume.
  case paused
  /// On the conflict desk. Leaves by a resolution.
  case conflict
}

/// An accepted change on its way to the server. There is at most one for a record: later edits merge into it and raise
/// its generation.
package struct QueuedOperation: Hashable, Sendable {
  package var id: Int64
  package var kind: OperationKind
  /// The record; for zone operations the zone, with an empty name.
  package var key: RecordKey
  package var type: String?
  package var changes: FieldChanges
  /// The touched fields as they were on the server when this change was made: the merge base.
  package var base: [String: FieldValue]
  /// The server's change tag the base was read at; nil: the record did not exist there.
  package var baseTag: String?
  package var state: OperationState
  /// Why it is in this state.
  package var cause: Cause
  package var generation: Int64
  /// The generation on its way, while in flight.
  package var sentGeneration: Int64?
  /// What was sent, while in flight: a save may become a delete meanwhile.
  package var sentKind: OperationKind?
  /// The changes of saves that were sent and that the server is not known to have taken, latest last: what it holds of them
  /// is our own doing, no conflict.
  package var sentChanges: [FieldChanges] = []
  /// A request was sent whose answer nobody heard: it may have been carried out, or still be, until the server's record is
  /// seen to have changed.
  package var isUnanswered = false
  /// Only a part of it is on its way, as `sentChanges`; the rest is sent once that is done. Not kept in the store.
  package var isPart = false
  /// A save of a record that was deleted in the same operation before: that the server lacks it is what was wanted.
  package var isRecreation = false
  /// The server's record is to be read before anything is sent: a lost answer, or a conflict without its record.
  package var needsReadBack: Bool
  /// Conflicts in a row without progress; bounded, then parked.
  package var conflictRounds: Int
  /// Answers lost in a row.
  package var lostRounds = 0
  package var attempts: Int
  package var maxAttempts: Int
  /// Milliseconds since 1970.
  package var nextAttemptAt: Int64?
  /// The server asked for this wait, so that no flush may cut it short.
  package var isServersWait = false
  package var errorCode: String?
  package var errorMessage: String?
  package var enqueuedAt: Int64
  package var editedAt: Int64
  package var conflictAt: Int64?
  /// The version of the conflict that the app was asked about without settling it, or the generation of the dead letter that
  /// it was offered.
  package var askedAbout: String?
  package var bytes: Int
  /// Operations enqueued as one group are sent in one atomic request.
  package var group: String?
  /// What its changes hold of assets that this operation brings to the server.
  package var assets: [QueuedAsset] = []
  /// Operations of one number were in a request that was refused whole for one of them. Below zero it was a look-up.
  package var suspicion: Int64?
  /// Operations this one waits for, by id.
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

/// How an accepted change ended. Every one ends in exactly one of these ways.
package enum Ending: String, Hashable, Sendable, CaseIterable {
  /// The server holds it.
  case acknowledged
  /// A later change of the same record took its place before it was sent.
  case superseded
  /// Merged with the server's record; nothing was left to send.
  case merged
  /// An operator discarded it.
  case discarded
}

/// A record as the server is known to hold it.
package struct MirrorRecord: Hashable, Sendable {
  package var key: RecordKey
  package var type: String
  package var changeTag: String
  package var fields: [String: FieldValue]
  /// Milliseconds since 1970.
  package var createdAt: Int64?
  package var modifiedAt: Int64?
  package var modifiedBy: String?

  package init(
    key: RecordKey,
    type: String,
    changeTag: String,
    fields: [String: FieldValue],
    createdAt: Int64? = nil,
    modifiedAt: Int64? = nil,
    modifiedBy: String? = nil
  ) {
    self.key = key
    self.type = type
    self.changeTag = changeTag
    self.fields = fields
    self.createdAt = createdAt
    self.modifiedAt = modifiedAt
    self.modifiedBy = modifiedBy
  }

  /// Nil where the answer lacks what every full record has.
  package init?(_ wire: WireRecord, in zone: ZoneKey) {
    guard let type = wire.recordType, let tag = wire.recordChangeTag else { return nil }
    self.init(
      key: RecordKey(zone, wire.recordName),
      type: type,
      changeTag: tag,
      fields: wire.fieldsWithParent(in: zone),
      createdAt: wire.created?.timestamp,
      modifiedAt: wire.modified?.timestamp,
      modifiedBy: wire.modified?.userRecordName
    )
  }
}
