package import Facts

/// The status of a store, for `status` and the dashboard.
package struct StoreStatus: Hashable, Sendable {
  /// The state of syncing, derived from facts.
  package enum State: String, Hashable, Sendable {
    case idle, sending, fetching, waiting, paused, offline, error
  }

  /// Operations by state.
  package struct Queue: Hashable, Sendable {
    package var total = 0
    package var pending = 0
    package var inFlight = 0
    package var waiting = 0
    package var failed = 0
    package var paused = 0
    package var conflicts = 0
    package var bytes = 0
    package var oldestPendingAt: Int64?
    /// The time at which the oldest operation was accepted that waits for no person.
    package var oldestGoingAt: Int64?
    /// The time at which the oldest operation in any state was accepted.
    package var oldestAt: Int64?
    /// Operations that wait for another one, counted up to 100, so that the cost does not grow with the queue.
    package var blocked = 0
    /// By state, zone and type.
    package var parts: [QueuePart] = []

    /// The number of operations that wait for no person.
    package var going: Int { pending + inFlight + waiting }
    /// The number of operations that `retry` would change.
    package var retryable: Int { failed + waiting }
  }

  /// A wait of a scope.
  package struct Throttle: Hashable, Sendable {
    package var scope: String
    package var until: Int64
    package var error: String
    package var message: String
    package var isOwn: Bool
    /// When the trouble began; nil where an earlier version did not store it.
    package var since: Int64?
  }

  /// The next changes to be sent or verified.
  package struct Sendability: Hashable, Sendable {
    /// When the oldest of them was accepted.
    package var oldestAt: Int64
    /// The time since which one of them is not waiting for its own next attempt.
    package var since: Int64

    package init(oldestAt: Int64, since: Int64) { (self.oldestAt, self.since) = (oldestAt, since) }
  }

  /// An error with its time.
  package struct Failure: Hashable, Sendable {
    package var code: String
    package var message: String
    package var at: Int64
  }

  /// The process that syncs the store, or did so last.
  package struct Driver: Hashable, Sendable {
    package var pid: Int64
    package var host: String
    /// Whether it runs and does its work.
    package var isLive: Bool
    /// Since when it has been running without doing its work; nil if it does it, or has ended.
    package var stalledSince: Int64?
    /// The program, and since when it has synced without a break; nil where an earlier version did not store it.
    package var program: String?
    package var since: Int64?
  }

  /// Changes that were dropped, counted by operations.
  package struct Dropped: Hashable, Sendable {
    /// Local changes that a policy, a merge rule or the app's resolver dropped, never a person, and that no person has
    /// seen yet. They count also once the record was edited and they can no longer be undone.
    package var unseen = 0
    /// Operations with dropped or overwritten values, here or on the server, that can still be undone.
    package var total = 0
    /// The number of the last dropped change that a person has seen.
    package var seenThrough: Int64 = 0
  }

  package var generatedAt: Int64
  package var state = State.idle
  package var reason = ""
  /// Whether everything is paused.
  package var isPaused: Bool { pauses.contains { $0.rule == .everything } }
  /// The pause rules in effect.
  package var pauses: [Pause] = []
  package var lastSuccessAt: Int64?
  package var lastEnqueueAt: Int64?
  package var nextActionAt: Int64?
  package var nextAction: String?
  package var driver: Driver?
  package var progress: Progress?
  package var queue = Queue()
  /// The numbers of dropped changes, and of those that no person has seen.
  package var dropped = Dropped()
  package var recordsByType: [String: Int] = [:]
  package var recordsByZone: [String: Int] = [:]
  package var identity: String?
  /// The reason why the account cannot be used; nil if it can, as far as known.
  package var accountProblem: Failure?
  /// The page on which the user can sign in; nil where the server named none.
  package var signInURL: String?
  /// The reason why no request reaches the server; nil if the last one did.
  package var networkProblem: Failure?
  /// Since when no request gets through.
  package var networkDownSince: Int64?
  /// The reason why saves are rejected for lack of storage; nil if they are not.
  package var quotaProblem: Failure?
  /// The most frequent cause of failed operations; nil if none failed.
  package var topFailure: FailureSummary?
  /// Whether the last sync was rejected because its credential belongs to another user.
  package var isRefused = false
  package var throttles: [Throttle] = []
  package var lastError: Failure?
  /// The reason why the app rejected the latest changes; nil if it did not.
  package var deliveryProblem: Failure?
  /// Deletions on the server that are on hold.
  package var heldDeletions: [HeldDeletions] = []
  /// Zones and record types that the server does not let us read.
  package var unreadable: [Unreadable] = []
  /// The sums of the last 24 hours.
  package var lastDay = Throughput(at: 0)
  /// The stored settings.
  package var settings = OutcomeSettings()
  /// Saves and conflicts that wait for the app, because no syncing process can ask it.
  package var savesForApp = 0
  package var conflictsForApp = 0
  /// Whether there is a store.
  package var hasStore = true
  /// The changes that can be sent or verified now; nil if none can.
  package var sendable: Sendability?
  /// Whether a change can be sent or verified now.
  package var canSendNow: Bool { sendable != nil }
  /// Whether a change can be sent or verified, now or once waits for time or the network are over.
  package var canSendLater = false
  /// The end of the longest wait that the server asked for a single change.
  package var changeThrottledUntil: Int64?
  /// Whether saves wait for the app, because no syncing process can ask it.
  package var savesWaitForApp = false
  /// The number of records not yet delivered to the app.
  package var undelivered = 0
  /// Whether the last sync fetched all changes to the end after the last change accepted by then.
  package var reachedEnd = false
  /// Whether no sync has succeeded since the last error.
  package var errorStands = false

  /// Why nothing can be written to the store; nil if it can, as far as is known.
  package var storageTrouble: StorageTrouble?
  /// Since when the server owes the syncing process a reply, if that is longer than usual.
  package var silentSince: Int64?
  /// Milliseconds between two polls of the syncing process; nil if it does not poll.
  package var pollInterval: Int64?
  /// Milliseconds for which a full sync counts while no process polls.
  package var freshFor = Self.standardFreshness
  /// The time at which the signs of the syncing process are to be looked at again; nil if time alone changes nothing.
  package var looksAgainAt: Int64?

  /// A day.
  package static let standardFreshness: Int64 = 86_400_000

  package init(generatedAt: Int64) { self.generatedAt = generatedAt }

  /// The status while there is no store.
  package init(neverSyncedAt now: Int64) {
    self.init(generatedAt: now)
    (reason, hasStore) = ("never synced", false)
  }

  /// Seconds since all changes had been fetched: the local copy is at most that old. Nil before the first time.
  package var age: Double? { lastSuccessAt.map { Double(max(0, generatedAt - $0)) / 1000 } }

  /// A short text about the deletions on hold; nil if there are none.
  package var heldSummary: String? {
    guard let first = heldDeletions.first else { return nil }
    let records = heldDeletions.reduce(0) { $0 + $1.records }
    let zones = heldDeletions.count == 1 ? "zone \(first.zone.zone)" : "\(heldDeletions.count) zones"
    return "\(records) \(records == 1 ? "deletion" : "deletions") in \(zones) on hold"
  }

  /// The number of operations in a state that no pause rule applies to.
  ///
  /// - Parameter isMeant: the zones to count; nil for all.
  package func unpaused(_ state: OperationState, in isMeant: ((ZoneKey) -> Bool)? = nil) -> Int {
    queue.parts.reduce(0) { count, part in
      guard part.state == state, isMeant?(part.zone) ?? true else { return count }
      let isPaused = pauses.first(holding: part.zone, type: part.type.isEmpty ? nil : part.type) != nil
      return isPaused ? count : count + part.count
    }
  }

  package var recordCount: Int { recordsByType.values.reduce(0, +) }

  /// The time after which the last full sync no longer counts: three polls of a syncing process, or `freshFor` without
  /// one. Nil before the first full sync.
  package var freshUntil: Int64? {
    let polls = isSyncing ? pollInterval.map { 3 * $0 } : nil
    return lastSuccessAt.map { $0 + (polls ?? freshFor) }
  }

  /// Whether the last full sync no longer counts.
  package var isTooOld: Bool { freshUntil.map { $0 < generatedAt } ?? false }

  /// The next time at which the verdict may change although nothing is written to the store.
  package var changesAt: Int64? {
    let ends = throttles.map(\.until) + [nextActionAt, changeThrottledUntil, looksAgainAt].compactMap(\.self)
    let ages = [freshUntil.map { $0 + 1 }].compactMap(\.self)
    return (ends + ages).filter { $0 > generatedAt }.min()
  }

  /// Whether the queue is empty, there is no problem and no hold, and all changes were fetched after the last one was
  /// accepted, and not too long ago.
  package var isInSync: Bool {
    guard queue.total == 0, !errorStands, reachedEnd, accountProblem == nil, heldDeletions.isEmpty, unreadable.isEmpty,
      storageTrouble == nil, driver?.stalledSince == nil, !isTooOld, let lastSuccessAt
    else { return false }
    switch state {
    case .offline, .error, .paused: return false
    case .idle, .sending, .fetching, .waiting: return lastSuccessAt >= lastEnqueueAt ?? 0
    }
  }
}

