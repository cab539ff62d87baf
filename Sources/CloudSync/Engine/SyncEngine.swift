public import CloudKit
import Facts
import Foundation
import NetworkShim
import Synchronization

/// Keeps a CloudKit database and a store on this machine in sync: sends queued changes and fetches those of others.
///
/// ```swift
/// let engine = try SyncEngine(SyncEngine.Configuration(container: container), delegate: delegate)
/// await engine.start()
/// try engine.save([record])             // on disk when this returns
/// ```
///
/// The planner decides what to send, one request at a time, with a transaction before and after each. All state is in
/// the store: after a crash the engine continues from there.
public actor SyncEngine {
  /// The engine's settings and dependencies; tests and simulations pass their own time and randomness.
  public struct Configuration: Sendable {
    package var client: WebServicesClient
    /// The transport for asset files; nil for the client's own.
    package var assetTransport: (any CKAssetTransport)?
    /// Decides which side wins if both changed the same field. Nil: the stored policy, which is `server` unless an
    /// earlier sync stored another.
    public var policy: ConflictPolicy?
    /// The rules for merging fields that both sides changed, unless the change has its own. Nil: the stored rules.
    public var mergeRules: MergeRules?
    /// The guard that puts mass deletions on the server on hold until a person decides. Nil: the stored guard, at first
    /// `DeletionGuard()`. ``DeletionGuard/off`` turns it off. See ``SyncEngine/heldDeletions()``.
    public var deletionGuard: DeletionGuard?
    /// Whether `policy`, `mergeRules` and `deletionGuard`, if set, replace the stored values for every process that
    /// syncs the store. Otherwise a sync throws a `StoreError` if they differ. An engine without an approving delegate
    /// or a resolver then also removes the setting that the store waits for the app.
    public var replacesStored: Bool
    /// Resolves conflicts in place of the policy. The store remembers that the app resolves them: a process without a
    /// resolver leaves conflicts open.
    public var conflictResolver: ConflictResolver?
    /// The time limit for the resolver.
    package var conflictPatience: Duration
    /// The user, as far as the credential shows; nil if only the server knows.
    package var identity: String?
    package var random: @Sendable () -> Double
    /// The interval for renewing the lease during long work; nil if time is simulated.
    package var heartbeat: Duration?
    /// The number of failed attempts after which a change becomes a dead letter, for changes that this process queues
    /// from now on; at least one. Waiting for the network, the account, the quota or because the server asked for it is
    /// no attempt, and a permanent error fails at once. With the default of 8 a change is retried for some minutes.
    public var attemptLimit = QueuedOperation.defaultAttemptLimit
    /// Seconds between syncs if no push announces changes.
    public var pollInterval: Double
    /// Seconds between syncs while pushes arrive, for changes that no push announced.
    public var watchdogInterval: Double
    /// Seconds between full scans for deletions in zones without a change feed.
    public var sweepInterval: Double
    /// The number of pages fetched in a row while there is something to send, and of requests sent before the next
    /// fetch, so that neither direction holds up the other for long.
    package var turn = (pages: 25, requests: 100)
    /// The number of pages fetched of one change feed before all others have their turn, so that one that is long or
    /// never ends holds up none. A first fetch of a million records takes five such turns.
    package var feedTurn = 1000
    /// The number of pages of one sync after which a feed that has still more is taken to be endless, and backs off.
    package var pageLimit = 100_000
    /// The time limit in seconds for each call of the delegate.
    public var delegatePatience: Double
    /// Identifies a sign-in, such as a hash of the configured token; nil if there is none.
    package var signIn: String?
    /// Whether to take over the store of another user, with its queued changes.
    package var takesOver = false
    /// The conflict policy that replaces the stored one, as an operator's command; nil: none.
    package var replacingPolicy: ConflictPolicy?
    /// The source of push notifications; nil if there is none.
    package var pushes: CKNotificationSequence?
    /// Reports whether the network can be used: its present state, then each change. Asked while requests wait because
    /// of network errors.
    package var network: @Sendable () -> AsyncStream<Bool> = NWPathMonitor.reports
    /// The database from which asset files are downloaded; nil if there is none.
    package var origin: CKDatabase?
    /// The owner of the store if the credential does not show the user; set when the store is opened.
    var owner: String?
    /// The file of the store, if the engine opens it: that of the first user, beside which other users have theirs.
    package var location: (path: String, scope: SyncStore.Scope)?

    package init(
      client: WebServicesClient,
      assetTransport: (any CKAssetTransport)? = nil,
      policy: ConflictPolicy? = nil,
      mergeRules: MergeRules? = nil,
      deletionGuard: DeletionGuard? = nil,
      replacesStored: Bool = false,
      conflictResolver: ConflictResolver? = nil,
      conflictPatience: Duration = .seconds(5),
      identity: String? = nil,
      random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
      heartbeat: Duration? = .milliseconds(Lease.duration * 2 / 5),
      pollInterval: Double = 30,
      watchdogInterval: Double = 300,
      sweepInterval: Double = 300,
      delegatePatience: Double = 30,
      pushes: CKNotificationSequence? = nil
    ) {
      self.client = client
      self.assetTransport = assetTransport
      self.policy = policy
      self.mergeRules = mergeRules
      self.deletionGuard = deletionGuard
      self.replacesStored = replacesStored
      self.conflictResolver = conflictResolver
      self.conflictPatience = conflictPatience
      self.identity = identity
      self.random = random
      self.heartbeat = heartbeat
      self.pollInterval = pollInterval
      self.watchdogInterval = watchdogInterval
      self.sweepInterval = sweepInterval
      self.delegatePatience = delegatePatience
      self.pushes = pushes
    }
  }

  /// The store, which any number of processes may open.
  public nonisolated let store: SyncStore
  package nonisolated let configuration: Configuration
  /// Retained as long as the engine lives.
  nonisolated let delegate: (any SyncEngineDelegate)?
  nonisolated let wakeup = Wakeup()
  nonisolated let broadcast = Broadcast<SyncEvent>()
  var rate = Rate()
  var hasAuthenticated = false
  var hasSweptAssets = false
  /// Assets in a row on which the server failed.
  var assetsGivenUp = 0
  /// The sign-in that was verified as the store's user.
  var authenticatedSignIn: Int?
  /// The store's user at that verification.
  var authenticatedOwner: String?
  /// Whether the sign-out of the store's user has been published.
  var isSignedOut = false
  /// Whether the app has been asked what to do with the queue.
  var hasAskedForPolicy = false
  /// The subscriptions that the server was seen to hold, and the time of that.
  var subscribed: (identifiers: Set<String>, at: Int64)?
  var subscriptionsRefusedAt: Int64?
  var driving: Task<Void, any Error>?
  /// The engine's lock, held or on standby.
  var lock: (any EngineLock)?
  /// The pages of each change feed in its turns of this sync cycle.
  var feedPages: [WaitScope: Int] = [:]
  /// The deletions on hold, as last published.
  var toldHeld: [HeldDeletions] = []
  /// The error that stopped the engine.
  var fatalError: (any Error)?
  var delivering: Task<Void, any Error>?
  /// Versions of operations that the delegate has seen.
  var approvals: [Int64: Int64] = [:]
  let overdue = OverdueCalls()
  let overdueResolvers = OverdueCalls()
  /// The store's settings, as this sync cycle found them.
  var settings = OutcomeSettings.standard
  /// Whether this engine's settings were stored or found to be stored since it was last asked to sync.
  var hasTakenSettings = false
  /// Whether an operator released what waits for the app, in this sync cycle.
  var isWithoutApp = false
  /// Whether the release is still to be written to the audit log, once the store's user is known.
  var auditsRelease = false
  /// Whether that holds for every sync cycle of this engine.
  var isAlwaysWithoutApp = false
  /// Wakes the delivery loop.
  nonisolated let deliveryWakeup = Wakeup()

  package init(store: SyncStore, _ configuration: Configuration, delegate: (any SyncEngineDelegate)? = nil) {
    self.store = store
    self.configuration = configuration
    store.attemptLimit.withLock { $0 = max(1, configuration.attemptLimit) }
    store.origin = configuration.origin
    self.delegate = delegate
  }

  var client: WebServicesClient { configuration.client }

  /// The user, as far as the credential shows; nil if only the server knows. After a sign-in an anonymous user becomes
  /// known.
  var identity: String? {
    let isUser = client.isSignedIn || client.hasSignedOut
    return configuration.identity == SyncStore.nobody && isUser ? nil : configuration.identity
  }

  var database: DatabaseName { store.scope.database }
  var typeOrder: TypeOrder { TypeOrder(delegate?.recordTypesInDependencyOrder ?? []) }

  // MARK: - One sync

  /// Runs one sync: sends everything that can be sent now, and fetches all changes to the end.
  ///
  /// - Parameters:
  ///   - requests: the requests that it serves and finishes.
  ///   - sweeps: whether to look for deletions by full scans without a change feed.
  ///   - endsBackOffs: whether to end our own back-offs first, because a person requested the sync.
  func runSync(
    _ lease: Lease,
    serving requests: SyncRequests = SyncRequests(),
    sweeps: Sweeps = .always,
    endsBackOffs: Bool = false
  ) async throws -> SyncSummary {
    let startedAt = store.now()
    var summary = SyncSummary()
    summary.askedTypes = requests.types
    feedPages = [:]
    settings = try store.settings().completed
    isWithoutApp = requests.isWithoutApp || isAlwaysWithoutApp
    broadcast.send(.syncBegan)
    let heart = beat(lease)
    defer {
      heart?.cancel()
      lease.shown.end()
      isWithoutApp = isAlwaysWithoutApp
      tellHeld()
      broadcast.send(.syncEnded(summary))
    }
    var completion: SyncStore.Completion?
    do {
      try await notingRefusal { try await authenticate(lease, endsBackOffs: endsBackOffs) }
      // Only after the authentication are the changes known to be this user's.
      if endsBackOffs { _ = try store.flush(actor: nil) }
      try takeSettings()
      var readAt = store.now()
      var isComplete = try await fetch(lease, types: requests.types, sweeps: sweeps, &summary)
      if summary.requests == 0 {
        // There was nothing to fetch; find out whether the server accepts us all the same.
        let client = client
        let database = database
        _ = try await request(lease) { () async throws(WebServicesError) in try await client.listZones(in: database) }
        summary.requests += 1
      }
      if !hasAuthenticated, let identity {
        // The server has accepted our credential, so the store belongs to this user from now on.
        try store.adopt(identity: identity, signIn: credential, takesOver: configuration.takesOver, lease)
        (hasAuthenticated, authenticatedOwner) = (true, identity)
      }
      var hasSent = try await send(lease, &summary)
      var rounds = 0
      // The change feeds return what was sent, and fetched changes may leave merged records to send. The number of
      // rounds is limited in case another client writes all the time.
      while rounds < Self.roundLimit,
        hasSent || summary.hasSentMeanwhile || summary.hasSentDeletes || summary.hasMoreToFetch
      {
        if !summary.hasMoreToSend, !summary.hasMoreToFetch { rounds += 1 }
        readAt = store.now()
        // A delete may cascade by `DELETE_SELF`, which only a change feed or a full scan shows, so look for that after
        // the last one.
        let mayHaveTakenMore = summary.hasSentDeletes && !summary.hasMoreToSend
        if mayHaveTakenMore { summary.hasSentDeletes = false }
        summary.hasSentMeanwhile = false
        isComplete = try await fetch(lease, types: [], sweeps: mayHaveTakenMore ? sweeps : .never, &summary)
        hasSent = try await send(lease, &summary)
      }
      // Without a known type nothing is known of the server's records.
      isComplete = isComplete && !store.knowsNoTypes && !summary.hasMisfits
      if summary.sent > 0 || !hasSweptAssets { try store.sweepAssets() }
      hasSweptAssets = true
      summary.reachedEnd = try isComplete && store.unreadable().isEmpty
      completion = .init(readAt: readAt, isComplete: isComplete, error: summary.lastItemError)
    } catch let error as WebServicesError {
      if Task.isCancelled {
        // We cancelled it; the network is not at fault.
        try store.syncInterrupted(lease)
        throw CancellationError()
      }
      summary.error = error
      if isOtherSignIn {
        // The next sync finds out the user; there is no need to back off.
        try store.syncInterrupted(lease)
      } else {
        try store.record(error, random: configuration.random(), lease)
        // Nobody is signed in with a credential that the server does not accept.
        if error.code.disposition == .wait(.account) { try store.noteRefusal(false) }
        if !client.isSignedIn, identity == nil {
          try await signedOut(lease, hasLeft: client.hasSignedOut)
        }
      }
    } catch is Interrupted {
      // Paused or throttled: nothing failed.
      try store.syncInterrupted(error: summary.lastItemError, lease)
    }
    let seconds = Double(store.now() - startedAt) / 1000
    summary.waitForApp = try waitingForApp()
    try store.endSync(completion, summary.event(seconds: seconds), serving: requests.ids, summary, lease)
    return summary
  }

  /// The maximum number of rounds after everything was sent; conflicts and blocked records take a few.
  private static let roundLimit = 30

  private func tellHeld() {
    guard let held = try? store.heldDeletions() else { return }
    for deletions in held where !toldHeld.contains(deletions) { broadcast.send(.deletionsHeld(deletions)) }
    toldHeld = held
  }

  /// The condition for full scans without a change feed.
  enum Sweeps {
    case never
    /// If the last one is older than the interval.
    case whenDue
    case always
  }

  /// The current sync must stop because of a pause or a wait.
  struct Interrupted: Error {}

  /// Verifies once per session that this store belongs to the user. A user named by the credential becomes the owner
  /// after the first successful reply, not if the server rejects the credential.
  private func authenticate(_ lease: Lease, endsBackOffs: Bool) async throws {
    if try !store.mayRequest(endsBackOffs: endsBackOffs) { throw Interrupted() }
    let signIn = client.signIn
    // Another process may have taken over the store since.
    if try signIn != authenticatedSignIn || store.owner() != authenticatedOwner { hasAuthenticated = false }
    guard !hasAuthenticated else { return }
    authenticatedSignIn = signIn
    if !configuration.takesOver { try store.check(Sender(user: identity, credential: credential)) }
    guard identity == nil else {
      // The credential is that of the store's user; whatever fails from here on has another cause.
      try store.noteRefusal(false)
      return
    }
    lease.shown.start(.fetching)
    let client = client
    let caller = try await request(lease) { () async throws(WebServicesError) in try await client.caller() }
    try store.adopt(
      identity: caller.userRecordName,
      signIn: credential,
      takesOver: configuration.takesOver,
      lease
    )
    (hasAuthenticated, authenticatedOwner) = (true, caller.userRecordName)
    isSignedOut = false
    hasAskedForPolicy = false
  }

  // MARK: - Requests

  /// Runs a request.
  func request<Value: Sendable>(
    _ lease: Lease,
    _ body: @Sendable () async throws(WebServicesError) -> Value
  ) async throws(WebServicesError) -> Value {
    try await timed(lease, body).0.get()
  }

  /// Runs a request and measures its time.
  ///
  /// The request is only made as the user who was verified as the store's owner. If another user signs in meanwhile,
  /// its reply is discarded.
  func timed<Value: Sendable>(
    _ lease: Lease,
    _ body: @Sendable () async throws(WebServicesError) -> Value
  ) async -> (Result<Value, WebServicesError>, Double) {
    if isOtherSignIn { return (.failure(.otherSignIn(.notSent)), 0) }
    let start = ContinuousClock.now
    lease.shown.requestBegan(at: store.now())
    defer { lease.shown.requestEnded() }
    var result = await Self.result(as: authenticatedSignIn, body)
    if case .success = result, isOtherSignIn { result = .failure(.otherSignIn(.unknown)) }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    return (result, seconds)
  }

  /// Runs a request that is only made while this sign-in holds.
  static func result<Value: Sendable>(
    as signIn: Int?,
    _ body: @Sendable () async throws(WebServicesError) -> Value
  ) async -> Result<Value, WebServicesError> {
    await WebServicesClient.$requiredSignIn.withValue(signIn) {
      do throws(WebServicesError) { return .success(try await body()) } catch { return .failure(error) }
    }
  }

  /// Whether a user signed in or out since the last verification.
  var isOtherSignIn: Bool { authenticatedSignIn.map { $0 != client.signIn } ?? false }

  /// Renews the lease until cancelled, and publishes a new activity soon, whatever the sync waits for.
  func beat(_ lease: Lease) -> Task<Void, Never>? {
    guard let pause = configuration.heartbeat else { return nil }
    let store = store
    return Task.detached {
      var last = ContinuousClock.now
      while true {
        try? await Task.sleep(for: min(pause, .milliseconds(250)))
        guard !Task.isCancelled else { return }
        lease.shown.noteSilence(at: store.now())
        guard lease.shown.unpublished != nil || last.duration(to: .now) >= pause else { continue }
        try? lease.renew(store)
        last = .now
      }
    }
  }
}

