package import CloudSync
package import Facts

/// A command of an operator.
package enum ServiceCommand: Hashable, Sendable {
  /// Does a verb to operations; with the versions that were shown, one that is in another version by now is left alone.
  case perform(QueueVerb, Selection, versions: [Int64: String] = [:])
  /// Pauses everything, or resumes it where everything is paused by the time the command runs.
  case togglePause
  /// Pauses an operation, or resumes it where it is paused by the time the command runs.
  case togglePauseOf(Int64)
  /// Ends back-offs.
  case flush
  /// Resolves a conflict unless it is no longer in the version that was shown.
  case resolve(Int64, take: ConflictSide, fields: [String: ConflictSide], version: String)
  /// Ends back-offs and asks the syncing process for a sync, without waiting for it.
  case askForSync
  /// Syncs once and waits for the end.
  case sync
  /// Syncs from now on.
  case keepSyncing
}

/// The result of a command, as a value: the screen makes the sentence.
package struct Receipt: Sendable {
  package var command: ServiceCommand
  /// The verb carried out on operations; a toggle decides it when it runs.
  package var verb: QueueVerb?
  /// The number of operations changed.
  package var changed = 0
  /// The operations left as they were, each with the reason.
  package var skipped: [Int64: Obstacle] = [:]
  /// The operations named that are no longer in the queue.
  package var gone: [Int64] = []
  /// How many of those changed had been sent without a reply: the server may have taken them.
  package var unanswered = 0
  /// Whether a resolved conflict leaves a change to be sent.
  package var isToBeSent = false
  /// The summary of a sync.
  package var summary: PassSummary?
  /// The store's state after a sync.
  package var status: StoreStatus?
  /// Why nothing was done.
  package var failure: (any Error)?

  package init(_ command: ServiceCommand, failure: (any Error)? = nil) {
    self.command = command
    self.failure = failure
  }
}

/// Why the service refuses a command.
package enum CommandRefusal: Error, Hashable, Sendable {
  case readOnly
  /// One sync at a time is enough.
  case alreadySyncing
  /// This service has no engine.
  case cannotSync
}

extension Selection {
  /// Everything that failed or waits to be retried, where a text is given only what the queue's list shows for it.
  package static func retryable(containing text: String = "") -> Selection {
    .matching(.retryable, text: retryableText, containing: text)
  }

  fileprivate static let retryableText = "state in ('failed', 'waiting')"
}

extension QueueFilter {
  /// Everything that failed or waits to be retried.
  static let retryable: QueueFilter = {
    guard let filter = try? QueueFilter(parsing: Selection.retryableText) else {
      preconditionFailure("The condition is one.")
    }
    return filter
  }()
}

extension ServiceCommand {
  /// Carries out a command on the store. Blocks until its effect is on disk.
  func run(on changing: ChangingStore) -> Receipt {
    var receipt = Receipt(self)
    do {
      try run(on: changing.get(), &receipt)
    } catch {
      receipt.failure = error
    }
    return receipt
  }

  private func run(on store: SyncStore, _ receipt: inout Receipt) throws {
    let actor = Operator.name
    func perform(_ verb: QueueVerb, _ selection: Selection, _ versions: [Int64: String] = [:]) throws {
      receipt.verb = verb
      let result = try store.perform(verb, on: selection, versions: versions, actor: actor)
      receipt.changed = result.changed.count
      receipt.skipped = result.skipped
      receipt.gone = result.unknown
      receipt.unanswered = result.unanswered.count
    }
    switch self {
    case .perform(let verb, let selection, let versions): try perform(verb, selection, versions)
    case .togglePause:
      // The rules for zones and types stay.
      receipt.verb = try store.resume(.everything, actor: actor) ? .resume : .pause
      if receipt.verb == .pause { try store.pause(.everything, actor: actor) }
    case .togglePauseOf(let id):
      let isPaused = try !store.perform(.resume, on: .ids([id]), dryRun: true, actor: actor).changed.isEmpty
      try perform(isPaused ? .resume : .pause, .ids([id]))
    case .flush: receipt.changed = try store.flush(actor: actor)
    case .resolve(let id, let take, let fields, let version):
      switch try store.resolve(id, take: take, fields: fields, ifVersion: version, actor: actor) {
      case .resolved(let resolution, _):
        receipt.isToBeSent = resolution.left != nil
        receipt.changed = 1
      case .moved(let conflict):
        let now = conflict == nil ? "it is resolved already" : "look at it again and decide"
        throw StoreError(.invalid, "conflict \(id) changed meanwhile, nothing was done; \(now)")
      }
    case .askForSync:
      receipt.changed = try store.flush(actor: actor)
      try store.askForPass()
    case .sync, .keepSyncing: receipt.failure = CommandRefusal.cannotSync
    }
  }
}
