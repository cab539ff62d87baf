import CloudKit
import Dispatch
import Foundation

/// Syncing a store: once, or until cancelled.
extension SyncEngine {
  /// Syncs now: in this process, or by waiting for a sync of the live process that holds the lease. Our own back-offs
  /// are ended first; a server's wait is kept.
  ///
  /// - Parameter isWithoutApp: whether to release what waits for the app, as an operator's command.
  package func syncOnce(types: [String] = [], isWithoutApp: Bool = false) async throws -> SyncSummary {
    try checkSettings()
    session.auditsRelease = isWithoutApp
    let alone = { [self] (lease: Lease) in try await syncAlone(lease, types, isWithoutApp: isWithoutApp) }
    if let lease = try Lease.acquire(store) { return try await alone(lease) }
    // Another user's sync ends no back-off and is not passed to the syncing process.
    let isOurs = try await notingRefusal { try await knowsOwner() }
    if isOurs { try takeSettings(session) }
    if try isOurs || store.owner() == nil { _ = try store.flush(actor: nil) }
    // Only the store's user may release what waits for the app.
    let request = try store.requestSync(types, isWithoutApp: isWithoutApp && isOurs)
    // A separate one, because an engine in this process may sleep on `wakeup`, which wakes one sleeper.
    let wakeup = Wakeup()
    let watcher = watch(wakeup)
    defer { _ = watcher }
    let patience = store.now() + Lease.duration
    var takesOverUntil: Int64?
    while true {
      try Task.checkCancellation()
      switch try store.requestState(request) {
      case .finished(let summary):
        // The other process left something that this one can ask its app about: take over once the other is idle.
        let end = takesOverUntil ?? store.now() + Lease.duration
        takesOverUntil = end
        guard summary.waitForApp != nil, asksApp, store.now() <= end else { return summary }
        if let lease = try Lease.acquire(store, holderIsSilent: true) { return try await alone(lease) }
      case .started:
        break
      case .requested where store.now() > patience:
        // The holder has its lock but does not react: it is suspended or hangs.
        if let lease = try Lease.acquire(store, holderIsSilent: true) { return try await alone(lease) }
      case .requested:
        break
      }
      // A process that died during a sync left its lock free.
      if let lease = try Lease.acquire(store) { return try await alone(lease) }
      await wakeup.sleep(.milliseconds(200))
    }
  }

  /// Rejects another user's credential before another process is asked to sync. Asks the server only if the store does
  /// not know the credential.
  ///
  /// - Returns: false if the owner is still unknown; the other process reports that.
  private func knowsOwner() async throws -> Bool {
    if try store.knows(credential) { return true }
    // Do not ask while the server has throttled the database.
    guard try store.serversWait() == nil, try store.serversWait(in: .account) == nil else { return false }
    do {
      try await rejectWrongAccount()
      return try !store.isUnknown(Sender(user: identity, credential: credential)) || store.owner() != nil
    } catch is WebServicesError {
      return false
    }
  }

  private func syncAlone(_ lease: Lease, _ types: [String], isWithoutApp: Bool) async throws -> SyncSummary {
    defer { lease.release(store) }
    try store.finishInterrupted(lease)
    try store.shortenWaits(lease)
    var requests = try store.startSync(recovers: true, asksApp: asksApp, lease)
    requests.types = types + requests.types
    requests.isWithoutApp = isWithoutApp || requests.isWithoutApp
    return try await runSync(lease, serving: requests, endsBackOffs: true)
  }

