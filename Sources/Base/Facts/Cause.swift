import Foundation
import Synchronization

/// Why an operation is in its state, how it ended, or why a part of it was dropped, as data.
///
/// The store keeps causes, never sentences. `text` puts one into words; nothing reads those words back.
package indirect enum Cause: Hashable, Sendable, Codable {
  // MARK: Waiting for its turn

  case ready
  /// Ready to send again after something happened to it.
  case readyAgain(Event)
  /// A file is uploaded first, so that its checksum can be compared with the server's.
  case comparesFile
  /// Deletes what a save without a reply may still create.
  case deletesUnconfirmedSave
  /// Made on values that the local copy no longer has: the server's record is fetched first.
  case basedOnOldVersion
  /// The server reported a version that the local copy does not have: the record is fetched first.
  case serverChanged
  /// A request got no reply, or one that leaves its effect open: the record is fetched to see what became of it.
  case unconfirmed(code: String)
  /// The server refused a request that only fetched the record; smaller ones follow.
  case checkRefused(code: String)
  case checkWaits(Scope, code: String)
  /// Sent by a process that ended before the reply. `isRepeated`: it is sent again without a check.
  case sentBeforeRestart(isRepeated: Bool)
  /// Its scope waits. `until`: milliseconds since 1970, where the wait is still running.
  case waits(Scope, code: String, until: Int64? = nil)
  /// Another change of its atomic group was rejected.
  case groupRejected
  /// The request was too large; a smaller one follows.
  case requestTooLarge(code: String)
  /// The request was rejected for one of its records; smaller ones find that record.
  case bisection(code: String, count: Int)
  /// The server deleted its record; the deletion is not applied yet.
  case recordDeleted
  /// Its zone is missing on the server. `isDeleted`: the server deleted it, and the deletion is on hold.
  case zoneMissing(zone: String, isDeleted: Bool)
  /// It waits for other operations: those it refers to, or others of its atomic group. `hasMore`: a list names only
  /// some. `names`: the records of the first ones.
  case waitsFor([Int64], isGroup: Bool, hasMore: Bool = false, names: [String] = [])
  /// It and these operations block each other in a reference cycle that no request can hold. `names`: the records of
  /// the first ones.
  case inCycle([Int64], CycleObstacle, names: [String] = [])
  /// Its zone is created on the server first.
  case zoneFirst(zone: String)
  /// Its files are uploaded first.
  case filesFirst
  /// It waits for the deletion of its zone. Of an operation; 0: of none, its zone was deleted and the records are being
  /// removed from the local copy.
  case waitsForZoneDelete(Int64)
  /// A person has to decide about deletions on hold. `isWholeZone`: the zone was deleted, not only records in it.
  case deletionsOnHold(zone: String, isWholeZone: Bool)
  /// The server deleted its record; the zone's changes are still being fetched.
  case recordDeletedWhileFetching
  case waitsForApp

  // MARK: On its way, retrying, paused

  case sending
  /// Sent by a process that has ended; the next sync checks with the server.
  case senderEnded
  /// An attempt failed; the next one waits.
  case backOff(code: String, attempt: Int, of: Int)
  /// The server refused its deletion because others refer to the record by `VALIDATE`; the next attempt waits. `by`:
  /// those that the local copy has, which is looked up only for a single operation.
  case stillReferredTo(code: String, attempt: Int, of: Int, by: Referrers? = nil)
  /// The app did not answer in time whether it may be sent.
  case appSilent(String)
  /// A rule pauses it. `by`: who paused, where the store knows.
  case pausedByRule(PauseScope, by: String?)
  case paused(by: String?)

  // MARK: For a person

  /// `rounds`: how often in a row it conflicted, where that is too often to go on without a person.
  case conflict(ConflictCause, rounds: Int? = nil)
  case failed(FailureCause)
  /// Something became known about it while a person holds it.
  case noted(Cause, Note)

  // MARK: How it ended

  /// The server has what it was to bring about. `isDeletion`: it does not have the record any more.
  case onServer(isDeletion: Bool = false)
  case zoneDone
  /// Edited back to what the server has before anything was sent.
  case editedBack
  /// Deleted before it was sent.
  case deletedBeforeSent
  case zoneDeleteEnqueued
  case zoneKept
  /// A merge kept the server's values. `fields`: of these; empty: of all it changed.
  case serverKept(fields: [String] = [])
  /// The server's side of a record that one side deleted was kept.
  case serverSideKept(ConflictCause)
  /// A merge kept this machine's values of these fields over those of the server.
  case localKept(fields: [String])
  /// This machine's side of a record that one side deleted was kept.
  case localSideKept(ConflictCause)
  /// An undo replaced it. `by`: who undid something.
  case undone(by: String?)
  case resolved(by: Decider)
  case discarded(by: String?)
  case withdrawnByApp
  /// Moved to the store at this path.
  case moved(to: String)

  /// In words alone: shortened for a list, with a secret masked, or as a damaged row has it.
  case inWords(String, isUnconfirmed: Bool)

  /// Why one request cannot hold a reference cycle.
  package enum CycleObstacle: Hashable, Sendable, Codable {
    /// It has too many changes, bytes, references or assets.
    case size
    /// Its records are in several zones.
    case zones
  }

  /// The event that made an operation ready to send again.
  package enum Event: Hashable, Sendable, Codable {
    case edited
    case editedWhileSent
    case merged
    case retried(by: String?)
    case resumed(by: String?)
    case flushed
    case resolved(by: Decider)
    case repairedByApp
    case takenOver(by: String)
    /// The server deleted the record, which the edit recreates.
    case recreates
    case zoneStillThere
  }

  /// Who decided about a conflict.
  package enum Decider: String, Hashable, Sendable, Codable {
    case person, app, policy
  }

  /// The requests that a wait holds.
  package enum Scope: Hashable, Sendable, Codable {
    case network, account, quota, database
    case zone(String)
    /// Fetching the changes of a zone, or the records of a type; nil for both: the list of zones.
    case fetch(zone: String?, type: String?)
  }

  /// The operations that a pause rule holds.
  package enum PauseScope: Hashable, Sendable, Codable {
    case everything
    /// `owner`: the user who shares the zone, if that is another one.
    case zone(String, owner: String? = nil)
    case type(String)
  }

  /// A fact that became known while a person holds an operation.
  package enum Note: Hashable, Sendable, Codable {
    case serverRecordChanged
    /// The server deleted the record, which the edit recreates.
    case recordDeleted
    case serverChanged
    case waitsForApp
  }
}

