import CloudKit
import Facts

/// Waiting and sending.
enum SendingEvent: Hashable, Sendable {
  /// Nothing holds it back any more, but for a wait that the server asked for.
  case ready(Cause, now: Int64)
  case sent(as: OperationKind)
  case answered
  /// The process that sent it died, or its reply is not waited for.
  case recovered
  case attempted
  /// Backs off after a temporary failure, unless a person has to act first. `rounds` are the failures in a row, if not
  /// every one counts as an attempt.
  case backedOff(WebServicesError, rounds: Int? = nil, now: Int64, random: Double)
  case deferred(until: Int64, isServersWait: Bool)
  case failed(FailureCause)
  case forgiven
  /// An earlier generation was saved.
  case saved(tag: String)
}

/// Events about the outcome of its requests.
enum DoubtEvent: Hashable, Sendable {
  /// It must be compared with the server's record before it is sent.
  case stale
  case compared
  /// The server may have carried out the request on which it failed.
  case leftInDoubt
  case replyLost(code: String)
  /// The server rejected it without its record.
  case disputed(code: String)
  /// A save that the server has not confirmed may be carried out, as may earlier ones.
  case mayBeCarriedOut(FieldChanges)
  /// The outcome of every request is known, but for these saves.
  case confirmed(except: [FieldChanges] = [])
  /// The server has nothing of a create whose reply was lost.
  case createNotFound
  case uploaded
  case uploadFailed
  /// A request with it was rejected as a whole; nil: that request is forgotten.
  case bisected(QueuedOperation.Bisection?)
  /// It was not the cause of its request's failure.
  case cleared
}

/// A decision: of the merge policy, the app or a person.
enum DecisionEvent: Hashable, Sendable {
  case conflicted(ConflictCause, now: Int64)
  case resolved(by: Cause.Decider, now: Int64)
  case edited(resolvesConflict: Bool, now: Int64)
  case repaired(now: Int64)
  case retried(by: String, now: Int64)
  case paused(by: String)
  /// `waiting` is the end of a wait that the server asked for.
  case resumed(by: String, waiting: Int64?)
  /// Another user takes it over.
  case takenOver(from: [String: FieldValue], by: String, now: Int64)
  /// Nothing is left to send, or what is left is not to be sent.
  case ended(Ending, Cause)
}

/// The server does not hold the record any more. A save creates it, and a delete is done.
enum LossEvent: Hashable, Sendable {
  /// The save creates a record of its own fields.
  case startedOver
  /// The save creates the whole record of these fields with the edit applied.
  case recreated(from: [String: FieldValue])
  /// The server deleted the record; the edit recreates it, once it is not paused or failed.
  case outlived([String: FieldValue], now: Int64)
  /// The server deleted the record; a person decides whether the edit recreates it.
  case orphaned([String: FieldValue], now: Int64)
}