  /// Syncs until cancelled: sends queued changes, fetches changes that pushes announce, polls, and serves syncs that
  /// other processes request. On standby while another process syncs.
  ///
  /// - Parameters:
  ///   - isWithoutApp: whether to release what waits for the app while this process syncs, as an operator's command.
  ///   - storageChanged: called when the store cannot be used and the engine waits for it, with the reason, and with nil
  ///     when it can be used again.
  package func syncContinuously(
    types: [String] = [],
    isWithoutApp: Bool = false,
    storageChanged: @Sendable (StoreError?) -> Void = { _ in }
  ) async throws {
    isAlwaysWithoutApp = isWithoutApp
    // The trouble must not outlast the syncing, even if the engine is kept.
    defer { lock?.report(nil) }
    var hasStarted = false
    var hasChecked = false
    let watcher = watch(wakeup)
    defer { _ = watcher }
    let lookout = watchPlace()
    defer { lookout.cancel() }
    let inbox = PushInbox()
    var listening: Task<Void, Never>?
    defer { listening?.cancel() }
    var network: Task<Void, Never>?
    defer { network?.cancel() }
    var lease: Lease?
    defer {
      if let lease {
        try? store.noteSyncing(.stopped, lease)
        lease.release(store)
      }
    }
    var restingUntil: Int64??
    var isOurs = false
    var polls = PollClock(configuration)
    var patience = Duration.seconds(1)
    var wasBroken = false
    var obstacle: StoreError?
    while !Task.isCancelled {
      do {
        try requireInPlace()
        if !hasStarted {
          try checkSettings()
          session.auditsRelease = isWithoutApp
        }
        hasStarted = true
        guard let held = lease else {
          restingUntil = nil
          let taken = try await standBy()
          if let taken {
            try store.finishInterrupted(taken)
            try store.recoverInFlight(asksApp: asksApp, taken)
            try store.noteSyncing(.started, taken)
            if !hasChecked { checkContents() }
            hasChecked = true
          }
          lease = taken
          continue
        }
        held.takeLock()
        if wasBroken {
          try store.recoverInFlight(held)
          // Fetch at once what the server has changed meanwhile.
          polls = PollClock(configuration)
        }
        wasBroken = false
        if listening == nil { listening = listen(inbox) }
        try store.shortenWaits(held)
        let isDue = polls.isDue(at: store.now(), isPushed: inbox.isListening)
        let next = try outlook(pollIsDue: isDue || inbox.isFull)
        if case .work = next {
          restingUntil = nil
          // A push from here on causes one more sync.
          inbox.empty()
          var requests = try store.startSync(held)
          requests.types = types + requests.types
          // Full scans have an interval of their own, because syncs for pushes and queued changes postpone polls.
          let sweeps: Cycle.Sweeps = requests.ids.isEmpty ? .whenDue : .always
          let summary: SyncSummary
          do {
            summary = try await runSync(held, serving: requests, sweeps: sweeps)
          } catch let error as StoreError where error.kind == .otherUser && isOurs {
            try await cycle(held).park(error)
            continue
          }
          isOurs = true
          if summary.error != nil { inbox.fill() }
          if isDue || summary.reachedEnd {
            polls.polled(at: store.now(), reachedEnd: summary.reachedEnd)
          } else {
            // The change that a push announced did not arrive, and no other push will announce it.
            polls.distrustPush()
          }
          if configuration.pushes != nil, try await !cycle(held).subscribe() { polls.distrustPush() }
        } else {
          let end = next.end(nextPoll: polls.next(isPushed: inbox.isListening))
          // Processes on standby need to know the end; nothing else is written while idle.
          if restingUntil != .some(end) {
            try held.rest(store, until: end, pollInterval: polls.interval(isPushed: inbox.isListening))
          }
          restingUntil = .some(end)
          // Only while there is none: otherwise a change of an address would wake the engine for nothing.
          if try store.lacksNetwork() {
            network = network ?? awaitNetwork()
          } else {
            network?.cancel()
            network = nil
          }
          let left = end.map { Duration.milliseconds(max(1, $0 - store.now())) }
          // Without a watch of the system the store has to be polled.
          await wakeup.sleep(watcher == nil ? .milliseconds(250) : left)
        }
        patience = .seconds(1)
        if obstacle != nil {
          // A small write may fit on a disk that is full.
          lock?.report(nil)
          if let trouble = store.storage.trouble {
            lock?.report(trouble)
          } else {
            storageChanged(nil)
            obstacle = nil
          }
        }
      } catch let error as StoreError where error.passes {
        // A full disk or a locked file: nothing was changed, so try again. The outcome of a request may not have been
        // written.
        wasBroken = true
        lock?.report(error.trouble)
        if obstacle != error { storageChanged(error) }
        obstacle = error
        await wakeup.sleep(patience)
        patience = min(patience * 2, Self.longestPatience)
      } catch let error as StoreError where error.kind == .fenced {
        // Release the lock first, so that the new holder gets it before processes on standby ask for it.
        lease?.letGo()
        lease = nil
        try? await Task.sleep(for: .seconds(1))
        listening?.cancel()
        network?.cancel()
        (listening, network) = (nil, nil)
      } catch is CancellationError {
        // An inner task was cancelled; cancelling ours ends the loop.
        if !Task.isCancelled { await wakeup.sleep(patience) }
      }
    }
  }

  /// The longest time between two tries to use a store that cannot be written: a person waits for the end of it.
  private static let longestPatience = Duration.seconds(5)

  /// Determines what there is to do. Only reads: an idle engine writes nothing.
  func outlook(pollIsDue: Bool) throws(StoreError) -> Outlook {
    if try store.hasSyncRequest() { return .work }
    if pollIsDue, try store.mayRequest() { return .work }
    let (workload, planner) = try store.workload(savesMayGo: asksBeforeSending || isAlwaysWithoutApp)
    guard case .rest(let end) = planner.plan(workload) else { return .work }
    let isHeld = workload.isPaused || workload.waits.contains { $0.key.stopsAll }
    return isHeld ? .held(until: end) : .rest(until: end)
  }