/// Why a conflict waits for a decision.
package enum ConflictCause: Hashable, Sendable, Codable {
  /// Both sides changed these fields. Empty: both sides changed the record.
  case fields([String])
  case recreatedHere
  case deletedHere
  case deletedOnServer
  /// The server says that the record exists, and does not return it.
  case existsUnseen
  /// The app was asked and did not decide.
  case undecidedByApp(AppFailure)

  /// Why the app's answer decides nothing.
  package enum AppFailure: Hashable, Sendable, Codable {
    case leftToPerson(String)
    case otherRecord
    case invalidRecord(String)
    case failed(String)
    case silent(String)
  }
}

/// Why an operation failed until a person acts.
package enum FailureCause: Hashable, Sendable, Codable {
  /// The server, or an upload, rejected it. `group`: the number of changes that are only sent together, such as an
  /// atomic group, where none was named.
  case rejected(code: String, message: String, group: Int? = nil)
  /// The server's schema has no such record type; with `field`, the type has no such field. Only a deployment of the
  /// schema adds them.
  case schemaLacks(type: String, field: String?, code: String)
  case tooLarge(code: String, message: String)
  /// The server has a record of another type under this name.
  case otherType(server: String, local: String)
  /// The zone changed or was recreated after its deletion was sent.
  case zoneChanged(zone: String)
  case cannotVerify(code: String, message: String)
  case cannotVerifyZone(zone: String, code: String, message: String)
  case referenceMissing(field: String, name: String, code: String)
  /// Others refer to the deleted record by `VALIDATE`.
  case stillReferredTo(code: String, by: Referrers? = nil)
  case zoneCannotBeCreated(zone: String, code: String, message: String)
  case zoneDeleted(zone: String, code: String)
  /// The server has no such zone for this user, who cannot create it: another user's, or a default zone.
  case zoneUnavailable(zone: String, code: String)
  /// The server no longer has a file that was uploaded before.
  case fileNotOnServer(field: String)
  case file(FileProblem, path: String, field: String)
  case fileTooLarge(field: String, code: String, message: String)
  case uploadExpired(code: String)
  case refusedByApp(String)
  /// Its row in the store is damaged.
  case damaged(code: String, reason: String)

  /// The problem with a file that is to be uploaded.
  package enum FileProblem: Hashable, Sendable, Codable {
    case missing, changed
    case unreadable(String)
  }
}

