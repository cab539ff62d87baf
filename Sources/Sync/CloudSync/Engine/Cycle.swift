import CloudKit
import Facts

/// One sync cycle: its lease, its results so far, and the state of its loop. Confined to the engine's actor.
final class Cycle {
  /// The condition for full scans without a change feed.
  enum FullScans {
    case never
    /// If the last one is older than the interval.
    case whenDue
    case always
  }

  let engine: SyncEngine
  let session: Session
  let lease: Lease
  /// The requests that this cycle serves and finishes.
  let requests: SyncRequests
  /// Whether an operator released what waits for the app.
  let isWithoutApp: Bool
  /// The store's settings, as found by this cycle.
  var settings = OutcomeSettings.standard
  var summary = SyncSummary()
  var rate = Rate()
  /// Whether deletes were sent since the last fetch.
  var hasSentDeletes = false
  /// Whether something was sent between two pages of the last fetch.
  var hasSentMeanwhile = false
  /// Whether sending stopped because it was time to fetch.
  var hasMoreToSend = false
  /// Whether a change feed has more pages, which come after the others had their turn.
  var hasMoreToFetch = false
  /// The changed zones of a page of the database's change feed that is not written yet.
  var unwrittenZones: [ZoneKey] = []
  /// The last error of a record with a value that does not fit its type.
  var misfit: WebServicesError?
  /// Fetched pages that were followed by others.
  var pages = 0
  /// The length of each feed that has not ended.
  var feedLengths: [WaitScope: FeedLength] = [:]
  /// Whether the server took the requests for those of another user than the store's.
  var isOtherUser = false
  /// Whether the cycle must stop because of a pause, a wait, or a sign-in.
  var isInterrupted = false

  init(_ engine: SyncEngine, _ session: Session, _ lease: Lease, _ requests: SyncRequests, isWithoutApp: Bool = false) {
    (self.engine, self.session, self.lease, self.requests) = (engine, session, lease, requests)
    self.isWithoutApp = isWithoutApp || requests.isWithoutApp
  }

  var store: SyncStore { engine.store }
  var configuration: SyncEngine.Configuration { engine.configuration }
  var client: WebServicesClient { engine.client }
  var database: DatabaseName { engine.database }
  /// Whether this process sends saves, as far as the app is concerned.
  var maySendSaves: Bool { engine.asksBeforeSending || isWithoutApp }
  /// The policy for merges inside a transaction. Conflicts for the app stay open.
  var merging: MergePolicy { settings.merging(isWithoutApp: isWithoutApp && configuration.conflictResolver == nil) }

  // MARK: - The cycle

  /// Sends everything that can be sent now, and fetches all changes to the end.
  ///
  /// - Parameters:
  ///   - fullScans: whether to look for deletions by full scans without a change feed.
  ///   - endsBackOffs: whether to end our own back-offs first, because a person requested the sync.
  ///   - rest: called in the last transaction, to record that the engine is idle.
  func run(
    fullScans: FullScans,
    endsBackOffs: Bool,
    rest: (SyncSummary, Ledger, _ now: Int64) throws -> Void = { _, _, _ in }
  ) async throws -> SyncSummary {
    settings = try store.settings().completed
    engine.broadcast.send(.syncBegan)
    let heart = beat()
    defer {
      heart?.cancel()
      lease.shown.end()
      lease.joined.removeAll()
      noteInterruption()
      publishHolds()
      engine.broadcast.send(.syncEnded(summary))
    }
    var completion: SyncStore.Completion?
    do {
      completion = try await exchange(fullScans: fullScans, endsBackOffs: endsBackOffs)
    } catch let error as WebServicesError {
      try await stop(for: error)
    }
    summary.waitForApp = try waitingForApp()
    try store.endSync(completion, summary, serving: requests.ids, lease) { try rest(summary, $0, $1) }
    // No error that ends: the store keeps it among what cannot be read.
    summary.lastItemError = summary.lastItemError ?? misfit
    return summary
  }

