/// The signs by which another process judges whether the process that holds the engine's lock does its work.
///
/// A busy engine renews its lease every two seconds, however long its requests take. An idle one writes nothing, so it
/// is judged by what it leaves undone: its own next activity, a change that can be sent, a requested sync.
struct EngineSigns: Hashable, Sendable {
  /// The end of the lease while the engine is busy; nil while it is idle.
  var leaseEndsAt: Int64?
  /// Its last idle state; nil before the first.
  var rest: EngineRest?
  /// The time since which a change can be sent; nil if none can.
  var workSince: Int64?
  /// The time at which a sync was requested that has not started; nil if none was.
  var requestedAt: Int64?
  /// Whether a signal has stopped the engine's process.
  var isStopped = false

  init(
    leaseEndsAt: Int64? = nil,
    rest: EngineRest? = nil,
    workSince: Int64? = nil,
    requestedAt: Int64? = nil,
    isStopped: Bool = false
  ) {
    (self.leaseEndsAt, self.rest, self.workSince) = (leaseEndsAt, rest, workSince)
    (self.requestedAt, self.isStopped) = (requestedAt, isStopped)
  }

  /// Creates the signs of a process from what it stored.
  ///
  /// - Parameter clockShift: see `LeaseHolder.clockShift`: a clock that was set is no reason to call a process late.
  init(
    of holder: LeaseHolder?,
    _ rest: EngineRest? = nil,
    clockShift: Int64,
    workSince: Int64? = nil,
    requestedAt: Int64? = nil,
    isStopped: Bool = false
  ) {
    self.init(
      leaseEndsAt: holder?.expiresAt.map { $0 + clockShift },
      rest: rest,
      workSince: workSince,
      requestedAt: requestedAt,
      isStopped: isStopped
    )
    self.rest?.wakesAt = rest?.wakesAt.map { $0 + clockShift }
    self.rest?.at += clockShift
  }

  /// Milliseconds for which an engine may be late, so that a stopped one is reported within ten seconds: a busy machine
  /// may delay it for some.
  static let patience: Int64 = 8_000
  /// Milliseconds after which a process on standby replaces an idle engine that leaves work undone. Takeover is
  /// promised in 5 s.
  static let patienceOnStandby: Int64 = 3_000
  /// Milliseconds after which a process takes over from an idle engine that has not started a requested sync.
  static let patienceOfRequest = Lease.duration

  struct Judgement: Hashable, Sendable {
    /// Since when the engine has not moved although it should have; nil if it does its work.
    var stalledSince: Int64?
    /// The time of the next judgement if nothing is written until then; nil if nothing is due.
    var looksAgainAt: Int64?
  }

  /// Whether the engine does its work, as of a time.
  func judgement(at now: Int64) -> Judgement {
    if isStopped {
      let lastMove = leaseEndsAt.map { $0 - Lease.duration } ?? rest?.at ?? now
      // A process that continues may write nothing to the store.
      return Judgement(stalledSince: min(lastMove, now), looksAgainAt: now + Lease.duration)
    }
    let due: Int64
    let lastMove: Int64
    if let leaseEndsAt {
      guard !isFarAhead(leaseEndsAt, of: now) else { return Judgement(looksAgainAt: now + Lease.duration) }
      lastMove = leaseEndsAt - Lease.duration
      due = lastMove
    } else {
      guard let first = [rest?.wakesAt, workSince, requestedAt].compactMap(\.self).min() else { return Judgement() }
      due = first
      lastMove = min(rest?.at ?? due, due)
    }
    let end = due + Self.patience
    return end < now ? Judgement(stalledSince: lastMove) : Judgement(looksAgainAt: end + 1)
  }

  /// Whether another process may take the lease, although the engine has its lock. A busy engine renews its lease,
  /// however long its work takes. An idle one does not, so it is silent only if it has not answered in time.
  func isSilent(at now: Int64, hasNotAnswered: Bool) -> Bool {
    guard let leaseEndsAt else { return hasNotAnswered }
    return leaseEndsAt < now || isFarAhead(leaseEndsAt, of: now)
  }

  /// Whether the end of a lease shows that the clock was moved back; a live engine renews it within one lease.
  private func isFarAhead(_ end: Int64, of now: Int64) -> Bool { end > now + 2 * Lease.duration }
}
