import CloudKit
import Dispatch
import Foundation

/// Driving a store: once, or until told to stop.
extension SyncEngine {
  /// One pass now, by whoever drives: this process, or the live driver elsewhere, whose pass is waited for and reported
  /// as our own. Own back-offs are ended first; a server's wait is kept.
  ///
  /// - Parameter isWithoutApp: whether what waits for the app is released for this sync, as an operator's command.
  package func syncOnce(types: [String] = [], isWithoutApp: Bool = false) async throws -> PassSummary {
    try checkSettings()
    auditsRelease = isWithoutApp
    let alone = { [self] (lease: Lease) in try await passAlone(lease, types, isWithoutApp: isWithoutApp) }
    if let lease = try Lease.acquire(store) { return try await alone(lease) }
    // Another user's sync ends no back-off, and does not reach the process that syncs.
    let isOurs = try await notingRefusal { try await knowsOwner() }
    if isOurs { try takeSettings() }
    if try isOurs || store.owner() == nil { _ = try store.flush(actor: nil) }
    // Only the store's user releases what waits for the app.
    let request = try store.requestPass(types, isWithoutApp: isWithoutApp && isOurs)
    // Its own: a driver of this process sleeps on the engine's, which wakes one sleeper.
    let wakeup = Wakeup()
    let watcher = watch(wakeup)
    defer { _ = watcher }
    let patience = store.now() + Lease.duration
    var takesOverUntil: Int64?
    while true {
      try Task.checkCancellation()
      switch try store.passState(request) {
      case .finished(let summary):
        // The other process left something for the app, which this one can ask: as soon as the other has nothing to do.
        let end = takesOverUntil ?? store.now() + Lease.duration
        takesOverUntil = end
        guard summary.waitForApp != nil, asksApp, store.now() <= end else { return summary }
        if let lease = try Lease.acquire(store, holderIsSilent: true) { return try await alone(lease) }
      case .started:
        break
      case .requested where store.now() > patience:
        // Alive by the kernel's lock, yet it does not react: stopped, or hung.
        if let lease = try Lease.acquire(store, holderIsSilent: true) { return try await alone(lease) }
      case .requested:
        break
      }
      // A driver that died in the middle left its lock behind.
      if let lease = try Lease.acquire(store) { return try await alone(lease) }
      await wakeup.sleep(.milliseconds(200))
    }
  }

  /// Refuses another user's credential before another process is asked to sync for it. The server is asked only about a
  /// credential that the store does not know.
  ///
  /// - Returns: false if it is not known yet whose the store is; the other process reports that.
  private func knowsOwner() async throws -> Bool {
    if try store.knows(credential) { return true }
    // Nor while the server has asked everybody to wait.
    guard try store.serversWait() == nil, try store.serversWait(in: .account) == nil else { return false }
    do {
      try await refuseStrangers()
      return try !store.isUnknown(Sender(user: identity, credential: credential)) || store.owner() != nil
    } catch is WebServicesError {
      return false
    }
  }

  private func passAlone(_ lease: Lease, _ types: [String], isWithoutApp: Bool) async throws -> PassSummary {
    defer { lease.release(store) }
    _ = try store.recoverInFlight(lease)
    if asksApp { try store.noteApp(lease) }
    let requests = try store.startPasses(lease)
    let isWithoutApp = isWithoutApp || requests.isWithoutApp
    let summary = try await pass(lease, types: types + requests.types, isWithoutApp: isWithoutApp, endsBackOffs: true)
    try store.finishPasses(requests.ids, summary, lease)
    return summary
  }

