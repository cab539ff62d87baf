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
    // One lock for all tries, because opening and closing its file notifies every watcher.
    let candidate = store.storage.engineLock()
    let lease: Lease
    if let free = try Lease.acquire(store, asksApp: asksApp, with: candidate) {
      lease = free
    } else {
      switch try await requestSync(types, isWithoutApp: isWithoutApp, candidate) {
      case .finished(let summary): return summary
      case .tookOver(let taken): lease = taken
      }
    }
    return try await syncAlone(lease, types, isWithoutApp: isWithoutApp)
  }

  /// The end of a requested sync.
  private enum RequestEnd {
    case finished(SyncSummary)
    /// The other process did not serve it, or left something for this one's app.
    case tookOver(Lease)
  }

  /// Requests a sync of the process that holds the lease, and waits for its end.
  private func requestSync(_ types: [String], isWithoutApp: Bool, _ candidate: any EngineLock) async throws
    -> RequestEnd
  {
    // Another user's sync ends no back-off and is not passed to the syncing process.
    let isOurs = try await notingRefusal { try await knowsOwner() }
    if isOurs { try takeSettings(session) }
    if try isOurs || store.owner() == nil { _ = try store.flush(actor: nil) }
    // Only the store's user may release what waits for the app.
    let request = try store.requestSync(types, isWithoutApp: isWithoutApp && isOurs)
    // A separate one, because an engine in this process may sleep on `wakeup`, which wakes one sleeper.
    let wakeup = Wakeup()
    let watcher = StoreWatcher(store, queue: .global(), locks: true) { wakeup.wake() }
    defer { _ = watcher }
    let patience = store.now() + EngineSigns.patienceOfRequest
    var takesOverUntil: Int64?
    while true {
      try Task.checkCancellation()
      let isSilent: Bool
      switch try store.requestState(request) {
      case .finished(let summary):
        // The other process left something that this one can ask its app about: take over once the other is idle.
        let end = takesOverUntil ?? store.now() + Lease.duration
        takesOverUntil = end
        guard summary.waitForApp != nil, asksApp, store.now() <= end else { return .finished(summary) }
        isSilent = true
      // A holder that has its lock but does not react is suspended or hangs.
      case .requested: isSilent = store.now() > patience
      case .started: isSilent = false
      }
      // A process that died during a sync left its lock free.
      if let lease = try Lease.acquire(store, holderIsSilent: isSilent, asksApp: asksApp, with: candidate) {
        return .tookOver(lease)
      }
      // Nothing reports that a holder has become silent.
      await wakeup.sleep(.seconds(1))
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
    try store.finishChores(lease)
    try store.shortenWaits(lease)
    try store.endWaitOfFormerCredential(lease)
    try store.recoverInFlight(lease)
    var requests = try store.startSync(lease)
    requests.types = types + requests.types
    requests.isWithoutApp = isWithoutApp || requests.isWithoutApp
    return try await runSync(lease, serving: requests, endsBackOffs: true)
  }

  /// Syncs until cancelled: sends queued changes, fetches changes that pushes announce, polls, and serves syncs that
  /// other processes request. On standby while another process syncs.
  ///
  /// - Parameters:
  ///   - isWithoutApp: whether to release what waits for the app while this process syncs, as an operator's command.
  ///   - storageChanged: called when the store cannot be used and the engine waits for it, with the reason, and with
  ///     nil when it can be used again.
  package func syncContinuously(
    types: [String] = [],
    isWithoutApp: Bool = false,
    storageChanged: @Sendable (StoreError?) -> Void = { _ in }
  ) async throws {
    isAlwaysWithoutApp = isWithoutApp
    let watcher = watch(wakeup)
    let lookout = watchPlace()
    let loop = SyncLoop(configuration, types: types, isWatched: watcher != nil)
    defer {
      _ = watcher
      lookout.cancel()
      loop.stopListening()
      // The trouble must not outlast the syncing, even if the engine is kept.
      lock?.report(nil)
      if let lease = loop.lease {
        if let line = loop.digest.end() { try? store.write(lease) { ledger, _ in try ledger.add(line) } }
        try? store.noteSyncing(.stopped, lease)
        lease.release(store)
      }
    }
    while !Task.isCancelled {
      do {
        try await step(loop)
        storageWorks(loop, storageChanged)
      } catch let error as StoreError {
        switch Outlook(after: error) {
        case .waitForStorage:
          // The outcome of a request may not have been written.
          loop.wasBroken = true
          loop.lease?.shown.setIdle(nil)
          lock?.report(error.trouble)
          if loop.obstacle != error { storageChanged(error) }
          loop.obstacle = error
          await wakeup.sleep(loop.backOff())
        case .standBy:
          // Release the lock first, so that the new holder gets it before processes on standby ask for it.
          loop.lease?.letGo()
          loop.lease = nil
          // Nothing reports when the new holder has taken the lock.
          try? await Task.sleep(for: .seconds(1))
          loop.stopListening()
        default: throw error
        }
      } catch is CancellationError {
        // An inner task was cancelled; cancelling ours ends the loop.
        if !Task.isCancelled { await wakeup.sleep(loop.patience) }
      }
    }
  }

  /// Stands by, syncs, or rests.
  private func step(_ loop: SyncLoop) async throws {
    try requireInPlace()
    if !loop.hasStarted {
      try checkSettings()
      session.auditsRelease = isAlwaysWithoutApp
    }
    loop.hasStarted = true
    guard let lease = loop.lease else { return try await takeOver(loop) }
    lease.takeLock()
    if loop.wasBroken {
      // A write in any case: nothing is requested before the store can be written.
      try store.write(lease) { ledger, _ in _ = try ledger.recoverInFlight() }
      // Fetch at once what the server has changed meanwhile.
      loop.polls = PollClock(configuration)
    }
    loop.wasBroken = false
    // Before anything is fetched: another process may not have finished those of its command.
    try store.finishChores(lease)
    if loop.listening == nil { loop.listening = listen(loop.inbox) }
    try store.shortenWaits(lease)
    try store.endWaitOfFormerCredential(lease)
    let now = store.now()
    let next = try store.read { try outlook(loop, now: now, $0) }
    if case .work = next { try await sync(lease, loop) } else { try await rest(next, lease, loop) }
    loop.patience = SyncLoop.shortestPatience
  }

  private func takeOver(_ loop: SyncLoop) async throws {
    guard let lease = try await standBy() else { return }
    try store.recoverInFlight(lease)
    try store.noteSyncing(.started, lease)
    if !loop.hasChecked { checkContents() }
    loop.hasChecked = true
    loop.lease = lease
  }

  private func sync(_ lease: Lease, _ loop: SyncLoop) async throws {
    let pollIsDue = loop.polls.isDue(at: store.now(), isPushed: loop.inbox.isListening)
    // A push from here on causes one more sync.
    loop.inbox.empty()
    var requests = try store.startSync(lease)
    requests.types = loop.types + requests.types
    // Full scans have an interval of their own, because syncs for pushes and queued changes postpone polls.
    let fullScans: Cycle.FullScans = requests.ids.isEmpty ? .whenDue : .always
    let cycle = Cycle(self, session, lease, requests, isWithoutApp: isAlwaysWithoutApp)
    let startedAt = store.now()
    var digest = loop.digest
    do {
      _ = try await cycle.run(fullScans: fullScans, endsBackOffs: false) { summary, ledger, now in
        loop.synced(summary, pollWasDue: pollIsDue, at: now)
        if let line = digest.add(summary, from: startedAt, isAsked: !requests.ids.isEmpty, now: now) {
          try ledger.add(line)
        }
        let next = try outlook(loop, now: now, ledger)
        if next != .work { try rest(next, lease, loop, now: now, ledger) }
      }
    } catch let error as StoreError where error.kind == .otherUser && loop.isOurs {
      return try await cycle.park(error)
    }
    loop.digest = digest
    loop.isOurs = true
    if configuration.pushes != nil, try await !cycle.subscribe() { loop.polls.distrustPush() }
  }

  private func rest(_ next: Outlook, _ lease: Lease, _ loop: SyncLoop) async throws {
    let end = loop.end(of: next)
    var digest = loop.digest
    let line = digest.due(at: store.now())
    // Processes on standby need to know the end; nothing else is written while idle, but the line of the last syncs.
    if lease.shown.idleUntil != .some(end) || line != nil {
      try store.write(lease) { ledger, now in
        if let line { try ledger.add(line) }
        try rest(next, lease, loop, now: now, ledger)
      }
    }
    loop.digest = digest
    // Only while there is none: otherwise a change of an address would wake the engine for nothing.
    if try store.lacksNetwork() {
      loop.network = loop.network ?? awaitNetwork()
    } else {
      loop.network?.cancel()
      loop.network = nil
    }
    let wakesAt = [end, loop.digest.dueAt].compactMap(\.self).min()
    let left = wakesAt.map { Duration.milliseconds(max(1, $0 - store.now())) }
    // Without a watch of the system the store has to be polled.
    await wakeup.sleep(loop.isWatched ? left : .milliseconds(250))
  }

  /// Ends the report of a trouble after a step without one.
  private func storageWorks(_ loop: SyncLoop, _ storageChanged: (StoreError?) -> Void) {
    guard loop.obstacle != nil else { return }
    // A small write may fit on a disk that is full.
    lock?.report(nil)
    if let trouble = store.storage.trouble {
      lock?.report(trouble)
    } else {
      storageChanged(nil)
      loop.obstacle = nil
    }
  }

  /// Records in a transaction that the engine is idle.
  private func rest(_ next: Outlook, _ lease: Lease, _ loop: SyncLoop, now: Int64, _ ledger: Ledger) throws {
    let end = loop.end(of: next)
    let interval = loop.polls.interval(isPushed: loop.inbox.isListening)
    try lease.rest(ledger, until: end, pollInterval: interval, now: now)
  }

  private func outlook(_ loop: SyncLoop, now: Int64, _ ledger: Ledger) throws -> Outlook {
    let isDue = loop.polls.isDue(at: now, isPushed: loop.inbox.isListening)
    return try outlook(pollIsDue: isDue || loop.inbox.isFull, now: now, ledger)
  }

  /// Determines what there is to do. Only reads: an idle engine writes nothing.
  func outlook(pollIsDue: Bool, now: Int64, _ ledger: Ledger) throws -> Outlook {
    if try !ledger.openRequests().isEmpty { return .work }
    let savesMayGo = asksBeforeSending || isAlwaysWithoutApp
    let step = try SyncStore.plan(savesMayGo: savesMayGo, now: now, ledger)
    return Outlook(step, fetches: pollIsDue || (session.asksLater && overdueResolvers.hasEnded))
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
