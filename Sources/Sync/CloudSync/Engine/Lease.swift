import Foundation
import Synchronization

/// The right to sync a store, held by one process at a time.
///
/// Two things make it safe. The kernel releases the lock on a file beside the store when the process ends, so a dead
/// process is replaced at once. Each new holder increments the fencing token in the store, and every transaction of the
/// engine checks it, so a process that was suspended past its lease writes nothing.
package struct Lease: Sendable {
  /// Milliseconds for which a busy holder may be silent before another process may take over.
  package static let duration: Int64 = 5_000

  let fencingToken: Int64
  private let lock: any EngineLock
  /// See `SystemClock.offset()`.
  private let clockOffset: @Sendable () -> Int64?
  /// Since when the holder is proven to live and to do its work.
  let life: ProofOfLife
  /// The holder's activity, for other processes.
  let shown = ShownActivity()
  /// The writes that wait for the engine's next transaction.
  let joined = JoinedWrites()
  /// Whether the log has the start of the sync under way, if it runs once.
  let oneSync = OneSyncLog()

  /// Takes the lease if it is free, or if its holder has been silent past its end while busy or while a request of ours
  /// waits (`EngineSigns.isSilent`).
  ///
  /// - Parameters:
  ///   - asksApp: whether this process can ask the app, so that nothing waits for it under this lease.
  ///   - candidate: the lock of a process on standby. It is reused, because releasing a lock notifies all others.
  /// - Returns: nil if another process syncs.
  static func acquire(
    _ store: SyncStore,
    holderIsSilent: Bool = false,
    asksApp: Bool = false,
    with candidate: (any EngineLock)? = nil
  ) throws(StoreError) -> Lease? {
    let lock = candidate ?? store.storage.engineLock()
    let isFree = lock.take()
    try lock.requireInPlace()
    let now = store.now()
    func isSilent(_ holder: LeaseHolder?) -> Bool {
      let clockShift = holder?.clockShift(store.clockOffset()) ?? 0
      return EngineSigns(of: holder, clockShift: clockShift).isSilent(at: now, hasNotAnswered: holderIsSilent)
    }
    if !isFree {
      // Processes that wait for the lease check often, so checking must not write: each write notifies every watcher.
      let holder = try store.read { try $0.lease() }
      guard isSilent(holder) else { return nil }
    }
    let fencingToken: Int64? = try store.write { ledger in
      let holder = try ledger.lease()
      guard isFree || isSilent(holder) else { return nil }
      let fencingToken = (holder?.fencingToken ?? 0) + 1
      let process = ProcessInfo.processInfo
      try ledger.put(
        LeaseHolder(
          fencingToken: fencingToken,
          pid: Int64(process.processIdentifier),
          host: process.hostName,
          expiresAt: now + duration,
          program: process.processName,
          since: now,
          clockOffset: store.clockOffset()
        ),
        keeping: store.storage.holder(among: 0...(fencingToken - 1))
      )
      if asksApp { try ledger.setValue(.appFencingToken, fencingToken) }
      // Before others see the lease.
      lock.show(fencingToken)
      return fencingToken
    }
    return fencingToken.map {
      Lease(fencingToken: $0, lock: lock, clockOffset: store.clockOffset, life: ProofOfLife(since: now))
    }
  }

  /// Throws unless this process still holds the lease; extends it.
  func check(_ ledger: Ledger, now: Int64) throws {
    try lock.requireInPlace()
    try look(ledger, now: now)
    guard try extend(ledger, until: now + Self.duration) else {
      throw StoreError(.fenced, "another process is syncing this store now; this one has stopped")
    }
    takeLock()
    shown.setIdle(nil)
  }

  private func extend(_ ledger: Ledger, until end: Int64?) throws -> Bool {
    try ledger.extendLease(fencingToken: fencingToken, until: end, clockOffset: clockOffset())
  }

  /// Proves in a transaction that this process lives, and looks whether it was late.
  private func look(_ ledger: Ledger, now: Int64) throws {
    try life.look(at: now) { try isLate(ledger, now: now) }
    ledger.provenAt = now
  }

  /// Whether a look at the store just before this transaction would have found that this process does not do its work.
  private func isLate(_ ledger: Ledger, now: Int64) throws -> Bool {
    guard let holder = try ledger.lease(), holder.fencingToken == fencingToken else { return true }
    return try ledger.view(now: now, clockOffset: clockOffset()).signs(of: holder).judgement(at: now).stalledSince
      != nil
  }

  /// Takes the lock that a silent previous holder has released, so that this process is not taken for dead.
  func takeLock() { lock.take() }

  /// Releases the lock, with a notification, after another process has taken over.
  func letGo() { lock.release() }

  /// Extends the lease during long work and publishes the activity; throws if another process has taken over. Leaves an
  /// idle engine idle, because a heartbeat may come after the end of its sync.
  ///
  /// - Parameter notesVerdict: whether the history gets the verdict, as that of a sync which takes long: by its end
  ///   alone it would be taken for what it ended as.
  func renew(_ store: SyncStore, notesVerdict: Bool = false) throws(StoreError) {
    let now = store.now()
    try write(store) { ledger, publish in
      if !shown.isBusy, let holder = try ledger.lease(), holder.fencingToken == fencingToken, holder.expiresAt == nil {
        return
      }
      try check(ledger, now: now)
      try publish()
      if notesVerdict { try ledger.noteVerdict(now: now, aliveSince: life.since) }
    }
  }

  /// Records that the engine is idle, and the time of its next activity if known. The kernel's lock shows whether it is
  /// alive, and other processes check that it acts when it should.
  ///
  /// - Parameter pollInterval: milliseconds between two polls; nil if it does not poll.
  func rest(_ store: SyncStore, until end: Int64? = nil, pollInterval: Int64? = nil) throws(StoreError) {
    let now = store.now()
    try write(store) { ledger, publish in
      if try rest(ledger, until: end, pollInterval: pollInterval, now: now) { try publish() }
    }
  }

  /// Records in a transaction that the engine is idle. Returns whether this process still holds the lease.
  @discardableResult
  func rest(_ ledger: Ledger, until end: Int64? = nil, pollInterval: Int64? = nil, now: Int64) throws -> Bool {
    try look(ledger, now: now)
    guard try extend(ledger, until: nil) else { return false }
    let number = try ledger.rest()?.number ?? 0
    try ledger.put(EngineRest(number: number + 1, wakesAt: end, at: now, pollInterval: pollInterval))
    try ledger.noteVerdict(now: now, aliveSince: life.since)
    shown.setIdle(.some(end))
    return true
  }

  /// Runs a transaction that publishes the activity by `publish`.
  func write<Value>(_ store: SyncStore, _ body: (Ledger, _ publish: () throws -> Void) throws -> Value)
    throws(StoreError)
    -> Value
  {
    let shown = shown.unpublished
    let (value, isPublished, provenAt) = try store.transaction { ledger in
      var isPublished = false
      let value = try body(ledger) {
        if let shown { try ledger.publish(shown) }
        isPublished = true
      }
      return (value, isPublished, ledger.provenAt)
    }
    if let provenAt { life.confirm(at: provenAt) }
    if isPublished, let shown { self.shown.notePublished(shown) }
    return value
  }

  /// Releases the lease.
  func release(_ store: SyncStore) {
    if shown.idleUntil == nil { try? rest(store) }
    lock.release()
  }
}

