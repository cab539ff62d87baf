import CloudKit
import Facts
import Synchronization

/// The engine's activity, published to every process.
extension SyncStore {
  enum Activity: String {
    case idle, sending, fetching

    var phase: Progress.Phase? {
      switch self {
      case .idle: nil
      case .sending: .send
      case .fetching: .fetch
      }
    }
  }

  /// - Parameter event: what happened before, for the log.
  func setActivity(_ activity: Activity, after event: Event? = nil, _ lease: Lease) throws(StoreError) {
    // Avoid a write to disk when nothing changes.
    let known = try read { try $0.activity().state }
    guard event != nil || known != activity.rawValue else { return }
    try write(lease) { ledger, now in
      if let event { try EventLog.add(event, now: now, ledger) }
      try ledger.changeActivity { row in
        guard row.state != activity.rawValue else { return }
        row.state = activity.rawValue
        row.phase = activity.phase?.rawValue
        row.done = 0
        row.total = 0
        row.perSecond = nil
      }
    }
    shown.withLock { $0.last = nil }
  }

  /// Publishes the progress of the current phase: each start at once, then a few times a second, because each write
  /// waits for the disk. The published numbers lag behind by at most one request.
  func setProgress(_ progress: Progress, _ lease: Lease) throws(StoreError) {
    let now = now()
    guard shown.withLock({ $0.isDue(progress, now: now) }) else { return }
    try write(lease) { ledger, now in
      try ledger.changeActivity { row in
        row.phase = progress.phase.rawValue
        row.done = progress.done
        row.total = progress.total
        row.perSecond = progress.perSecond
      }
    }
    shown.withLock { $0.last = (now, progress) }
  }

  /// Records the end of a sync, on which `inSync` is based.
  ///
  /// - Parameters:
  ///   - readAt: when the last fetch of changes began; a change accepted later was not sent by then.
  ///   - isComplete: whether every change feed was fetched to its end, except those that the server does not let us
  ///     read.
  ///   - error: the last error of an operation or a fetch, for display.
  func syncEnded(readAt: Int64, isComplete: Bool, error: WebServicesError?, _ lease: Lease) throws(StoreError) {
    let hasMoreHistory = try write(lease) { ledger, now in
      for scope in [WaitScope.network, .account, .database] { try Throttles.clear(scope, ledger) }
      try ledger.setValue(Self.refusedKey, nil)
      let isWhole = try isComplete && ledger.unreadable().isEmpty
      try ledger.changeActivity { row in
        row.perSecond = nil
        // A time in the future was set before the clock was moved back.
        if let acceptedAt = row.lastEnqueueAt, acceptedAt > now { row.lastEnqueueAt = readAt }
        if let error { row.note(error, now: now) }
        row.reachedEnd = isWhole && row.lastEnqueueAt ?? 0 <= readAt
        if isWhole { row.lastSuccessAt = now }
        if isComplete { row.errorStands = false }
      }
      return try Retention.apply(now: now, ledger)
    }
    if hasMoreHistory { try forgetOldHistory(lease) }
  }

  /// Removes old and excess history, in one transaction for each slice.
  func forgetOldHistory(_ lease: Lease) throws(StoreError) {
    while try write(lease, { try Retention.apply(now: $1, $0) }) {}
  }