/// The records that refer to another one.
package struct Referrers: Hashable, Sendable, Codable {
  /// The type and name of the first.
  package var first: String
  /// The number of the others.
  package var more: Int
  /// Whether all records were looked at.
  package var isWhole: Bool

  package init(first: String, more: Int, isWhole: Bool) {
    (self.first, self.more, self.isWhole) = (first, more, isWhole)
  }
}

extension Cause {
  /// Whether a deletion was refused because others refer to the record.
  package var isStillReferredTo: Bool {
    switch self {
    case .stillReferredTo, .failed(.stillReferredTo): true
    case .noted(let cause, _): cause.isStillReferredTo
    default: false
    }
  }

  /// The cause with the records that refer to the deleted one.
  package func naming(_ referrers: Referrers) -> Cause {
    switch self {
    case .stillReferredTo(let code, let attempt, let limit, _):
      .stillReferredTo(code: code, attempt: attempt, of: limit, by: referrers)
    case .failed(.stillReferredTo(let code, _)): .failed(.stillReferredTo(code: code, by: referrers))
    case .noted(let cause, let note): .noted(cause.naming(referrers), note)
    default: self
    }
  }
}

extension Cause {
  /// The notes on it, the newest first.
  package var notes: [Note] { if case .noted(let cause, let note) = self { [note] + cause.notes } else { [] } }

  /// The cause without what was noted about it later.
  package var withoutNotes: Cause { if case .noted(let cause, _) = self { cause.withoutNotes } else { self } }
}

// MARK: - In the store

extension Cause {
  /// The cause as the store keeps it.
  package var stored: String {
    switch self {
    case .ready: Self.storedReady
    case .sending: Self.storedSending
    case .onServer(false): Self.storedOnServer
    default: Stored.encoded(self)
    }
  }

  /// - Parameter stored: what the store has; a damaged text becomes `inWords`.
  package init(stored: String) {
    switch stored {
    case Self.storedReady: self = .ready
    case Self.storedSending: self = .sending
    case Self.storedOnServer: self = .onServer()
    default:
      if let known = Self.decoded.withLock({ $0[stored] }) {
        self = known
        return
      }
      let cause: Cause = Stored.decoded(stored) ?? .inWords(stored, isUnconfirmed: false)
      self = cause
      // A long one quotes a server, and few are alike.
      guard stored.utf8.count <= 1000 else { return }
      Self.decoded.withLock { known in
        if known.count >= 256 { known = [:] }
        known[stored] = cause
      }
    }
  }

  // Many rows wait or fail alike, and each is read many times.
  private static let decoded = Mutex<[String: Cause]>([:])

  // Every change has these three on its way, so they are encoded once.
  private static let storedReady = Stored.encoded(Cause.ready)
  private static let storedSending = Stored.encoded(Cause.sending)
  private static let storedOnServer = Stored.encoded(Cause.onServer())
}

/// How the store keeps causes and events: as JSON with sorted keys.
enum Stored {
  static func encoded(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else {
      preconditionFailure("Enums of texts and numbers can be encoded.")
    }
    return String(decoding: data, as: UTF8.self)
  }

  static func decoded<Value: Decodable>(_ text: String) -> Value? {
    guard text.hasPrefix("{") else { return nil }
    return try? JSONDecoder().decode(Value.self, from: Data(text.utf8))
  }
}
