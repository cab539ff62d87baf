package import CloudKit

/// The way an operation continues after an error. One table covers every error.
package enum Disposition: Hashable, Sendable {
  /// The goal is already reached, such as deleting a record that does not exist.
  case acknowledge
  /// No operation is at fault: the scope waits, and no attempt is counted.
  case wait(Scope)
  /// A temporary failure of this operation: back off and count an attempt.
  case backOff
  /// The effect is unknown, or the server holds another version: re-fetch the record, then merge. No attempt is
  /// counted.
  case readBack
  /// The record to be updated was deleted on the server: an edit meets a delete.
  case vanished
  /// The zone is missing: its operations wait until it exists.
  case zoneMissing
  /// Failed only because another member of its atomic group did: sent again, and no attempt is counted.
  case sibling
  /// The request was too large: send smaller ones.
  case split
  /// The request was rejected as a whole because of one of its records: bisection finds it.
  case isolate
  /// The server failed on the whole request: the scope waits, and the next request is smaller, so that a record that
  /// causes the failure is isolated in the end.
  case outage
  /// A person has to act; the operation is kept until then.
  case deadLetter

  /// The part of the sync that waits.
  package enum Scope: Hashable, Sendable {
    /// Everything, because there is no network.
    case network
    /// Everything, until the account problem is solved.
    case account
    /// Saves, because the quota is full; deletes continue.
    case quota
    /// The database, or the zone if one item was rejected.
    case throttle
  }

  /// The table of `sync.md` 1.3, from code, effect, phase and attempt to disposition.
  ///
  /// - Parameters:
  ///   - attempt: the number of this attempt, from 1.
  ///   - isCreation: whether the operation creates a record that the server is not known to hold.
  ///   - isRequestLevel: whether the whole request failed, not one item of it.
  package init(
    _ error: WebServicesError,
    kind: OperationKind,
    isCreation: Bool = false,
    attempt: Int,
    maxAttempts: Int,
    isRequestLevel: Bool
  ) {
    let transient = Self.transient(attempt: attempt, maxAttempts: maxAttempts)
    switch error.code {
    case .throttled: self = .wait(.throttle)
    case .tryAgainLater:
      if error.effect == .unknown {
        self = .readBack
      } else {
        self = error.retryAfter != nil || isRequestLevel ? .wait(.throttle) : transient
      }
    // The write may have taken effect all the same: it is verified before it is sent again (`OutcomeWriter`).
    case .internalError: self = isRequestLevel ? .outage : transient
    case .networkError: self = error.effect == .notSent ? .wait(.network) : .readBack
    case .unexpectedServerResponse: self = .readBack
    case .conflict, .exists:
      switch kind {
      case .save, .delete: self = .readBack
      // The zone exists, which is the goal.
      case .zoneSave: self = .acknowledge
      case .zoneDelete: self = transient
      }
    case .notFound:
      switch kind {
      // For a whole request it means that the container does not exist, which a person has to solve. For a create it
      // means that the record type is unknown (reference 7.3).
      case .save: self = isRequestLevel ? .wait(.account) : isCreation ? .deadLetter : .vanished
      case .delete, .zoneDelete: self = isRequestLevel ? .wait(.account) : .acknowledge
      case .zoneSave: self = isRequestLevel ? .wait(.account) : .deadLetter
      }
    case .zoneNotFound:
      switch kind {
      case .save, .zoneSave: self = .zoneMissing
      case .delete, .zoneDelete: self = .acknowledge
      }
    // If the whole request failed this way, no member is named as the cause, so each of them counts an attempt.
    case .atomicError: self = isRequestLevel ? transient : .sibling
    case .validatingReferenceError: self = transient
    case .quotaExceeded: self = .wait(.quota)
    case .limitExceeded: self = .split
    case .authenticationRequired, .authenticationFailed: self = .wait(.account)
    case .badRequest, .uniqueFieldError: self = isRequestLevel ? .isolate : .deadLetter
    // For a whole request, no write is allowed or a proxy forbids it: no record is at fault.
    case .accessDenied: self = isRequestLevel ? .wait(.account) : .deadLetter
    // Never dropped: limited retries, then a dead letter with the raw reply.
    case .unknown: self = isRequestLevel ? .outage : transient
    }
  }

  /// The disposition of a temporary failure, by the number of this attempt, from 1.
  static func transient(attempt: Int, maxAttempts: Int) -> Disposition {
    attempt >= maxAttempts ? .deadLetter : .backOff
  }
}

extension WebServicesError {
  /// Whether the reply does not show what became of a write.
  var isLoss: Bool { code != .conflict && code != .exists }

  /// Whether a read that failed as a whole may have failed because of one of its records.
  var mayBeForOneRecord: Bool {
    switch code {
    case .badRequest, .internalError, .limitExceeded, .unexpectedServerResponse, .unknown: true
    default: false
    }
  }
}

/// Computes the time until a retry.
package enum Backoff {
  /// The longest back-off in seconds, unless the server asks for more.
  package static let longest = 300.0

  /// Seconds before attempt `attempt + 1`: 1, 2, 4 … 300, with full jitter in the upper half.
  package static func seconds(afterAttempt attempt: Int, random: Double) -> Double {
    let ceiling = min(longest, Double(1 << min(max(attempt - 1, 0), 9)))
    return ceiling / 2 + ceiling / 2 * random
  }

  /// Seconds for which one operation waits for the server: as long as it asked, doubled with each further failure, up
  /// to an hour more than asked.
  package static func seconds(asked: Double, attempt: Int) -> Double {
    let asked = min(max(asked, 0), 315_360_000)
    return min(asked * Double(1 << min(max(attempt - 1, 0), 12)), asked + 3600)
  }

  /// The longest wait in seconds: after a day the server is asked again.
  static let longestWait = 86_400.0

  /// Seconds for which a scope waits: at least what the server asked, more with each repetition, with jitter upward
  /// only.
  ///
  /// - Parameters:
  ///   - asked: the server's `retryAfter`, if any.
  ///   - previous: the last wait of the same scope, if no request has succeeded since.
  package static func scopeSeconds(asked: Double?, previous: Double?, random: Double) -> Double {
    // A `retryAfter` of zero is ignored; else the next request would be sent at once, in a loop.
    let asked = asked.flatMap { $0 > 0 ? min($0, longestWait) : nil }
    let grown = previous.map { min($0 * 2, (asked ?? 0) + 3600) } ?? 1
    let wait = asked.map { previous == nil ? $0 : max($0, grown) } ?? min(grown, longest)
    return min(wait + wait * 0.1 * random, longestWait)
  }

  /// Whole milliseconds, rounded up, at most a day.
  package static func milliseconds(_ seconds: Double) -> Int64 {
    guard seconds > 0 else { return 0 }
    return Int64((min(seconds, longestWait) * 1000).rounded(.up))
  }
}