  /// Records that a pause or a wait interrupted a sync.
  func syncInterrupted(error: WebServicesError? = nil, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      try ledger.changeActivity { row in
        if let error { row.note(error, now: now) }
        row.reachedEnd = false
      }
    }
  }

  /// Records the error that stopped a whole sync. One scope backs off in any case, to avoid an immediate retry; an
  /// error that waiting does not cure is shown until a sync succeeds.
  func record(_ error: WebServicesError, random: Double, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      let scope: WaitScope
      let passes: Bool
      switch error.code {
      case .networkError: (scope, passes) = (.network, true)
      case .throttled: (scope, passes) = (.database, true)
      case .authenticationFailed, .authenticationRequired: (scope, passes) = (.account, true)
      default: (scope, passes) = (.database, try Throttles.passes(error, in: .database, ledger))
      }
      try Throttles.set(scope, error, now: now, random: random, ledger)
      try ledger.noteError(error, stands: !passes, now: now)
    }
  }

  /// Whether a request may be made now: no pause and no wait stops everything.
  ///
  /// - Parameter endsBackOffs: whether to ignore our own back-offs.
  func mayRequest(endsBackOffs: Bool = false) throws(StoreError) -> Bool {
    let now = now()
    return try read { ledger in
      if try ledger.isPaused() { return false }
      return try !ledger.waits(after: now).contains { $0.scope.stopsAll && (!endsBackOffs || !$0.isOwn) }
    }
  }

  /// Whether the whole database is throttled or has failed, with no success since.
  func isInTrouble() throws(StoreError) -> Bool {
    try read { ledger in
      try [WaitScope.network, .account, .database].contains { try ledger.wait($0) != nil }
    }
  }

  /// The current wait that the server asked for, for the whole database or one zone.
  func serversWait(in scope: WaitScope = .database) throws(StoreError) -> WebServicesError? {
    let now = now()
    return try read { ledger in
      guard let wait = try ledger.wait(scope), !wait.isOwn, wait.until > now else { return nil }
      let seconds = Double(wait.until - now) / 1000
      return WebServicesError(ServerErrorCode(wait.code), wait.message, retryAfter: seconds)
    }
  }

  /// Adds an event to the log.
  func note(_ event: Event, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      try EventLog.add(event, now: now, ledger)
    }
  }

  /// The number of pending operations, for the progress of a sync.
  func sendableCount() throws(StoreError) -> Int {
    try read { try $0.operationCount(in: .pending) }
  }

  func keys(_ ids: [Int64]) throws(StoreError) -> [RecordKey] {
    try read { ledger in
      try ledger.operations(ids).map(\.key)
    }
  }

  // MARK: - Zones made by the engine

  /// Applies the replies to zone creations on which queued changes depend.
  func zonesMade(
    _ zones: [ZoneKey],
    _ results: [WireZoneResult],
    random: Double,
    _ lease: Lease
  ) throws(StoreError) {
    let results = Interpreter.byZone(zones, results)
    let refused = try write(lease) { ledger, now in
      var refused: [(ZoneKey, WebServicesError)] = []
      for zone in zones {
        switch results[zone] {
        case .zone: try ledger.markCreatedHere(zone)
        case .failure(_, let error) where error.code == .exists: try ledger.markCreatedHere(zone)
        case .failure(_, let error) where error.code == .badRequest || error.code == .accessDenied:
          refused.append((zone, error))
        case .failure(_, let error):
          try Self.hold(zone, error, now: now, random: random, ledger)
        case nil:
          let error = WebServicesError(.unexpectedServerResponse, "the answer does not mention zone \(zone.zone)")
          try Self.hold(zone, error, now: now, random: random, ledger)
        }
      }
      return refused
    }
    for (zone, error) in refused { try failChanges(of: zone, error, lease) }
  }

  /// Backs off a zone that cannot be created now.
  private static func hold(
    _ zone: ZoneKey,
    _ error: WebServicesError,
    now: Int64,
    random: Double,
    _ ledger: Ledger
  ) throws {
    let event = Event.zoneCannotBeCreated(zone: zone.zone, code: error.code.name, message: error.reason)
    try Throttles.set(.zone(zone), error, now: now, random: random, as: event, ledger)
  }

  /// Fails the changes of a zone that the server refuses to create. After a crash, the server refuses it again.
  private func failChanges(of zone: ZoneKey, _ error: WebServicesError, _ lease: Lease) throws(StoreError) {
    let ids = try read { try $0.changes(of: zone) }
    _ = try writeInSlices(ids, lease) { slice, ledger, now in
      var failed = 0
      while let id = slice.next() {
        guard var operation = try ledger.operation(id), operation.state == .pending || operation.state == .waiting
        else { continue }
        operation.fail(.zoneCannotBeCreated(zone: zone.zone, code: error.code.name, message: error.reason))
        try ledger.update(operation)
        failed += 1
      }
      try ledger.count(failed: failed, now: now)
    }
  }
}