/// Operations of one state, zone and type.
package struct QueuePart: Hashable, Sendable {
  package var state: OperationState
  package var zone: ZoneKey
  /// Empty for zone operations, and for deletes of unknown records.
  package var type: String
  package var count: Int
  package var bytes: Int

  package init(state: OperationState, zone: ZoneKey, type: String, count: Int, bytes: Int) {
    self.state = state
    self.zone = zone
    self.type = type
    self.count = count
    self.bytes = bytes
  }
}

/// An operation in a list, without its payload.
package struct QueueRow: Hashable, Sendable, Identifiable {
  package var id: Int64
  /// Changes with the operation; a decision about it applies to one version. In a conflict it is the conflict's
  /// version.
  package var version: String
  package var kind: OperationKind
  package var key: RecordKey
  package var type: String?
  package var state: OperationState
  package var cause: Cause
  package var attempts: Int
  package var maxAttempts: Int
  package var nextAttemptAt: Int64?
  package var blockedBy: [Int64]
  package var errorCode: String?
  package var errorMessage: String?
  package var bytes: Int
  package var enqueuedAt: Int64
  /// The operation's atomic group.
  package var group: String?
  /// Whether a retry creates its zone again, which the server has deleted.
  package var recreatesZone = false
}

/// Failed or retrying operations that share a cause.
package struct QueueCause: Hashable, Identifiable, Sendable {
  package var id: String { filter }
  package var state: OperationState
  package var code: String?
  /// The server's message, with `…` for the names that it quotes.
  package var message: String?
  /// The cause of one of them.
  package var cause: Cause
  package var count: Int
  /// The oldest of them.
  package var first: Int64
  package var oldestAt: Int64
  /// The earliest next attempt; nil where they failed, or where their back-offs are over.
  package var nextAttemptAt: Int64?

  /// An expression that selects these operations.
  package var filter: String
  /// The zones that a retry of them creates again, because the server has deleted them.
  package var recreated: [String] = []

  init(
    state: OperationState,
    code: String?,
    message: String?,
    cause: Cause,
    count: Int,
    first: Int64,
    oldestAt: Int64,
    nextAttemptAt: Int64?
  ) {
    (self.state, self.code, self.message, self.cause, self.count) = (state, code, message, cause, count)
    (self.first, self.oldestAt, self.nextAttemptAt) = (first, oldestAt, nextAttemptAt)
    func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }
    let error = code.map { "error = \(quoted($0))" } ?? "error is null"
    let text = message.map { "message like \(quoted($0.replacing("…", with: "%")))" } ?? "message is null"
    filter = state == .failed ? "state = 'failed' and \(error) and \(text)" : "state = 'retrying' and \(error)"
  }
}

