import CloudSync
import Dispatch

/// What a driver tells where no person watches it, for the log of the service that it is: what the store notes as it
/// happens, and what the engine has come to, a line each.
struct Journal {
  private var lastEvent: Int64
  private var lastState = ""

  /// - Parameter lastEvent: the newest event that is known already; 0 where there is none.
  init(after lastEvent: Int64) { self.lastEvent = lastEvent }

  /// What is new.
  ///
  /// - Parameter events: the latest, newest first.
  mutating func lines(_ status: StoreStatus, _ events: [EventRow]) -> [String] {
    var lines = events.prefix { $0.id > lastEvent }.reversed().map { Self.line($0.at, $0.kind, $0.message) }
    lastEvent = max(lastEvent, events.first?.id ?? 0)
    // What it is at just now changes with each request; what it has come to is what tells how it goes.
    let isAtWork = status.state == .sending || status.state == .fetching
    guard !isAtWork, status.state != .idle || status.queue.pending + status.queue.inFlight == 0 else { return lines }
    let state = Self.state(status)
    if state != lastState { lines.append(Self.line(status.generatedAt, "state", state)) }
    lastState = state
    return lines
  }

  private static func state(_ status: StoreStatus) -> String {
    status.isInSync ? "in sync" : "\(status.state.rawValue): \(status.reason)"
  }

  private static func line(_ time: Int64, _ kind: String, _ message: String) -> String {
    "\(RFC3339.text(milliseconds: time) ?? "") \(kind) \(message)".visible
  }
}

/// Writes a store's journal to standard error, whoever drives.
final class JournalWriter: Sendable {
  private let task: Task<Void, Never>
  private let changes: AsyncStream<Void>.Continuation

  /// Starts with what the store is at.
  init(_ store: SyncStore) {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    continuation.yield()
    let watcher = StoreWatcher(store, queue: .global()) { continuation.yield() }
    changes = continuation
    task = Task {
      // Where the system has no watches to give.
      let beat = watcher == nil ? Task { while await Self.pause(1000) { continuation.yield() } } : nil
      defer { beat?.cancel() }
      var journal = Journal(after: (try? store.events(limit: 1))?.first?.id ?? 0)
      for await _ in stream {
        // Between two looks much may happen; one that fails is made again after the next change.
        if let status = try? store.status(), let events = try? store.events(limit: 1000) {
          OutputStream.error.lines(journal.lines(status, events))
        }
        await Self.pause(250)
      }
      _ = watcher
    }
  }

  @discardableResult
  private static func pause(_ milliseconds: Int) async -> Bool {
    (try? await Task.sleep(for: .milliseconds(milliseconds))) != nil
  }

  /// Stops, after a last look.
  func stop() async {
    changes.yield()
    changes.finish()
    await task.value
  }
}
