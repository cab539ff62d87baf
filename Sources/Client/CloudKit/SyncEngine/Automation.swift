internal import Foundation
internal import Synchronization

/// The schedule of an engine that syncs by itself: what it has to do, and the wait before a retry.
final class Automation: Sendable {
  /// The work of one cycle.
  struct Work: Sendable {
    var fetches = false
    var sends = false

    var isEmpty: Bool { !fetches && !sends }

    mutating func add(_ other: Work) {
      fetches = fetches || other.fetches
      sends = sends || other.sends
    }
  }

  private struct Schedule: Sendable {
    var wanted = Work()
    /// Runs the cycles, one after the other, and waits between them.
    var task: Task<Void, Never>?
    var wait: Task<Void, any Error>?
    var pace = RetryPace()
    var hasFailed = false
    /// Whether the cycle that runs was cancelled.
    var isCancelled = false
    var isStopped = false
    var listener: PushBroadcast.Listener?
    /// Wants a fetch from time to time.
    var watchdog: Task<Void, Never>?
  }

  let subscriptionID: CKSubscription.ID
  let pause: @Sendable (Duration) async throws -> Void
  private let schedule = Mutex(Schedule())
  private let observer = AccountObserver()

  init(subscriptionID: CKSubscription.ID, pause: @escaping @Sendable (Duration) async throws -> Void) {
    self.subscriptionID = subscriptionID
    self.pause = pause
  }

  /// Wants work done. If no cycle runs or waits, `run` starts one.
  ///
  /// Work that is wanted during a wait is done after it, unless `now` ends the wait: the server may have asked for it.
  func want(_ work: Work, now: Bool, run: @escaping @Sendable () async -> Void) {
    schedule.withLock { schedule in
      guard !schedule.isStopped, !work.isEmpty else { return }
      schedule.wanted.add(work)
      if now { schedule.wait?.cancel() }
      guard schedule.task == nil else { return }
      // The caller may be in a request for one sign-in; the cycles are for the user signed in by then.
      WebServicesClient.$requiredSignIn.withValue(nil) { schedule.task = Task { await run() } }
    }
  }

  /// Returns the work of the next cycle; nil if there is none, which ends the task.
  func next() -> Work? {
    schedule.withLock { schedule in
      guard !schedule.wanted.isEmpty, !schedule.isStopped else {
        schedule.task = nil
        return nil
      }
      schedule.isCancelled = false
      defer { schedule.wanted = Work() }
      return schedule.wanted
    }
  }

  /// Notes that a cycle succeeded or a batch was sent in part: the next failure is the first again.
  func progressed() {
    schedule.withLock { schedule in
      schedule.pace = RetryPace()
      schedule.hasFailed = false
    }
  }

  /// Notes that a cycle failed, and waits before the next, which also does the work of `again`. A cancelled cycle is
  /// not repeated.
  ///
  /// The wait is that of the server, or one second, doubled each time, at most a minute. The first failure that only
  /// the app can solve needs no wait: the app has just solved it, or the rest has to be sent.
  func failed(_ error: CKError, again: Work) async {
    let wait: Task<Void, any Error>? = schedule.withLock { schedule in
      guard !schedule.isCancelled else { return nil }
      schedule.wanted.add(again)
      defer { schedule.hasFailed = true }
      let keepsPending = error.parts.contains(where: \.keepsChangePending)
      guard keepsPending || schedule.hasFailed, !schedule.isStopped, !schedule.wanted.isEmpty else { return nil }
      let length = schedule.pace.afterFailure(retryAfter: error.longestRetryAfter)
      let wait = Task { [pause] in try await pause(length) }
      schedule.wait = wait
      return wait
    }
    _ = await wait?.result
  }

  /// Forgets all work that is wanted and ends a wait.
  func cancel() {
    schedule.withLock { schedule in
      schedule.wanted = Work()
      schedule.isCancelled = true
      schedule.wait?.cancel()
    }
  }

  func stop() {
    let listener = schedule.withLock { schedule in
      schedule.isStopped = true
      schedule.wait?.cancel()
      schedule.watchdog?.cancel()
      defer { schedule.listener = nil }
      return schedule.listener
    }
    // It is released outside the lock, because its end takes other locks.
    _ = listener
    observer.stop()
  }

  // MARK: - Signals

  /// Calls a closure from time to time, because pushes can be lost.
  func startWatchdog(_ fetch: @escaping @Sendable () -> Void) {
    let watchdog = Task { [pause] in
      while (try? await pause(CKSyncEngine.watchdogInterval)) != nil, !Task.isCancelled { fetch() }
    }
    schedule.withLock { $0.watchdog = watchdog }
  }

  var isListening: Bool { schedule.withLock { $0.listener != nil } }

  /// Starts to listen for pushes, unless it does.
  func listen(to container: CKContainer, _ receive: @escaping @Sendable (PushBroadcast.Event) -> Void) {
    guard schedule.withLock({ $0.listener == nil && !$0.isStopped }) else { return }
    let listener = container.listen(pause: pause, receive)
    schedule.withLock { if !$0.isStopped { $0.listener = listener } }
  }

  /// Ends listening, because the pushes ended with an error or are those of another user. The next fetch listens again.
  func endListening() { _ = schedule.withLock { $0.listener.take() } }

  func observeAccount(of client: WebServicesClient, _ changed: @escaping @Sendable () -> Void) {
    observer.start(client, changed)
  }
}

/// Observes the account changes of the containers that share a client.
private final class AccountObserver: Sendable {
  /// The center's token. It is opaque, and the center may be asked from any thread to remove it.
  private struct Token: @unchecked Sendable {
    var observer: (any NSObjectProtocol)?
  }

  private let token = Mutex(Token())

  func start(_ client: WebServicesClient, _ changed: @escaping @Sendable () -> Void) {
    let center = NotificationCenter.default
    let observer = center.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) { notification in
      let container = notification.object as? CKContainer
      if (try? container?.client.get()) === client { changed() }
    }
    let new = Token(observer: observer)
    token.withLock { $0 = new }
  }

  func stop() {
    let old = token.withLock { token in
      defer { token = Token() }
      return token
    }
    if let observer = old.observer { NotificationCenter.default.removeObserver(observer) }
  }
}

extension CKError {
  /// The errors of the failed items, or this error.
  fileprivate var parts: [CKError] { partialErrorsByItemID?.values.map { CKError(any: $0) } ?? [self] }

  /// The longest wait that the server asked for.
  fileprivate var longestRetryAfter: Double? { parts.compactMap(\.retryAfterSeconds).max() }
}
