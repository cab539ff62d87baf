package import CloudKit

/// The request that failed, or the part of it. It is whole if the error is that of the request, not of one item in the
/// reply.
package enum Phase: Hashable, Sendable {
  /// Sending an operation; `attempt` is the number of this attempt, from 1. A creation is the save of a record that the
  /// server is not known to hold.
  case sending(OperationKind, isCreation: Bool, attempt: Int, of: Int, isWhole: Bool)
  /// Creating a zone that queued changes need.
  case creatingZone(isWhole: Bool)
  /// Fetching records or a zone by name, to see what became of a write.
  case verifying(isWhole: Bool)
  /// Requesting a change feed.
  case fetching
  /// Decoding the zone in the reply of its change feed.
  case fetchingZone
  /// Decoding one record in a page of changes, of a query or of a full scan.
  case fetchingRecord
  /// Requesting a query, in a zone without a change feed.
  case polling
  /// Requesting addresses for uploads, or descriptors of files that the server has.
  case preparingUpload
  /// Uploading one file.
  case uploading
  case subscribing
  /// Signing in; the meaning also holds for an error that stopped a whole sync.
  case authenticating
}

/// The response to an error. One table covers every error in every phase; the handbook's page Errors
/// (`Handbook/Sync/Errors.md`) shows it.
package enum Disposition: Hashable, Sendable {
  /// The goal is already reached, such as deleting a record that does not exist.
  case acknowledge
  /// Nothing is at fault: the scope waits, and no attempt is counted.
  case wait(Scope)
  /// A temporary failure of this item: back off and count an attempt.
  case backOff
  /// The effect is unknown: re-fetch the record, then merge. No attempt is counted.
  case verify
  /// The server holds another version: re-fetch the record, then merge. No attempt is counted.
  case compare
  /// The record to be updated was deleted on the server: an edit meets a delete.
  case vanished
  /// The zone is missing: its operations wait until it exists.
  case zoneMissing
  /// The server does not hold the record or the record type that was requested.
  case absent
  /// Failed only because another member of its atomic group did: sent again, and no attempt is counted.
  case sibling
  /// The request or its reply was too large: request less.
  case split
  /// The request was rejected as a whole because of one of its items: bisection finds it.
  case isolate
  /// The server failed on the whole request: the scope waits, and the next request is smaller, so that an item that
  /// causes the failure is isolated in the end.
  case outage
  /// Something between here and the server replied, so nothing is known of the account.
  case unanswered
  /// The server does not let us read or write this: a person has to act.
  case denied
  /// The server no longer accepts the change token: fetch from the start.
  case restart
  /// A value of the record does not fit its type: the local copy keeps the last version.
  case misfit
  /// Only what was requested backs off; everything else goes on.
  case hold
  /// The sync stops, and the error is shown until one succeeds.
  case stop
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

  package init(of error: WebServicesError, during phase: Phase) {
    self =
      switch phase {
      case .sending(let kind, let isCreation, let attempt, let limit, let isWhole):
        Self.sending(error, kind, isCreation: isCreation, .transient(attempt: attempt, of: limit), isWhole: isWhole)
      case .creatingZone(isWhole: true): Self.general(error) ?? .hold
      case .creatingZone(isWhole: false): Self.creatingZone(error)
      case .verifying(isWhole: true): Self.verifyingAll(error)
      case .verifying(isWhole: false): Self.verifyingOne(error)
      case .fetching: error.refusesChangeToken ? .restart : Self.general(error) ?? .hold
      case .fetchingZone: Self.fetchingZone(error)
      case .fetchingRecord: Self.fetchingRecord(error)
      case .polling: error.code == .notFound ? .absent : Self.general(error) ?? .hold
      case .preparingUpload: Self.preparingUpload(error)
      case .uploading: Self.uploading(error)
      case .subscribing: Self.subscribing(error)
      case .authenticating: Self.authenticating(error)
      }
  }

  /// The response to a failure that other requests would meet too; nil for any other failure.
  private static func general(_ error: WebServicesError) -> Disposition? {
    switch error.code {
    case .networkError: .wait(.network)
    case .authenticationRequired, .authenticationFailed: .wait(.account)
    case .throttled, .tryAgainLater: .wait(.throttle)
    case .accessDenied: .denied
    default: nil
    }
  }

  // MARK: - Sending

  private static func sending(
    _ error: WebServicesError,
    _ kind: OperationKind,
    isCreation: Bool,
    _ transient: Disposition,
    isWhole: Bool
  ) -> Disposition {
    switch error.code {
    case .throttled: .wait(.throttle)
    case .tryAgainLater where error.effect == .unknown: .verify
    case .tryAgainLater: error.retryAfter != nil || isWhole ? .wait(.throttle) : transient
    // The write may have taken effect all the same: it is verified before it is sent again (`OutcomeWriter`).
    case .internalError: isWhole ? .outage : transient
    case .networkError: error.effect == .notSent ? .wait(.network) : .verify
    case .unexpectedServerResponse: .verify
    case .conflict, .exists:
      switch kind {
      case .save, .delete: .compare
      // The zone exists, which is the goal.
      case .zoneSave: .acknowledge
      case .zoneDelete: transient
      }
    // For a whole request it means that the container does not exist, which a person has to solve.
    case .notFound where isWhole: .wait(.account)
    case .notFound:
      switch kind {
      // For a create it means that the record type is unknown (reference 7.3).
      case .save: isCreation ? .deadLetter : .vanished
      case .delete, .zoneDelete: .acknowledge
      case .zoneSave: .deadLetter
      }
    case .zoneNotFound: kind == .save || kind == .zoneSave ? .zoneMissing : .acknowledge
    // If the whole request failed this way, no member is named as the cause, so each of them counts an attempt.
    case .atomicError: isWhole ? transient : .sibling
    case .validatingReferenceError: transient
    case .quotaExceeded: .wait(.quota)
    case .limitExceeded: .split
    case .authenticationRequired, .authenticationFailed: .wait(.account)
    case .badRequest, .uniqueFieldError: isWhole ? .isolate : .deadLetter
    // For a whole request, no write is allowed or a proxy forbids it: no record is at fault.
    case .accessDenied: isWhole ? .wait(.account) : .deadLetter
    // Never dropped: limited retries, then a dead letter with the raw reply.
    case .unknown: isWhole ? .outage : transient
    }
  }

  /// The disposition of a temporary failure, by the number of this attempt, from 1.
  static func transient(attempt: Int, of limit: Int) -> Disposition { attempt >= limit ? .deadLetter : .backOff }

  private static func creatingZone(_ error: WebServicesError) -> Disposition {
    switch error.code {
    case .exists: .acknowledge
    case .badRequest, .accessDenied: .deadLetter
    default: .hold
    }
  }

  // MARK: - Verifying

  private static func verifyingAll(_ error: WebServicesError) -> Disposition {
    switch error.code {
    case .zoneNotFound: .zoneMissing
    case .badRequest: .isolate
    case .internalError, .limitExceeded, .unexpectedServerResponse, .unknown: .outage
    default: general(error) ?? .stop
    }
  }

  private static func verifyingOne(_ error: WebServicesError) -> Disposition {
    switch error.code {
    case .notFound: .absent
    case .zoneNotFound: .zoneMissing
    case .authenticationRequired, .authenticationFailed: .wait(.account)
    case .throttled: .wait(.throttle)
    case .tryAgainLater where error.retryAfter != nil: .wait(.throttle)
    default: .backOff
    }
  }

  // MARK: - Fetching

  private static func fetchingZone(_ error: WebServicesError) -> Disposition {
    switch error.code {
    case _ where error.refusesChangeToken: .restart
    case .zoneNotFound: .zoneMissing
    case .accessDenied: .denied
    case .throttled, .tryAgainLater: .wait(.throttle)
    default: .hold
    }
  }

  private static func fetchingRecord(_ error: WebServicesError) -> Disposition {
    switch error.code {
    case .notFound: .absent
    case .accessDenied: .denied
    case .throttled, .tryAgainLater: .wait(.throttle)
    case .limitExceeded: .split
    // A server sends no such code with a record: this client has given it.
    case .unexpectedServerResponse: .misfit
    default: .hold
    }
  }

  // MARK: - Files, subscriptions and the account

  private static func preparingUpload(_ error: WebServicesError) -> Disposition {
    switch error.code {
    case .quotaExceeded: .wait(.quota)
    case .zoneNotFound: .zoneMissing
    case _ where error.mayConcernOneRecord: .isolate
    case .badRequest, .internalError, .limitExceeded, .unexpectedServerResponse, .unknown: .outage
    default: general(error) ?? .stop
    }
  }

  private static func uploading(_ error: WebServicesError) -> Disposition {
    if error.retryAfter != nil { return .wait(.throttle) }
    if error.effect == .notSent { return .wait(.network) }
    return error.code == .networkError ? .outage : .backOff
  }

  private static func subscribing(_ error: WebServicesError) -> Disposition {
    if error.code == .throttled || error.retryAfter != nil { return .wait(.throttle) }
    return error.code == .exists ? .acknowledge : .hold
  }

  private static func authenticating(_ error: WebServicesError) -> Disposition {
    switch error.code {
    case .tryAgainLater, .internalError: .outage
    case .unexpectedServerResponse: .unanswered
    case .quotaExceeded: .wait(.quota)
    default: general(error) ?? .stop
    }
  }
}

extension Disposition {
  /// Whether other requests would fail too, so that the sync stops.
  var stopsSync: Bool {
    switch self {
    case .wait, .denied, .stop: true
    default: false
    }
  }

  /// The scope that waits because of one item of a zone; nil if the item itself is at fault.
  func scope(in zone: ZoneKey) -> WaitScope? {
    switch self {
    case .wait(.account): .account
    case .wait: .zone(zone)
    default: nil
    }
  }
}

extension WebServicesError {
  func means(_ disposition: Disposition, during phase: Phase) -> Bool {
    Disposition(of: self, during: phase) == disposition
  }

  var asksToWait: Bool { retryAfter ?? 0 > 0 }
}

extension ServerErrorCode {
  /// The meaning of this code for a whole sync.
  package var disposition: Disposition { Disposition(of: WebServicesError(self, ""), during: .authenticating) }

  /// Whether only a person can help: authentication, permission or quota.
  package var needsPerson: Bool { [.wait(.account), .wait(.quota), .denied].contains(disposition) }
}
