package import CloudKit
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
    public var fullScanInterval: Double
    /// The number of pages fetched in a row while there is something to send, and of requests sent before the next
    /// fetch, so that neither direction holds up the other for long.
    package var turn = (pages: 25, requests: 100)
    /// The number of pages fetched of one change feed before all others have their turn, so that one that is long or
    /// never ends holds up none. A first fetch of a million records takes five such turns.
    package var feedTurn = 1000
    /// The number of pages of one sync after which a feed that has still more is taken to be endless, and backs off.
    package var pageLimit = 100_000
    /// The same for the list of changed zones. A database has far fewer zones than records.
    var zoneListLimit = FeedLength.Limit(pages: 1000, milliseconds: 600_000)
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
      fullScanInterval: Double = 300,
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
      self.fullScanInterval = fullScanInterval
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
  let session = Session()
  var driving: Task<Void, any Error>?
  /// The engine's lock, held or on standby.
  var lock: (any EngineLock)?
  /// The error that stopped the engine.
  var fatalError: (any Error)?
  var delivering: Task<Void, any Error>?
  let overdue = OverdueCalls()
  let overdueResolvers = OverdueCalls()
  /// The number of overdue calls of the app that may still run while it is asked about another record.
  static let overdueLimit = 7
  /// Whether an operator released what waits for the app for every sync cycle of this engine.
  var isAlwaysWithoutApp = false
  nonisolated let deliveryWakeup = Wakeup()

  package init(store: SyncStore, _ configuration: Configuration, delegate: (any SyncEngineDelegate)? = nil) {
    self.store = store
    self.configuration = configuration
    store.attemptLimit.withLock { $0 = max(1, configuration.attemptLimit) }
    store.origin = configuration.origin
    store.credential.withLock { $0 = configuration.requestCredential }
    self.delegate = delegate
  }

  nonisolated var client: WebServicesClient { configuration.client }

  /// The user, as far as the credential shows; nil if only the server knows. After a sign-in an anonymous user becomes
  /// known.
  nonisolated var identity: String? {
    let isUser = client.isSignedIn || client.hasSignedOut
    return configuration.identity == SyncStore.anonymous && isUser ? nil : configuration.identity
  }

  nonisolated var database: DatabaseName { store.scope.database }
  nonisolated var typeOrder: TypeOrder { TypeOrder(delegate?.recordTypesInDependencyOrder ?? []) }

  /// Runs one sync cycle as one that the log has by itself, and rests; see `Cycle.run`.
  func runSync(
    _ lease: Lease,
    serving requests: SyncRequests = SyncRequests(),
    fullScans: Cycle.FullScans = .always,
    endsBackOffs: Bool = false
  ) async throws -> SyncSummary {
    lease.oneSync.set(.unlogged(startedAt: store.now()))
    return try await Cycle(self, session, lease, requests, isWithoutApp: isAlwaysWithoutApp)
      .run(fullScans: fullScans, endsBackOffs: endsBackOffs) { _, ledger, now in try lease.rest(ledger, now: now) }
  }
}

/// The state that an engine keeps between sync cycles: its user, its app and the server. Confined to its actor.
final class Session {
  var hasAuthenticated = false
  /// The sign-in that was verified as the store's user.
  var authenticatedSignIn: Int?
  /// The store's user at that verification.
  var authenticatedOwner: String?
  /// Whether the sign-out of the store's user has been published.
  var isSignedOut = false
  /// Whether the app has been asked what to do with the queue.
  var hasAskedForPolicy = false
  var hasRemovedUnneededAssets = false
  /// Assets in a row on which the server failed.
  var assetsGivenUp = 0
  /// The subscriptions that the server was seen to hold, and the time of that.
  var subscribed: (identifiers: Set<String>, at: Int64)?
  var subscriptionsRefusedAt: Int64?
  /// The deletions on hold, as last published.
  var publishedHolds: [HeldDeletions] = []
  /// Versions of operations that the delegate has seen.
  var approvals: [Int64: Int64] = [:]
  /// Whether conflicts are left that the app is asked about after an overdue call has ended.
  var asksLater = false
  /// Whether the engine's settings were stored or found to be stored since it was last asked to sync.
  var hasTakenSettings = false
  /// Whether an operator's release is still to be written to the audit log, once the store's user is known.
  var auditsRelease = false
}