/// The results of a sync.
public struct SyncSummary: Sendable, Hashable, Codable {
  /// Changes that the server accepted.
  public package(set) var sent = 0
  /// Changes that became dead letters.
  public package(set) var failed = 0
  /// Records that were added or changed.
  public package(set) var fetched = 0
  /// Records that were deleted.
  public package(set) var deleted = 0
  /// Requests made.
  public package(set) var requests = 0
  /// Whether all changes were fetched to the end and nothing more could be sent.
  public package(set) var reachedEnd = false
  /// Requested record types that the server does not know.
  package var unknownTypes: [String] = []
  /// Changes that wait for the app, because the process of this sync could not ask it; nil if there are none.
  public package(set) var waitForApp: Int?
  package var error: WebServicesError?
  package var lastItemError: WebServicesError?
  /// Record types that this sync was requested to fetch.
  var askedTypes: [String] = []
  /// Whether deletes were sent since the last fetch.
  var hasSentDeletes = false
  /// Whether something was sent between two pages of the last fetch.
  var hasSentMeanwhile = false
  /// Whether sending stopped because it was time to fetch.
  var hasMoreToSend = false
  /// Whether a change feed has more pages, which come after the others had their turn.
  var hasMoreToFetch = false
  /// Whether a fetched record could not be stored, because of a value that does not fit its type.
  var hasMisfits = false
  /// Fetched pages that were followed by others.
  var pages = 0

