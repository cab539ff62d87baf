public import CloudKit
public import CloudSync
@_exported public import enum Facts.VerdictState

extension CloudKitService {
  /// The status of a service and its store at one moment. Within a day it changes only when something has happened; the
  /// sentence of the verdict shows times of other days with their date.
  public struct Status: Hashable, Sendable {
    /// The verdict in a word and a sentence, for a person.
    public let verdict: Verdict
    /// The queue in numbers.
    public let queue: Queue
    /// The progress of the current phase; nil if nothing is sent or fetched now.
    public let progress: Progress?
    /// The account, as of the last request.
    public let account: Account
    /// The waits before the next requests, the earliest end first.
    public let throttles: [Throttle]
    /// The end of the last sync that fetched all changes; nil before the first.
    public let lastSuccess: Date?
    /// The latest failure of a sync; nil if there was none.
    public let lastFailure: Failure?
    /// Conflicts that wait for a decision.
    public var conflicts: Int { queue.conflicts }
    /// Records whose deletion on the server is on hold until a person decides.
    public let heldDeletions: Int
    /// Whether the queue is empty, there is no problem and no hold, and all changes have been fetched since the last
    /// local change.
    public let isInSync: Bool
    /// Whether everything is paused.
    public let isPaused: Bool
    /// The process that syncs the store now; nil if none does.
    public let syncingProcess: SyncingProcess?
  }
}

extension CloudKitService.Status {
  /// The status in one state: exactly one holds at a time.
  public struct Verdict: Hashable, Sendable {
    /// The states, in order of precedence.
    public typealias State = VerdictState

    /// The state.
    public let state: State
    /// The state with its reason as a sentence without a full stop, in English.
    public let sentence: String
    /// Whether a person has to act before everything is sent and fetched. The rest may go on without.
    public let needsPerson: Bool
  }

  /// The changes in the queue, by state.
  public struct Queue: Hashable, Sendable {
    /// All changes.
    public let total: Int
    /// Changes that are ready to be sent, apart from their order and waits.
    public let pending: Int
    /// Changes that were sent and not answered yet.
    public let inFlight: Int
    /// Changes whose last attempt failed and that wait for the next one.
    public let retrying: Int
    /// Changes that failed for good.
    public let failed: Int
    /// Changes that were paused one by one. A pause of a zone or of everything does not count here.
    public let paused: Int
    /// Changes in conflict.
    public let conflicts: Int
    /// Changes that wait for another one, such as a record for its parent; they are pending or retrying. Counted up to
    /// 100, so that the cost does not grow with the queue.
    public let blocked: Int
    /// The size of all changes in bytes, without assets.
    public let bytes: Int
    /// The time at which the oldest change was accepted.
    public let oldestChange: Date?
  }

  /// The progress of one phase of a sync. Within a phase it never goes back.
  public struct Progress: Hashable, Sendable {
    /// The phases of a sync; they may alternate.
    public enum Phase: String, Hashable, Sendable {
      /// Changes are sent; counted in changes.
      case sending
      /// Asset files are uploaded; counted in bytes.
      case assets
      /// Changes are fetched; counted in records.
      case fetching
    }

    /// The phase.
    public let phase: Phase
    /// The number done.
    public let done: Int
    /// The number to do; nil while it is unknown: the server does not say how many changes there are to fetch.
    public let total: Int?
    /// The number done per second, over the last five seconds; nil before it is known.
    public let perSecond: Double?
    /// Seconds until the end of the phase at that rate; nil if unknown.
    public let secondsLeft: Double?

    /// The share that is done, from 0 to 1; nil while the total is unknown.
    public var fraction: Double? { total.map { $0 > 0 ? min(1, Double(done) / Double($0)) : 0 } }
  }

  /// The account, as of the last request.
  public enum Account: Hashable, Sendable {
    /// The server has not been asked yet, or its answer does not depend on the account.
    case unknown
    /// The server accepts the user's credential. The user's record name.
    case available(String)
    /// No user is signed in, or the server refuses the credential.
    case signedOut
    /// Another user is signed in than the store's, whose record name is given if known.
    case otherUser(owner: String?)
    /// The server does not let this user use the database.
    case restricted
    /// The server cannot answer about the account now.
    case temporarilyUnavailable
  }

  /// A wait before the next request.
  public struct Throttle: Hashable, Sendable {
    /// The requests that wait.
    public enum Scope: Hashable, Sendable {
      /// Everything.
      case everything
      /// Saves.
      case saves
      /// The changes to be sent to a zone.
      case zone(CKRecordZone.ID)
      /// A change feed or a polled query.
      case fetching
    }

    /// The reason for the wait.
    public enum Reason: Hashable, Sendable {
      /// The server asked for the wait. A sync on demand does not end it.
      case server
      /// Our own back-off after an error. A sync on demand ends it.
      case backOff
      /// The user's storage is full: deletes go on.
      case fullQuota
      /// No request reaches the server.
      case noNetwork
      /// The server refuses the account.
      case account
    }

    /// The requests that wait.
    public let scope: Scope
    /// The reason for the wait.
    public let reason: Reason
    /// The end of the wait.
    public let until: Date
    /// The error that caused it.
    public let failure: SyncFailure
  }

  /// A failure of a sync.
  public struct Failure: Hashable, Sendable {
    /// The failure as the service throws it.
    public let error: CloudKitServiceError
    /// A message in one line.
    public let message: String
    /// The time at which it was met; nil if unknown.
    public let date: Date?
    /// Whether it still stands: no sync has succeeded since.
    public let isCurrent: Bool

    /// The framework's error, with the server's code and reason; nil if the store failed and not the server.
    public var ckError: CKError? { error.ckError }

    /// Whether both are about the same failure.
    public static func == (one: Self, other: Self) -> Bool {
      (one.message, one.date, one.isCurrent) == (other.message, other.date, other.isCurrent)
    }

    /// Hashes what is compared.
    public func hash(into hasher: inout Hasher) {
      hasher.combine(message)
      hasher.combine(date)
    }
  }

  /// The process that syncs the store.
  public struct SyncingProcess: Hashable, Sendable {
    /// The process identifier.
    public let pid: Int
    /// The name of its machine.
    public let host: String
    /// The name of its program; nil if unknown.
    public let program: String?
    /// The time since which it has synced without a break; nil if unknown.
    public let since: Date?
  }
}
