public import CloudKit
import Facts
import Foundation

/// Keeps a database of CloudKit and a store on this machine the same: sends what is queued, brings what others changed.
///
/// ```swift
/// let engine = try SyncEngine(SyncEngine.Configuration(container: container), delegate: delegate)
/// await engine.start()
/// try engine.save([record])             // on disk when this returns
/// ```
///
/// It carries out what the planner decides: one request at a time, each between what is written before and after it. The engine
/// holds nothing that matters. Whatever it was doing when it died, the store says what is to be done next.
public actor SyncEngine {
  /// What the engine needs of the world; handed in, so that tests and simulations own time and chance.
  public struct Configuration: Sendable {
    package var client: WebServicesClient
    /// How the files of assets travel; nil for the client's own way.
    package var assetTransport: (any CKAssetTransport)?
    /// Who wins where both sides changed the same field. Nil: the policy of the store, which is `server` unless an earlier sync
    /// stored another.
    public var policy: ConflictPolicy?
    /// How fields are merged that both sides changed, of which a change does not say it itself. Nil: the rules of the store.
    public var mergeRules: MergeRules?
    /// Which deletions on the server are kept on hold until a person decides. Nil: the guard of the store, at first
    /// `DeletionGuard()`. ``DeletionGuard/off`` turns it off. See ``SyncEngine/heldDeletions()``.
    public var deletionGuard: DeletionGuard?
    /// Whether `policy`, `mergeRules` and `deletionGuard`, where they are set, replace the values of the store, for every
    /// process that syncs it. Otherwise a sync throws a `StoreError` where they differ. With it an engine without a delegate
    /// that is asked, or without a resolver, also takes back that the store waits for the app.
    public var replacesStored: Bool
    /// Asked about what both sides changed, in place of the policy. The store keeps that it is asked: a process without it
    /// leaves such conflicts open.
    public var conflictResolver: ConflictResolver?
    /// How long its answer is waited for.
    package var conflictPatience: Duration
    /// Who we are to the server as far as the credential tells; nil where the server has to say.
    package var identity: String?
    package var random: @Sendable () -> Double
    /// How often the lease is renewed while something takes; nil: not at all, for time passes by hand.
    package var heartbeat: Duration?
    /// Seconds between passes while driving, where no push announces anything.
    public var pollInterval: Double
    /// Seconds between passes while pushes come in: what no push announced is older than that at no time.
    public var watchdogInterval: Double
    /// Seconds between sweeps for deletions where there is no change feed, while driving.
    public var sweepInterval: Double
    /// Pages that are read in a row where there is something to be sent, and requests that are sent before what others
    /// changed is read: neither direction holds the other up for long.
    package var turn = (pages: 25, requests: 100)
    /// Seconds that the delegate is given for one answer.
    public var delegatePatience: Double
    /// What tells sign-ins apart, such as a hash of the token that a person configured; nil: nothing.
    package var signIn: String?
    /// Whether the store of another user becomes this one's, with the changes that are queued.
    package var takesOver = false
    /// The conflict policy that replaces the stored one, as an operator's command; nil: none.
    package var replacingPolicy: ConflictPolicy?
    /// Where pushes come in; nil: nowhere.
    package var pushes: CKNotificationSequence?
    /// Where the files of assets are downloaded from that records of the store have; nil: from nowhere.
    var origin: CKDatabase?
    /// The user whose store is meant, where the credential does not tell; it is theirs from the moment it is opened.
    var owner: String?
    /// The file of the store where the engine is to open it: that of whoever came first, beside which others have theirs.
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

  /// Where everything is kept; open to any number of processes.
  public nonisolated let store: SyncStore
  nonisolated let configuration: Configuration
  /// Kept as long as the engine lives.
  nonisolated let delegate: (any SyncEngineDelegate)?
  nonisolated let wakeup = Wakeup()
  nonisolated let broadcast = EventBroadcast()
  var rate = Rate()
  var hasAuthenticated = false
  var hasSweptAssets = false
  /// Assets in a row over which the server failed.
  var assetsGivenUp = 0
  /// The sign-in that was found to be the store's user.
  var authenticatedSignIn: Int?
  /// The store's user when it was found to be ours.
  var authenticatedOwner: String?
  /// Everybody has been told that the store's user is signed out.
  var isSignedOut = false
  /// The app has been asked what becomes of the queue.
  var hasAskedForPolicy = false
  /// The subscriptions that the server was seen to hold, and when.
  var subscribed: (identifiers: Set<String>, at: Int64)?
  var subscriptionsRefusedAt: Int64?
  var driving: Task<Void, any Error>?
  /// The lock with which this engine drives, or stands by.
  var lock: (any DriverLock)?
  /// What is held back, as everybody has been told.
  var toldHeld: [HeldDeletions] = []
  /// What ended syncing by itself.
  var fatalError: (any Error)?
  var delivering: Task<Void, any Error>?
  /// Versions of operations that the delegate has seen.
  var approvals: [Int64: Int64] = [:]
  let overdue = OverdueCalls()
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
  /// Wakes what delivers.
  nonisolated let deliveryWakeup = Wakeup()

  package init(store: SyncStore, _ configuration: Configuration, delegate: (any SyncEngineDelegate)? = nil) {
    self.store = store
    self.configuration = configuration
    self.delegate = delegate
  }

  var client: WebServicesClient { configuration.client }

  /// Who we are as far as the credential tells; nil where the server has to say. Nobody is somebody once they signed in.
  var identity: String? {
    let isUser = client.isSignedIn || client.hasSignedOut
    return configuration.identity == SyncStore.nobody && isUser ? nil : configuration.identity
  }

  var database: DatabaseName { store.scope.database }
  var typeOrder: TypeOrder { TypeOrder(delegate?.recordTypesInDependencyOrder ?? []) }

  // MARK: - One pass

  /// A pass: everything that can be sent now is sent, every feed is read to its end.
  ///
  /// - Parameters:
  ///   - types: record types to read where there is no change feed, besides those already known.
  ///   - sweeps: whether deletions are looked for there, which reads every record's name.
  ///   - isWithoutApp: whether an operator released what waits for the app.
  ///   - endsBackOffs: whether a person asked for it, for whom no back-off of our own is waited for.
  func pass(
    _ lease: Lease,
    types: [String] = [],
    sweeps: Sweeps = .always,
    isWithoutApp: Bool = false,
    endsBackOffs: Bool = false
  ) async throws -> PassSummary {
    let startedAt = store.now()
    var summary = PassSummary()
    summary.askedTypes = types
    settings = try store.settings().completed
    self.isWithoutApp = isWithoutApp || isAlwaysWithoutApp
    broadcast.send(.syncBegan)
    defer {
      self.isWithoutApp = isAlwaysWithoutApp
      tellHeld()
      broadcast.send(.syncEnded(summary))
    }
    do {
      try store.shortenWaits(lease)
      try store.noteTime(lease)
      try await notingRefusal { try await authenticate(lease, endsBackOffs: endsBackOffs) }
      // Only now is it known that the changes are this user's.
      if endsBackOffs { _ = try store.flush(actor: nil) }
      try takeSettings()
      var readAt = store.now()
      var isComplete = try await fetch(lease, types: types, sweeps: sweeps, &summary)
      if summary.requests == 0 {
        // Nothing is known that could be read; whether the server lets us in has to be found out all the same.
        let client = client
        let database = database
        _ = try await request(lease) { () async throws(WebServicesError) in try await client.listZones(in: database) }
        summary.requests += 1
      }
      if !hasAuthenticated, let identity {
        // The server has answered to our credential: from now on the store is this identity's.
        try store.adopt(identity: identity, signIn: credential, takesOver: configuration.takesOver, lease)
        (hasAuthenticated, authenticatedOwner) = (true, identity)
      }
      var hasSent = try await send(lease, &summary)
      var rounds = 0
      // What was sent comes back in the feeds; what comes may leave merged records to be sent.
      // Somebody may write all the time: what else belongs to a pass, and whoever waits for its end, has a turn too.
      while rounds < Self.roundLimit, hasSent || summary.hasSentMeanwhile || summary.hasSentDeletes {
        if !summary.hasMoreToSend { rounds += 1 }
        readAt = store.now()
        // A delete takes along what referred to the record by `DELETE_SELF`, which only a feed or a sweep tells: once all
        // are sent.
        let mayHaveTakenMore = summary.hasSentDeletes && !summary.hasMoreToSend
        if mayHaveTakenMore { summary.hasSentDeletes = false }
        summary.hasSentMeanwhile = false
        isComplete = try await fetch(lease, types: [], sweeps: mayHaveTakenMore ? sweeps : .never, &summary)
        hasSent = try await send(lease, &summary)
      }
      // Without a type to read, nothing is known of what the server holds.
      isComplete = isComplete && !store.knowsNoTypes
      if summary.sent > 0 || !hasSweptAssets { try store.sweepAssets() }
      hasSweptAssets = true
      summary.reachedEnd = try isComplete && store.unreadable().isEmpty
      try store.passEnded(readAt: readAt, isComplete: isComplete, error: summary.lastItemError, lease)
    } catch let error as WebServicesError {
      if Task.isCancelled {
        // Cut short by us: the network is not to blame.
        try store.passInterrupted(lease)
        try store.setActivity(.idle, lease)
        throw CancellationError()
      }
      summary.error = error
      if isOtherSignIn {
        // Who it is now is found out by the next pass, which nothing has to wait for.
        try store.passInterrupted(lease)
      } else {
        try store.record(error, random: configuration.random(), lease)
        if !client.isSignedIn, identity == nil {
          try await signedOut(lease, hasLeft: client.hasSignedOut)
        }
      }
    } catch is Interrupted {
      // Paused, or inside a wait: the store says so, nothing failed.
      try store.passInterrupted(error: summary.lastItemError, lease)
    }
    let seconds = Double(store.now() - startedAt) / 1000
    try store.setActivity(.idle, after: summary.event(seconds: seconds), lease)
    summary.waitForApp = try waitingForApp()
    return summary
  }

  /// Rounds after all was sent, of which conflicts and what waits for other records take a few.
  private static let roundLimit = 30

  private func tellHeld() {
    guard let held = try? store.heldDeletions() else { return }
    for deletions in held where !toldHeld.contains(deletions) { broadcast.send(.deletionsHeld(deletions)) }
    toldHeld = held
  }

  /// When deletions are looked for where there is no change feed.
  enum Sweeps {
    case never
    /// Where the last one is longer ago than the interval.
    case whenDue
    case always
  }

  /// Something that the store already shows forbids going on now.
  struct Interrupted: Error {}

  /// Makes sure that this store is ours to send from, once a session. An identity that the credential names becomes the
  /// store's with the first answer: a key that the server refuses owns nothing.
  private func authenticate(_ lease: Lease, endsBackOffs: Bool) async throws {
    if try !store.mayRequest(endsBackOffs: endsBackOffs) { throw Interrupted() }
    let signIn = client.signIn
    // Another process may have taken the store over since.
    if try signIn != authenticatedSignIn || store.owner() != authenticatedOwner { hasAuthenticated = false }
    guard !hasAuthenticated else { return }
    authenticatedSignIn = signIn
    if !configuration.takesOver { try store.check(Sender(user: identity, credential: credential)) }
    guard identity == nil else { return }
    try store.setActivity(.fetching, lease)
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

  /// Runs a request, keeping the lease alive while it takes.
  func request<Value: Sendable>(
    _ lease: Lease,
    _ body: @Sendable () async throws(WebServicesError) -> Value
  ) async throws(WebServicesError) -> Value {
    try await timed(lease, body).0.get()
  }

  /// Runs a request, keeping the lease alive while it takes, and says how long it took.
  ///
  /// It is made as the user whom this session found to be the store's, or not at all; what is answered to somebody else is
  /// nobody's to write down.
  func timed<Value: Sendable>(
    _ lease: Lease,
    _ body: @Sendable () async throws(WebServicesError) -> Value
  ) async -> (Result<Value, WebServicesError>, Double) {
    if isOtherSignIn { return (.failure(.otherSignIn(.notSent)), 0) }
    let start = ContinuousClock.now
    let heart = beat(lease)
    defer { heart?.cancel() }
    var result: Result<Value, WebServicesError> = await WebServicesClient.$requiredSignIn.withValue(authenticatedSignIn)
    {
      do throws(WebServicesError) { return .success(try await body()) } catch { return .failure(error) }
    }
    if case .success = result, isOtherSignIn { result = .failure(.otherSignIn(.unknown)) }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    return (result, seconds)
  }

  /// Somebody signed in or out since this session found out who it is.
  var isOtherSignIn: Bool { authenticatedSignIn.map { $0 != client.signIn } ?? false }

  /// Keeps the lease alive until cancelled: around whatever may take longer than it lasts.
  func beat(_ lease: Lease) -> Task<Void, Never>? {
    guard let pause = configuration.heartbeat else { return nil }
    let store = store
    return Task.detached {
      while !Task.isCancelled {
        try? await Task.sleep(for: pause)
        if !Task.isCancelled { try? lease.renew(store) }
      }
    }
  }
}

/// What a pass did.
public struct PassSummary: Sendable, Hashable, Codable {
  /// Changes that the server took.
  public package(set) var sent = 0
  /// Changes that became dead letters.
  public package(set) var failed = 0
  /// Records that came or changed.
  public package(set) var fetched = 0
  /// Records that went.
  public package(set) var deleted = 0
  /// Requests made.
  public package(set) var requests = 0
  /// Every feed was read to its end and nothing more could be sent.
  public package(set) var reachedEnd = false
  /// Record types that were to be read and that the server does not know.
  package var unknownTypes: [String] = []
  /// Changes that wait for the app, which the process that made this sync could not ask; nil where there are none.
  public package(set) var waitForApp: Int?
  package var error: WebServicesError?
  package var lastItemError: WebServicesError?
  /// Record types that this sync was asked to read.
  var askedTypes: [String] = []
  /// Deletes went to the server since the feeds were last read.
  var hasSentDeletes = false
  /// Something was sent between two pages of the last reading.
  var hasSentMeanwhile = false
  /// Sending ended for the feeds' turn, not because nothing was left.
  var hasMoreToSend = false
  /// Pages of feeds with others behind them.
  var pages = 0

  package init() {}

  /// The event of a sync that took so long; nil where nothing was changed.
  func event(seconds: Double) -> Event? {
    guard sent + failed + fetched + deleted > 0 else { return nil }
    return .synced(sent: sent, fetched: fetched, deleted: deleted, failed: failed, seconds: seconds)
  }

  /// What stopped the pass; nil where it came to its end, or waits as the store says.
  public var failure: CKError? { error.map { CKError(stopping: $0) } }

  private enum CodingKeys: String, CodingKey { case sent, failed, fetched, deleted, requests, reachedEnd, waitForApp }
}
