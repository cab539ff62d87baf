package import CloudKit

/// What an error means for the operation it struck. One table for every error there is.
package enum Disposition: Hashable, Sendable {
  /// The wish is already true: a delete of what is not there.
  case acknowledge
  /// Nobody's fault: the scope waits, the operation keeps its attempts.
  case wait(Scope)
  /// A passing failure of this operation: back off, one attempt spent.
  case backOff
  /// The effect is unknown, or the server holds another version: read its record, then merge. No attempt spent.
  case readBack
  /// The record that was to be updated is gone on the server: an edit meets a delete.
  case vanished
  /// The zone is missing: its lane stops until the zone is there.
  case zoneMissing
  /// Failed only because a neighbour of its atomic group did: sent again without blame.
  case sibling
  /// The request was too large: sent again in smaller ones.
  case split
  /// The request was refused whole for one of its records: sent again by halves, until the culprit is alone.
  case isolate
  /// The server failed over the whole request: the scope waits, and the next request is smaller, so that a record that
  /// makes it fail is alone in the end and spends its attempts.
  case outage
  /// A person has to act; kept with its reason until then.
  case deadLetter

  /// What a wait holds up.
  package enum Scope: Hashable, Sendable {
    /// Everything: no network.
    case network
    /// Everything: the account has to be put right.
    case account
    /// Saves: the quota is full; deletes go on.
    case quota
    /// The database, or the zone where the refusal was an item's.
    case throttle
  }

  /// The table of `sync.md` 1.3: (code, effect, phase, attempt) to disposition.
  ///
  /// - Parameters:
  ///   - attempt: which attempt this was, from 1.
  ///   - isCreation: whether the operation makes a record that the server is not known to hold.
  ///   - isRequestLevel: whether the whole request failed, or one item of it.
  package init(
    _ error: WebServicesError,
    kind: OperationKind,
    isCreation: Bool = false,
    attempt: Int,
    maxAttempts: Int,
    isRequestLevel: Bool
  ) {
    let transient: Disposition = attempt >= maxAttempts ? .deadLetter : .backOff
    switch error.code {
    case .throttled: self = .wait(.throttle)
    case .tryAgainLater:
      if error.effect == .unknown {
        self = .readBack
      } else {
        self = error.retryAfter != nil || isRequestLevel ? .wait(.throttle) : transient
      }
    case .internalError: self = error.effect == .unknown ? .readBack : isRequestLevel ? .outage : transient
    case .networkError: self = error.effect == .notSent ? .wait(.network) : .readBack
    case .unexpectedServerResponse: self = .readBack
    case .conflict, .exists:
      switch kind {
      case .save, .delete: self = .readBack
      // The zone is there, which is what was wanted.
      case .zoneSave: self = .acknowledge
      case .zoneDelete: self = transient
      }
    case .notFound:
      switch kind {
      // Of a whole request it means that there is no such container: a person has to put that right, no change is to
      // blame.
      // What is created cannot have vanished: its type is not known (reference 7.3).
      case .save: self = isRequestLevel ? .wait(.account) : isCreation ? .deadLetter : .vanished
      case .delete, .zoneDelete: self = isRequestLevel ? .wait(.account) : .acknowledge
      case .zoneSave: self = isRequestLevel ? .wait(.account) : .deadLetter
      }
    case .zoneNotFound:
      switch kind {
      case .save, .zoneSave: self = .zoneMissing
      case .delete, .zoneDelete: self = .acknowledge
      }
    // Where the whole request bears it, no member is named as the culprit, so each of them spends an attempt.
    case .atomicError: self = isRequestLevel ? transient : .sibling
    case .validatingReferenceError: self = transient
    case .quotaExceeded: self = .wait(.quota)
    case .limitExceeded: self = .split
    case .authenticationRequired, .authenticationFailed: self = .wait(.account)
    case .badRequest, .uniqueFieldError: self = isRequestLevel ? .isolate : .deadLetter
    // Nobody may write here, or something between us and the server forbids it: that is no record's fault.
    case .accessDenied: self = isRequestLevel ? .wait(.account) : .deadLetter
    // Never dropped: bounded retries, then a dead letter with the raw answer.
    case .unknown: self = isRequestLevel ? .outage : transient
    }
  }
}

extension WebServicesError {
  /// No answer came that tells what became of a write.
  var isLoss: Bool { code != .conflict && code != .exists }

  /// A request that only reads was refused whole, and one of the names in it may be why.
  var mayBeForOneRecord: Bool {
    switch code {
    case .badRequest, .internalError, .limitExceeded, .unexpectedServerResponse, .unknown: true
    default: false
    }
  }
}

/// How long to wait before trying again.
package enum Backoff {
  /// The most seconds that is waited where the server asks for nothing.
  package static let longest = 300.0

  /// Seconds before attempt `attempt + 1`: 1, 2, 4 … 300, with full jitter in the upper half.
  package static func seconds(afterAttempt attempt: Int, random: Double) -> Double {
    let ceiling = min(longest, Double(1 << min(max(attempt - 1, 0), 9)))
    return ceiling / 2 + ceiling / 2 * random
  }

  /// Seconds that one operation waits for the server: as long as it asked, after a second failure twice that, and so on, up to
  /// an hour more than asked.
  package static func seconds(asked: Double, attempt: Int) -> Double {
    let asked = min(max(asked, 0), 315_360_000)
    return min(asked * Double(1 << min(max(attempt - 1, 0), 12)), asked + 3600)
  }

  /// The longest that a wait is honoured, in seconds: after a day the server is asked again.
  static let longestWait = 86_400.0

  /// Seconds a scope waits: never less than the server asked, more where it repeats itself, jitter upward only.
  ///
  /// - Parameters:
  ///   - asked: the server's `retryAfter`, if it gave one.
  ///   - previous: the last wait of the same scope, if the scope has not been free since.
  package static func scopeSeconds(asked: Double?, previous: Double?, random: Double) -> Double {
    // A wait of nothing is no wait at all: taken at its word, the next request would go at once, and so on.
    let asked = asked.flatMap { $0 > 0 ? min($0, longestWait) : nil }
    let grown = previous.map { min($0 * 2, (asked ?? 0) + 3600) } ?? 1
    let wait = asked.map { previous == nil ? $0 : max($0, grown) } ?? min(grown, longest)
    return min(wait + wait * 0.1 * random, longestWait)
  }

  /// Whole milliseconds, rounded up, and a day at most.
  package static func milliseconds(_ seconds: Double) -> Int64 {
    guard seconds > 0 else { return 0 }
    return Int64((min(seconds, longestWait) * 1000).rounded(.up))
  }
}