  /// The maximum number of rounds after everything was sent; conflicts and blocked records take a few.
  private static let roundLimit = 30

  /// - Returns: nil if the cycle was interrupted.
  private func exchange(fullScans: FullScans, endsBackOffs: Bool) async throws -> SyncStore.Completion? {
    try await engine.notingRefusal { try await authenticate(endsBackOffs: endsBackOffs) }
    if isInterrupted { return nil }
    // Only after the authentication are the changes known to be this user's.
    if endsBackOffs { _ = try store.flush(actor: nil) }
    try engine.takeSettings(session)
    settings = try store.settings().completed
    var fetchBeganAt = store.now()
    var isComplete = try await fetch(types: requests.types, fullScans: fullScans)
    if isInterrupted { return nil }
    try await confirmUser()
    var hasSent = try await send()
    var rounds = 0
    // The change feeds return what was sent, and fetched changes may leave merged records to send. The number of rounds
    // is limited in case another client writes all the time.
    while !isInterrupted, rounds < Self.roundLimit, hasSent || hasSentMeanwhile || hasSentDeletes || hasMoreToFetch {
      if !hasMoreToSend, !hasMoreToFetch { rounds += 1 }
      fetchBeganAt = store.now()
      // A delete may cascade by `DELETE_SELF`, which only a change feed or a full scan shows, so look for that after
      // the last one.
      let mayHaveDeletedMore = hasSentDeletes && !hasMoreToSend
      if mayHaveDeletedMore { hasSentDeletes = false }
      hasSentMeanwhile = false
      isComplete = try await fetch(types: [], fullScans: mayHaveDeletedMore ? fullScans : .never)
      hasSent = try await send()
    }
    if isInterrupted { return nil }
    // Without a known type nothing is known of the server's records.
    isComplete = isComplete && !store.knowsNoTypes
    try store.removeUnneededAssets(amongAll: !session.hasRemovedUnneededAssets)
    session.hasRemovedUnneededAssets = true
    summary.reachedEnd = try isComplete && store.unreadable().isEmpty
    return .init(fetchBeganAt: fetchBeganAt, isComplete: isComplete)
  }

  /// Records the error that stopped the cycle.
  private func stop(for error: WebServicesError) async throws {
    if Task.isCancelled {
      // We cancelled it; the network is not at fault.
      try store.write(lease) { ledger, _ in try ledger.changeActivity { $0.reachedEnd = false } }
      throw CancellationError()
    }
    summary.error = error
    // After a sign-in the next cycle finds out the user; there is no need to back off.
    if isOtherSignIn { return }
    try store.record(error, random: configuration.random(), lease)
    // A credential that the server rejects signs in no user, so the wrong account is not the problem.
    if error.code.disposition == .wait(.account) { try store.noteRefusal(isOtherUser) }
    if !client.isSignedIn, engine.identity == nil { try await signedOut(hasLeft: client.hasSignedOut) }
  }

  /// Logs the end of a sync that an error of the store or a cancellation cut short, if the log has its start.
  private func noteInterruption() {
    guard case .logged = lease.oneSync.value else { return lease.oneSync.set(.none) }
    try? store.write(lease) { ledger, now in try ledger.logEnd(summary, .interrupted, now: now) }
  }

  private func publishHolds() {
    guard let held = try? store.heldDeletions() else { return }
    for deletions in held where !session.publishedHolds.contains(deletions) {
      engine.broadcast.send(.deletionsHeld(deletions))
    }
    session.publishedHolds = held
  }

  /// Counts the changes that still wait for the app; nil if there are none.
  private func waitingForApp() throws(StoreError) -> Int? {
    let saves = maySendSaves ? 0 : try store.savesForApp()
    let left = try saves + (configuration.conflictResolver != nil || isWithoutApp ? 0 : store.conflictsForApp())
    return left > 0 ? left : nil
  }
}