/// The most frequent cause of failed operations.
package struct FailureSummary: Hashable, Sendable {
  /// The cause of one of them.
  package var cause: Cause
  package var code: String?
  /// The server's message, with `…` for the names that it quotes.
  package var message: String?
  /// The operations with this cause.
  package var count: Int
  /// The failed operations with other causes.
  package var more: Int
  /// Whether both numbers count all failed operations, not only the newest 250.
  package var isWhole: Bool
  /// Whether the server rejects a field of a save, which an edit of that field cures.
  package var isFieldRejected: Bool
}

/// A failed attempt to send an operation.
package struct Attempt: Hashable, Sendable {
  package var number: Int
  package var at: Int64
  package var seconds: Double
  package var code: String?
  package var message: String?
  /// The raw reply, cut to 4 KB.
  package var response: String?
}

/// The ending of an operation that is no longer in the queue.
package struct HistoryEntry: Hashable, Sendable {
  package var id: Int64
  package var kind: OperationKind
  package var key: RecordKey
  package var type: String?
  package var ending: Ending
  package var cause: Cause
  package var enqueuedAt: Int64
  package var endedAt: Int64
  package var enqueuedBy: ProgramID?
}

/// Everything about one operation, live or ended.
package struct OperationDetail: Hashable, Sendable {
  /// Nil once it has ended.
  package var operation: QueuedOperation?
  package var server: MirrorRecord?
  /// Newest first.
  package var attempts: [Attempt]
  /// Its ending, if it has ended.
  package var history: HistoryEntry?
  /// The changes of it that were dropped, oldest first.
  package var dropped: [DroppedChange] = []
  /// Whether a retry creates its zone again, which the server has deleted.
  package var recreatesZone = false
}