  /// Looks for damage in the store in the background, once for each process that syncs.
  private func checkContents() {
    let storage = store.storage
    DispatchQueue.global(qos: .background).async { try? storage.checkContents() }
  }

  private func watch(_ wakeup: Wakeup) -> StoreWatcher? {
    StoreWatcher(store, queue: .global()) { wakeup.wake() }
  }
}

/// The engine's next activity.
enum Outlook {
  case work
  /// Polls wait as well; nil while everything is paused.
  case held(until: Int64?)
  /// The end of the next back-off or wait, if any.
  case rest(until: Int64?)

  /// The time of the next activity that needs no event.
  func end(nextPoll: Int64) -> Int64? {
    switch self {
    case .work: nextPoll
    case .held(let end): end
    case .rest(let end): min(nextPoll, end ?? nextPoll)
    }
  }
}

/// The result of a requested sync, with its errors.
private struct FinishedSync: Codable {
  struct Failure: Codable {
    var code: String
    var reason: String
    var retryAfter: Double?

    init(_ error: WebServicesError) {
      (code, reason, retryAfter) = (error.code.name, error.reason, error.retryAfter)
    }

    var error: WebServicesError { WebServicesError(ServerErrorCode(code), reason, retryAfter: retryAfter) }
  }

  var summary: SyncSummary
  var error: Failure?
  var itemError: Failure?

  init(_ summary: SyncSummary) {
    self.summary = summary
    (error, itemError) = (summary.error.map(Failure.init), summary.lastItemError.map(Failure.init))
  }

  var whole: SyncSummary {
    var whole = summary
    (whole.error, whole.lastItemError) = (error?.error, itemError?.error)
    return whole
  }
}

/// The requests that a sync serves.
struct SyncRequests: Sendable {
  var ids: [Int64] = []
  /// Record types to poll without a change feed, in addition to the known ones.
  var types: [String] = []
  /// Whether an operator released what waits for the app.
  var isWithoutApp = false
}

/// Syncs that other processes request.
extension SyncStore {
  enum RequestState {
    case requested
    case started
    case finished(SyncSummary)
  }

  /// Requests a sync from the syncing process, without waiting for it.
  package func askForSync() throws(StoreError) {
    _ = try requestSync([])
  }

  /// - Parameter isWithoutApp: whether to release what waits for the app.
  func requestSync(_ types: [String], isWithoutApp: Bool = false) throws(StoreError) -> Int64 {
    let now = now()
    return try write { ledger in
      let id = try ledger.insertRequest(requestedAt: now, types: types)
      if isWithoutApp { try ledger.setValue(Self.releaseKey(id), "1") }
      return id
    }
  }

  /// The key that marks a requested sync as one without the app.
  private static func releaseKey(_ pass: Int64) -> String { "without app \(pass)" }

  func requestState(_ id: Int64) throws(StoreError) -> RequestState {
    try read { ledger in
      guard let pass = try ledger.request(id) else { return .finished(SyncSummary()) }
      if let summary = pass.summary, pass.finishedAt != nil {
        return .finished(try JSONDecoder().decode(FinishedSync.self, from: Data(summary.utf8)).whole)
      }
      return pass.startedAt == nil ? .requested : .started
    }
  }

  func hasSyncRequest() throws(StoreError) -> Bool {
    try read { try !$0.openRequests().isEmpty }
  }

  /// Starts a sync, which serves all requests at once.
  ///
  /// - Parameters:
  ///   - recovers: whether to recover first what another engine may have left in flight.
  ///   - asksApp: as for `recoverInFlight`.
  func startSync(recovers: Bool = false, asksApp: Bool = false, _ lease: Lease) throws(StoreError) -> SyncRequests {
    try write(lease) { ledger, now in
      if recovers { _ = try Self.recoverInFlight(asksApp: asksApp, lease, ledger) }
      try Self.noteTime(now, ledger)
      let passes = try ledger.openRequests()
      for var pass in passes where pass.startedAt == nil {
        pass.startedAt = now
        try ledger.replace(pass)
      }
      let isWithoutApp = try passes.contains { try ledger.value(Self.releaseKey($0.id)) != nil }
      return SyncRequests(ids: passes.map(\.id), types: passes.flatMap(\.types), isWithoutApp: isWithoutApp)
    }
  }

  static func finish(_ requests: [Int64], _ summary: SyncSummary, now: Int64, _ ledger: Ledger) throws {
    guard !requests.isEmpty else { return }
    let text = String(decoding: try JSONEncoder().encode(FinishedSync(summary)), as: UTF8.self)
    for id in requests {
      guard var pass = try ledger.request(id) else { continue }
      pass.finishedAt = now
      pass.summary = text
      try ledger.replace(pass)
      try ledger.setValue(releaseKey(id), nil)
    }
    // Their requesters have read old results by now.
    try ledger.removeRequests(finishedBefore: now - 3_600_000)
  }
}
