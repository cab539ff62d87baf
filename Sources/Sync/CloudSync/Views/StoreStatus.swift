package import Facts

/// The status of a store, for `status` and the dashboard.
package struct StoreStatus: Hashable, Sendable {
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

    /// The number of operations in a state.
    package func count(of state: OperationState) -> Int {
      switch state {
      case .pending: pending
      case .inFlight: inFlight
      case .waiting: waiting
      case .failed: failed
      case .paused: paused
      case .conflict: conflicts
      }
    }

    /// How many operations there are in each state, in words; empty without any.
    package var words: String {
      OperationState.allCases.filter { count(of: $0) > 0 }.map { state in
        // The one state that is a noun.
        let ending = state == .conflict && count(of: state) > 1 ? "s" : ""
        return "\(count(of: state)) \(Words.state(state.rawValue))\(ending)"
      }
      .joined(separator: ", ")
    }

    /// The number of operations that wait for no person.
    package var going: Int { pending + inFlight + waiting }
    /// The number of operations that `retry` would change.
    package var retryable: Int { failed + waiting }
  }

  /// An error with its time.
  package struct Failure: Hashable, Sendable {
    package var code: String
    package var message: String
    package var at: Int64
  }

  /// The process that syncs the store, or did so last.
  package struct SyncingProcess: Hashable, Sendable {
    package var pid: Int64
    package var host: String
    /// Whether it runs and does its work.
    package var isLive: Bool
    /// Since when it has been running without doing its work; nil if it does it, or has ended.
    package var stalledSince: Int64?
    /// Whether a signal has stopped it: then it goes on when it gets SIGCONT.
    package var isStopped = false
    /// Its systemd unit, where it does not do its work; nil if a person started it.
    package var unit: String?
    /// The program, and since when it has synced without a break.
    package var program: String?
    package var since: Int64?
    /// The end of its lease; nil while it sleeps.
    package var leaseEndsAt: Int64?
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
  /// The current activity of the syncing process.
  package var activity = SyncStore.Activity.idle
  package var isPaused: Bool { pauses.ofEverything != nil }
  package var pauses: [Pause] = []
  package var lastSuccessAt: Int64?
  package var lastEnqueueAt: Int64?
  /// The earliest next attempt of an operation in back-off.
  package var nextRetryAt: Int64?
  package var syncingProcess: SyncingProcess?
  package var progress: Progress?
  package var queue = Queue()
  /// The numbers of dropped changes, and of those that no person has seen.
  package var dropped = Dropped()
  package var recordsByType: [String: Int] = [:]
  package var recordsByZone: [String: Int] = [:]
  package var identity: String?
  /// Whether the store was synced with an API token alone, without a user.
  package var isAnonymous: Bool { identity == SyncStore.anonymous }

  /// Whether the store, or what is queued in it, belongs to a user.
  package var isOwned = false

  /// Whether the store can be synced with a credential, by its name in the JSON: an API token alone does not sign in the
  /// store's user.
  package func accepts(_ credential: String?) -> Bool {
    credential != nil && !(credential == SyncStore.anonymous && isOwned)
  }

  /// The reason why the account cannot be used; nil if it can, as far as known.
  package var accountProblem: ScopeWait?
  /// The page on which the user can sign in; nil where the server named none.
  package var signInURL: String?
  /// The reason why no request reaches the server; nil if the last one did.
  package var networkProblem: ScopeWait?
  /// The reason why saves are rejected for lack of storage; nil if they are not.
  package var quotaProblem: ScopeWait?
  /// The most frequent cause of failed operations; nil if none failed.
  package var topFailure: FailureSummary?
  /// Whether the last sync was rejected because its credential belongs to another user.
  package var isRefused = false
  /// The waits that have not ended.
  package var throttles: [ScopeWait] = []
  /// The latest error, until a request of its scope succeeds.
  package var lastError: Failure?
  /// The reason why the app rejected the latest changes; nil if it did not.
  package var deliveryProblem: Failure?
  /// Deletions on the server that are on hold.
  package var heldDeletions: [HeldDeletions] = []
  /// Zones and record types that the server does not let us read.
  package var unreadable: [Unreadable] = []
  /// Polled record types whose queries the server rejects.
  package var rejectedQueries: [RejectedQuery] = []
  /// The sums of the last 24 hours.
  package var lastDay = Throughput(at: 0)
  package var settings = OutcomeSettings()
  /// Saves and conflicts that wait for the app, because no syncing process can ask it.
  package var savesForApp = 0
  package var conflictsForApp = 0
  /// Whether there is a store.
  package var hasStore = true
  /// The path at which there is none, for messages.
  package var missingPath: String?
  /// The time since which one of the changes to be sent or verified next is not waiting for its own next attempt; nil
  /// if none can be sent or verified now.
  package var sendableSince: Int64?
  /// Whether a change can be sent or verified, now or once waits for time or the network are over.
  package var canSendLater = false
  /// Whether work on many rows that a decision began is still to be finished, which the next sync does.
  package var hasChores = false
  /// The end of the longest wait that the server asked for a single change.
  package var changeThrottledUntil: Int64?
  /// The number of records not yet delivered to the app.
  package var undelivered = 0
  /// Whether the last sync fetched all changes to the end after the last change accepted by then.
  package var reachedEnd = false
  /// Whether no sync has succeeded since the last error.
  package var errorStands = false

  /// Why nothing can be written to the store; nil if it can, as far as is known.
  package var storageTrouble: StorageTrouble?
  /// Whether a process that is to sync waits until the store can be written.
  package var isStorageAwaited = false
  /// Since when the server owes the syncing process a reply, if that is longer than usual.
  package var silentSince: Int64?
  /// Milliseconds between two polls of the syncing process; nil if it does not poll.
  package var pollInterval: Int64?
  /// Milliseconds by which the clock was set ahead since the syncing process wrote last: all that it stored is that
  /// much younger than it looks.
  package var clockShift: Int64 = 0
  /// Milliseconds for which a full sync counts while no process polls.
  package var freshFor = Self.standardFreshness
  /// The time at which the signs of the syncing process are to be looked at again; nil if time alone changes nothing.
  package var looksAgainAt: Int64?

  package static let standardFreshness = SystemClock.day

  package init(generatedAt: Int64) { self.generatedAt = generatedAt }

  /// The status while there is no store.
  package init(neverSyncedAt now: Int64, missingAt path: String? = nil) {
    self.init(generatedAt: now)
    (hasStore, missingPath) = (false, path)
  }

  /// Seconds since all changes had been fetched: the local copy is at most that old. Nil before the first time.
  package var age: Double? { lastSuccessAt.map { Double(max(0, generatedAt - $0)) / 1000 } }

  /// The number of operations in a state that no pause rule applies to.
  package func unpaused(_ state: OperationState) -> Int {
    queue.parts.reduce(0) { $1.state == state && !isPaused($1) ? $0 + $1.count : $0 }
  }

  /// The number of operations that are being sent, or that no rule and no wait of their own keeps from it.
  var leftToSend: Int { unpaused(.pending) + unpaused(.inFlight) }

  /// Whether a pause rule applies to a part of the queue.
  func isPaused(_ part: QueuePart) -> Bool {
    var scope = SendScope(now: generatedAt)
    scope.pauses = pauses
    return scope.eligibility(of: Candidate(kind: .save, zone: part.zone, type: part.type)) != .now
  }

  package var recordCount: Int { recordsByType.values.reduce(0, +) }

  /// The time after which the last full sync no longer counts: three polls of a syncing process, or `freshFor` without
  /// one. Nil before the first full sync.
  package var freshUntil: Int64? {
    let polls = isSyncing ? pollInterval.map { 3 * $0 } : nil
    return lastSuccessAt.map { $0 + clockShift + (polls ?? freshFor) }
  }

  /// Whether the last full sync no longer counts.
  package var isTooOld: Bool { freshUntil.map { $0 < generatedAt } ?? false }

  /// The time of the next request that a wait puts off; nil if none does.
  package var nextActionAt: Int64? {
    let stops = throttles.filter(\.scope.stopsAll).map(\.until).max()
    return isPaused ? nil : stops ?? (throttles.map(\.until) + [nextRetryAt].compactMap(\.self)).min()
  }

  /// The next time at which the verdict may change although nothing is written to the store.
  package var changesAt: Int64? {
    let ends = throttles.map(\.until) + [nextRetryAt, changeThrottledUntil, looksAgainAt].compactMap(\.self)
    let ages = [freshUntil.map { $0 + 1 }].compactMap(\.self)
    return (ends + ages).filter { $0 > generatedAt }.min()
  }
}
