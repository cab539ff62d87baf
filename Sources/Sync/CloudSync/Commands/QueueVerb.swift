package import Facts

/// The operations that a command applies to.
package enum Selection: Hashable, Sendable {
  case ids([Int64])
  /// Operations that match a filter. `text`: as it was typed.
  case matching(QueueFilter, text: String)
  /// The operations that a listing shows, except some. Those in a state in which a command means nothing are left out
  /// without being reported one by one.
  case listing(QueueListing, except: Set<Int64>)
  case all

  /// The selection as the log names it.
  var asSubject: Event.Subject {
    switch self {
    case .ids(let ids): Event.Subject(ids, of: ids.count)
    case .matching(_, let text): .matching(text)
    case .listing(let listing, []): .matching(listing.text)
    case .listing(let listing, let except): .matching("\(listing.text), except \(except.count)")
    case .all: .all
    }
  }
}

extension Event.Command {
  /// The command of a verb about operations.
  static func of(_ verb: QueueVerb, _ subject: Event.Subject) -> Event.Command {
    switch verb {
    case .retry: .retry(subject)
    case .discard: .discard(subject)
    case .pause: .pause(subject)
    case .resume: .resume(subject)
    }
  }
}

/// A command of an operator to the queue.
package enum QueueVerb: String, Hashable, Sendable, CaseIterable {
  /// Makes failed and waiting operations pending, with their attempts reset.
  case retry
  /// Removes operations from the queue for good.
  case discard
  /// Pauses operations until resumed. For all operations it is a rule, which also applies to later ones.
  case pause
  case resume

  /// The states of the operations that it changes.
  var states: Set<OperationState> {
    switch self {
    case .retry: [.failed, .waiting]
    case .discard: Set(OperationState.allCases)
    case .pause: Set(OperationState.open)
    case .resume: [.paused]
    }
  }

  /// Returns the reason why the verb skips an operation in this state; nil if it applies.
  package func obstacle(to state: OperationState, errorCode: String?) -> Obstacle? {
    if state == .inFlight { return .beingSent }
    if self == .retry, errorCode == StoreError.unreadable { return .damaged }
    return states.contains(state) ? nil : .inState(state.rawValue)
  }
}
