import CloudKit
public import CloudSync
import Facts
public import OpenCombine

/// The status from what the store knows.
extension CloudKitService.Status {
  /// - Parameters:
  ///   - stop: the error that stopped this service's syncing; nil if it may continue.
  ///   - readFailure: why the store cannot be read; nil if it can.
  init(_ store: StoreStatus, stop: CloudKitService.Stop? = nil, readFailure: (any Error)? = nil) {
    let facts =
      readFailure.map { Verdicts([.unreadable(Self.message($0))]) } ?? store.verdicts(hasCredential: true)
    verdict = Verdict(facts, now: store.generatedAt)
    queue = Queue(store.queue)
    progress = store.progress.map(Progress.init)
    account = Account(store)
    throttles = store.throttles.map(Throttle.init).sorted { $0.until < $1.until }
    lastSuccess = store.lastSuccessAt.map(Date.init(milliseconds:))
    // A sync that succeeded later ended what stopped this service, whichever process ran it.
    let stop = stop.flatMap { Date(milliseconds: store.lastSuccessAt ?? 0) < $0.at ? $0 : nil }
    lastFailure =
      readFailure.map { Failure($0, at: nil) } ?? stop.map { Failure($0.error, at: $0.at) } ?? Failure(store)
    heldDeletions = store.heldDeletions.reduce(0) { $0 + $1.records }
    isInSync = readFailure == nil && store.isInSync
    isPaused = store.isPaused
    syncingProcess = store.syncingProcess.flatMap { process in
      guard process.isLive else { return nil }
      let since = process.since.map(Date.init(milliseconds:))
      return SyncingProcess(pid: Int(process.pid), host: process.host, program: process.program, since: since)
    }
  }

  static func message(_ error: any Error) -> String {
    (error as? StoreError)?.message ?? CloudKitServiceError(error).errorDescription ?? "\(error)"
  }
}

extension CloudKitService.Status.Verdict {
  init(_ verdicts: Verdicts, now: Int64) {
    state = verdicts.first.kind
    sentence = verdicts.sentence(Format(), now: now)
    let isPaused = state == .paused || state == .partlyPaused
    needsPerson = verdicts.urgency == .act || verdicts.urgency == .look || isPaused
  }
}

extension CloudKitService.Status.Queue {
  init(_ queue: StoreStatus.Queue) {
    (total, pending, inFlight, retrying) = (queue.total, queue.pending, queue.inFlight, queue.waiting)
    (failed, paused, conflicts) = (queue.failed, queue.paused, queue.conflicts)
    (blocked, bytes, oldestChange) = (queue.blocked, queue.bytes, queue.oldestAt.map(Date.init(milliseconds:)))
  }
}

extension CloudKitService.Status.Progress {
  init(_ progress: CloudSync.Progress) {
    (done, perSecond, secondsLeft) = (progress.done, progress.perSecond, progress.etaSeconds)
    // A phase that has just begun has not counted yet.
    let total = progress.total > 0 ? progress.total : nil
    switch progress.phase {
    case .send: (phase, self.total) = (.sending, total)
    case .upload: (phase, self.total) = (.assets, total)
    case .fetch: (phase, self.total) = (.fetching, nil)
    }
  }
}

extension CloudKitService.Status.Account {
  init(_ store: StoreStatus) {
    if store.isRefused {
      self = .otherUser(owner: store.identity)
    } else if let problem = store.accountProblem {
      self =
        switch CKAccountStatus(ServerErrorCode(problem.code)) {
        case .noAccount: .signedOut
        case .restricted: .restricted
        case .temporarilyUnavailable: .temporarilyUnavailable
        default: .unknown
        }
    } else {
      self = store.identity.map { .available($0) } ?? .unknown
    }
  }

  /// The account in the framework's five states.
  var ckStatus: CKAccountStatus {
    switch self {
    case .unknown: .couldNotDetermine
    case .available: .available
    case .signedOut, .otherUser: .noAccount
    case .restricted: .restricted
    case .temporarilyUnavailable: .temporarilyUnavailable
    }
  }
}

extension CloudKitService.Status.Throttle {
  init(_ wait: ScopeWait) {
    let own: Reason = wait.isOwn ? .backOff : .server
    switch wait.scope {
    case .network: (scope, reason) = (.everything, .noNetwork)
    case .account: (scope, reason) = (.everything, .account)
    case .quota: (scope, reason) = (.saves, .fullQuota)
    case .database: (scope, reason) = (.everything, own)
    case .zone(let zone): (scope, reason) = (.zone(zone.zoneID), own)
    case .feed: (scope, reason) = (.fetching, own)
    }
    until = Date(milliseconds: wait.until)
    failure = SyncFailure(code: wait.code, message: wait.message)
  }
}

extension CloudKitService.Status.Failure {
  /// An error that stopped this service's engine, or of reading the store.
  init(_ error: any Error, at date: Date?) {
    self.error = error is StoreError ? .unknown(error) : CloudKitServiceError(error)
    message = CloudKitService.Status.message(error)
    (self.date, isCurrent) = (date, true)
  }

  /// The latest failure that the store knows: first one that stands.
  init?(_ store: StoreStatus) {
    let last = store.lastError
    // A problem lasts until a request succeeds, whatever else has failed meanwhile.
    let problem = store.accountProblem ?? store.networkProblem ?? store.quotaProblem
    guard
      let known = problem.map({ SyncFailure(code: $0.code, message: $0.message) })
        ?? last.map({ SyncFailure(code: $0.code, message: $0.message) })
    else { return nil }
    let time = last?.code == known.code ? last?.at : nil
    error = CloudKitServiceError(known.ckError)
    message = error.errorDescription ?? known.message
    date = time.map(Date.init(milliseconds:))
    isCurrent = problem != nil || store.errorStands || time ?? 0 > store.lastSuccessAt ?? 0
  }
}

extension CloudKitService {
  /// An error that stopped syncing.
  struct Stop {
    var error: any Error
    var at: Date
  }

  /// The status, as a new sequence on each access: the current value, then the latest after each change. A slow reader
  /// misses values in between. It ends with the service.
  public var statuses: AsyncStream<Status> { broadcast.listen(first: status, keeping: 1) }

  /// Publishes the status: the current value to each new subscriber, then every change, on the main actor.
  ///
  /// ```swift
  /// let cancellable = service.statusPublisher.map(\.verdict.sentence).removeDuplicates().sink { label.text = $0 }
  /// ```
  public var statusPublisher: AnyPublisher<Status, Never> { subject.eraseToAnyPublisher() }

  /// The events of this service's engine from now on, as a new sequence on each access. Without an engine it is empty.
  public var events: AsyncStream<SyncEvent> { engine?.events ?? AsyncStream { $0.finish() } }

  /// Publishes the status if it has changed.
  func publishStatus() {
    let latest = Status(storeStatus, stop: stop, readFailure: readFailure)
    guard latest != status else { return }
    status = latest
    broadcast.send(latest)
    subject.send(latest)
  }

  /// Publishes what has changed.
  func noteChange() {
    publishStatus()
    changed?()
  }
}