  /// Drives until cancelled: sends what is enqueued, reads what pushes announce, polls the feeds, serves passes that other
  /// processes ask for. Where another process drives, stands by.
  ///
  /// - Parameter isWithoutApp: whether what waits for the app is released as long as this process syncs, as an operator's
  ///   command.
  package func drive(types: [String] = [], isWithoutApp: Bool = false) async throws {
    isAlwaysWithoutApp = isWithoutApp
    self.isWithoutApp = isWithoutApp
    var hasStarted = false
    let watcher = watch(wakeup)
    defer { _ = watcher }
    let lookout = watchPlace()
    defer { lookout.cancel() }
    let inbox = PushInbox()
    var listening: Task<Void, Never>?
    defer { listening?.cancel() }
    var lease: Lease?
    defer { lease?.release(store) }
    var restingUntil: Int64??
    var isOurs = false
    var polls = PollClock(configuration)
    var patience = Duration.seconds(1)
    var wasBroken = false
    while !Task.isCancelled {
      do {
        try requireInPlace()
        if !hasStarted {
          try checkSettings()
          auditsRelease = isWithoutApp
        }
        hasStarted = true
        guard let held = lease else {
          restingUntil = nil
          let taken = try await standBy()
          if let taken {
            _ = try store.recoverInFlight(taken)
            if asksApp { try store.noteApp(taken) }
          }
          lease = taken
          continue
        }
        held.takeLock()
        if wasBroken { _ = try store.recoverInFlight(held) }
        wasBroken = false
        if listening == nil { listening = listen(inbox) }
        try store.shortenWaits(held)
        let isDue = polls.isDue(at: store.now(), isPushed: inbox.isListening)
        let next = try outlook(pollIsDue: isDue || inbox.isFull)
        if case .work = next {
          restingUntil = nil
          // What is pushed from here on means one more pass.
          inbox.empty()
          let requests = try store.startPasses(held)
          // Sweeps have an interval of their own: passes for pushes and for what is enqueued put polls off.
          let sweeps: Sweeps = requests.ids.isEmpty ? .whenDue : .always
          let summary: PassSummary
          do {
            summary = try await pass(
              held,
              types: types + requests.types,
              sweeps: sweeps,
              isWithoutApp: requests.isWithoutApp
            )
          } catch let error as StoreError where error.kind == .otherUser && isOurs {
            try await park(error, held)
            continue
          }
          try store.finishPasses(requests.ids, summary, held)
          isOurs = true
          if summary.error != nil { inbox.fill() }
          if isDue || summary.reachedEnd {
            polls.polled(at: store.now(), reachedEnd: summary.reachedEnd)
          } else {
            // What a push told of has not come: no other push will tell of it.
            polls.distrustPush()
          }
          if configuration.pushes != nil, try await !subscribe(held) { polls.distrustPush() }
        } else {
          let end = next.end(nextPoll: polls.next(isPushed: inbox.isListening))
          // Whoever stands by has to know until when; nothing else is written while it sleeps.
          if restingUntil != .some(end) { try held.rest(store, until: end) }
          restingUntil = .some(end)
          let left = end.map { Duration.milliseconds(max(1, $0 - store.now())) }
          // Without the system's watch the store has to be looked at.
          await wakeup.sleep(watcher == nil ? .milliseconds(250) : left)
        }
        patience = .seconds(1)
      } catch let error as StoreError where error.passes {
        // A full disk, or a file that others hold: nothing was changed, and it is tried again. What became of a request
        // under way may not have been written.
        wasBroken = true
        await wakeup.sleep(patience)
        patience = min(patience * 2, .seconds(60))
      } catch let error as StoreError where error.kind == .fenced {
        // Whoever has taken over drives on, and has the lock before anybody who stands by asks for it.
        lease?.letGo()
        lease = nil
        try? await Task.sleep(for: .seconds(1))
        listening?.cancel()
        listening = nil
      } catch is CancellationError {
        // Of something within; ours ends the loop.
        if !Task.isCancelled { await wakeup.sleep(patience) }
      }
    }
  }

  /// What there is to do now. Reads only: a driver that sleeps writes nothing.
  func outlook(pollIsDue: Bool) throws(StoreError) -> Outlook {
    if try store.hasRequestedPass() { return .work }
    if pollIsDue, try store.mayRequest() { return .work }
    let (workload, planner) = try store.workload(savesMayGo: maySendSaves)
    guard case .rest(let end) = planner.plan(workload) else { return .work }
    let isHeld = workload.isPaused || workload.waits.contains { $0.key.stopsAll }
    return isHeld ? .held(until: end) : .rest(until: end)
  }