  package init() {}

  /// Adds the results of a sync of another database.
  package mutating func add(_ other: SyncSummary) {
    sent += other.sent
    failed += other.failed
    fetched += other.fetched
    deleted += other.deleted
    requests += other.requests
    reachedEnd = reachedEnd && other.reachedEnd
    waitForApp = [waitForApp, other.waitForApp].compactMap(\.self).reduce(0, +)
    if waitForApp == 0 { waitForApp = nil }
    lastItemError = lastItemError ?? other.lastItemError
  }

  /// Notes a record that could not be stored.
  mutating func note(_ effect: SyncStore.PageEffect) {
    guard let misfit = effect.misfit else { return }
    lastItemError = misfit
    hasMisfits = true
  }

  /// The event of a sync that took so long; nil where nothing was changed.
  func event(seconds: Double) -> Event? {
    guard sent + failed + fetched + deleted > 0 else { return nil }
    return .synced(sent: sent, fetched: fetched, deleted: deleted, failed: failed, seconds: seconds)
  }

  /// The error that stopped the sync; nil if it reached its end or is waiting.
  public var failure: CKError? { error.map { CKError(stopping: $0) } }

  /// The last error that did not stop the sync: of a single change, a zone's change feed or a polled query. That change
  /// is retried or failed for good; the feed is fetched again by a later sync, and `reachedEnd` is false.
  public var itemFailure: CKError? { lastItemError.map { CKError(ofItem: $0) } }

  private enum CodingKeys: String, CodingKey { case sent, failed, fetched, deleted, requests, reachedEnd, waitForApp }
}