/// Since when the holder of a lease is proven to live and to do its work: each of its transactions proves it, unless
/// the process was late for it. Only what is committed counts.
///
/// A heartbeat may begin its transaction before that of a sync is confirmed, so nothing is kept of the one that runs.
final class ProofOfLife: Sendable {
  private struct State {
    /// The beginning of the time without a break, and its last proof.
    var since: Int64
    var last: Int64
  }

  private let state: Mutex<State>

  init(since: Int64) { state = Mutex(State(since: since, last: since)) }

  /// Since when, with the transaction that runs.
  var since: Int64 { state.withLock { $0.since } }

  /// Looks in a transaction whether the process was late. A break counts even if the transaction fails.
  ///
  /// - Parameter isLate: whether it should have done something before; asked only after a time without a proof.
  func look(at now: Int64, isLate: () throws -> Bool) rethrows {
    let last = state.withLock { $0.last }
    guard try !(0...EngineSigns.patience).contains(now - last) && isLate() else { return }
    state.withLock { $0.since = now }
  }

  /// Notes the proof of a committed transaction.
  func confirm(at now: Int64) { state.withLock { $0.last = now } }
}

/// Writes of the engine that need no transaction of their own: its next one carries them out first. Until then they are
/// lost with the process, so nothing may depend on them but what is fetched again without them.
final class JoinedWrites: Sendable {
  typealias Body = @Sendable (Ledger, _ now: Int64) throws -> Void

  private let bodies = Mutex<[Body]>([])

  var all: [Body] { bodies.withLock(\.self) }

  func add(_ body: @escaping Body) { bodies.withLock { $0.append(body) } }

  /// Forgets the first writes, which were carried out.
  func removeFirst(_ count: Int) { bodies.withLock { $0.removeFirst(count) } }

  func removeAll() { bodies.withLock { $0.removeAll() } }
}

/// The idle state of an engine: its number, and the time at which it will continue without an event.
struct EngineRest: Hashable, Sendable {
  var number: Int64
  var wakesAt: Int64?
  /// When it became idle.
  var at: Int64
  /// Milliseconds between two polls; nil if it does not poll.
  var pollInterval: Int64?
}

extension SyncStore {
  /// The idle state of the syncing process; nil while it is busy, with the end of its lease.
  func engineRest() throws(StoreError) -> (rest: EngineRest?, expiresAt: Int64?) {
    try read { ledger in
      let expiresAt = try ledger.lease()?.expiresAt
      return (expiresAt == nil ? try ledger.rest() : nil, expiresAt)
    }
  }
}