/// A record of the mirror with pending edits applied.
package struct RecordRow: Hashable, Sendable {
  package var record: MirrorRecord
  /// The server's change tag; nil if the record is not on the server yet.
  package var changeTag: String?
  /// The queued operation of this record, if any.
  package var operation: Int64?
  package var operationState: OperationState?
}

/// A zone in the list of zones.
package struct ZoneRow: Hashable, Identifiable, Sendable {
  package var id: ZoneKey { key }
  package var key: ZoneKey
  package var state: String
  package var records: Int
  /// The queued changes by state.
  package var queued: [OperationState: Int] = [:]
  package var tokenAt: Int64?
  package var lastFetchAt: Int64?
  /// The deletions on hold; nil if there are none.
  package var held: HeldDeletions?
  /// Whether a rule pauses sending to the zone.
  package var isPaused = false
  /// Whether the server denies access to the zone.
  package var isDenied = false
  /// The fetch in progress or still to come; nil if the local copy has all changes that the server reported.
  package var fetch: Fetch?

  package struct Fetch: Hashable, Sendable {
    /// Whether all records are fetched, not only what changed.
    package var isOfAll: Bool
    /// The changes read so far. The server does not say how many there are.
    package var fetched: Int
  }
}

/// An entry of the event log.
package struct EventRow: Hashable, Identifiable, Sendable {
  package var id: Int64
  package var at: Int64
  package var event: Event
  /// The operation that it is about, or the one operation that a command was about.
  package var operation: Int64?
  package var zone: String?
  /// Who caused it, where a person did.
  package var actor: String?

  package init(
    id: Int64,
    at: Int64,
    event: Event,
    operation: Int64? = nil,
    zone: String? = nil,
    actor: String? = nil
  ) {
    (self.id, self.at, self.event) = (id, at, event)
    (self.operation, self.zone, self.actor) = (operation, zone, actor)
  }

  package var kind: String { event.kind }
  /// The event in words.
  package var message: String { event.text }
  /// The event in words, as screens begin them.
  package var sentence: String { event.sentence }
}