  private func watch(_ wakeup: Wakeup) -> StoreWatcher? {
    StoreWatcher(store, queue: .global()) { wakeup.ring() }
  }
}

/// What a driver has to do, or until when it has nothing to do.
enum Outlook {
  case work
  /// Polls have to wait as well; without end while an operator has paused everything.
  case held(until: Int64?)
  /// The next back-off or wait ends then, if any.
  case rest(until: Int64?)

  /// When there will be something to do without anybody's doing.
  func end(nextPoll: Int64) -> Int64? {
    switch self {
    case .work: nextPoll
    case .held(let end): end
    case .rest(let end): min(nextPoll, end ?? nextPoll)
    }
  }
}

/// A pass as whoever asked for it is told, with what stopped it.
private struct FinishedPass: Codable {
  var summary: PassSummary
  var code: String?
  var reason: String?
  var retryAfter: Double?

  init(_ summary: PassSummary) {
    self.summary = summary
    (code, reason, retryAfter) = (summary.error?.code.name, summary.error?.reason, summary.error?.retryAfter)
  }

  var whole: PassSummary {
    var whole = summary
    whole.error = code.map { WebServicesError(ServerErrorCode($0), reason ?? "", retryAfter: retryAfter) }
    return whole
  }
}

/// Passes that processes ask the driver for.
extension SyncStore {
  enum PassState {
    case requested
    case started
    case finished(PassSummary)
  }

  /// Asks whichever process drives for a pass, without waiting for it.
  package func askForPass() throws(StoreError) {
    _ = try requestPass([])
  }

  /// - Parameter isWithoutApp: whether what waits for the app is released for it.
  func requestPass(_ types: [String], isWithoutApp: Bool = false) throws(StoreError) -> Int64 {
    let now = now()
    return try write { ledger in
      let id = try ledger.insertPass(requestedAt: now, types: types)
      if isWithoutApp { try ledger.setValue(Self.releaseKey(id), "1") }
      return id
    }
  }

  /// Under this name the store has that a requested pass goes without the app.
  private static func releaseKey(_ pass: Int64) -> String { "without app \(pass)" }

  func passState(_ id: Int64) throws(StoreError) -> PassState {
    try read { ledger in
      guard let pass = try ledger.pass(id) else { return .finished(PassSummary()) }
      if let summary = pass.summary, pass.finishedAt != nil {
        return .finished(try JSONDecoder().decode(FinishedPass.self, from: Data(summary.utf8)).whole)
      }
      return pass.startedAt == nil ? .requested : .started
    }
  }

  func hasRequestedPass() throws(StoreError) -> Bool {
    try read { try !$0.openPasses().isEmpty }
  }

  /// Takes on the passes asked for so far; one pass serves them all.
  func startPasses(_ lease: Lease) throws(StoreError) -> (ids: [Int64], types: [String], isWithoutApp: Bool) {
    return try write(lease) { ledger, now in
      let passes = try ledger.openPasses()
      for var pass in passes where pass.startedAt == nil {
        pass.startedAt = now
        try ledger.replace(pass)
      }
      let isWithoutApp = try passes.contains { try ledger.value(Self.releaseKey($0.id)) != nil }
      return (passes.map(\.id), passes.flatMap(\.types), isWithoutApp)
    }
  }

  func finishPasses(_ ids: [Int64], _ summary: PassSummary, _ lease: Lease) throws(StoreError) {
    guard !ids.isEmpty else { return }
    try write(lease) { ledger, now in
      let text = String(decoding: try JSONEncoder().encode(FinishedPass(summary)), as: UTF8.self)
      for id in ids {
        guard var pass = try ledger.pass(id) else { continue }
        pass.finishedAt = now
        pass.summary = text
        try ledger.replace(pass)
        try ledger.setValue(Self.releaseKey(id), nil)
      }
      // Long finished ones have been read by whoever asked.
      try ledger.removePasses(finishedBefore: now - 3_600_000)
    }
  }
}
