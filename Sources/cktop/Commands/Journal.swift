import CloudSync
import Dispatch
import Foundation

/// What a driver tells where no person watches it, for the log of the service that it is: what the store notes as it
/// happens, what becomes a person's matter, and what the engine has come to, a line each.
struct Journal {
  private var lastEvent: Int64
  private var lastState = ""
  private var troubledAt: Int64 = 0
  /// Operations that have been told of, with what they had come to.
  private var told: [Int64: String] = [:]

  /// - Parameter lastEvent: the newest event that is known already; 0 where there is none.
  init(after lastEvent: Int64) { self.lastEvent = lastEvent }

  /// What is new.
  ///
  /// - Parameters:
  ///   - events: the latest, newest first.
  ///   - stuck: operations that wait for a person.
  mutating func lines(_ status: StoreStatus, _ events: [EventRow], stuck: [QueueRow] = []) -> [String] {
    let now = status.generatedAt
    var lines = events.prefix { $0.id > lastEvent }.reversed().map { Self.line($0.at, $0.kind, $0.message) }
    lastEvent = max(lastEvent, events.first?.id ?? 0)
    for row in stuck where told[row.id] != row.reason {
      let what = "\(row.kind.rawValue) \(row.type ?? "") \(row.key.name) in zone \(row.key.zone)"
      lines.append(Self.line(now, row.state.rawValue, "operation \(row.id), \(what): \(row.reason)"))
    }
    told = Dictionary(stuck.map { ($0.id, $0.reason) }) { $1 }
    // What it is at just now changes with each request; what it has come to is what tells how it goes.
    switch status.state {
    case .sending, .fetching: return lines
    case .idle where status.queue.pending + status.queue.inFlight > 0: return lines
    // Trouble is over once a pass has ended well, not when it is about to try again.
    case .idle where (status.lastSuccessAt ?? 0) < troubledAt: return lines
    case .idle, .paused: troubledAt = 0
    case .waiting, .offline, .error: troubledAt = now
    }
    let state = Self.state(status)
    if state != lastState { lines.append(Self.line(now, "state", state)) }
    lastState = state
    return lines
  }

  private static func state(_ status: StoreStatus) -> String {
    status.isInSync ? "in sync" : "\(status.state.rawValue): \(status.reason)"
  }

  static func line(_ time: Int64, _ kind: String, _ message: String) -> String {
    "\(RFC3339.text(milliseconds: time) ?? "") \(kind) \(message)".visible
  }
}

/// Writes a store's journal to standard error, whoever drives.
final class JournalWriter: Sendable {
  private let task: Task<Void, Never>
  private let changes: AsyncStream<Void>.Continuation

  /// Starts with what the store is at.
  init(_ store: SyncStore, _ redactor: Redactor) {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    continuation.yield()
    let watcher = StoreWatcher(store, queue: .global()) { continuation.yield() }
    changes = continuation
    Self.write("start", "process \(getpid()) syncs \(store.path)")
    task = Task {
      // Where the system has no watches to give.
      let beat = watcher == nil ? Task { while await Self.pause(1000) { continuation.yield() } } : nil
      defer { beat?.cancel() }
      var journal = Journal(after: (try? store.events(limit: 1))?.first?.id ?? 0)
      for await _ in stream {
        // Between two looks much may happen; one that fails is made again after the next change.
        let lines = try? Self.look(store, &journal)
        OutputStream.error.lines((lines ?? []).map(redactor.redact))
        await Self.pause(250)
      }
      _ = watcher
    }
  }

  private static func look(_ store: SyncStore, _ journal: inout Journal) throws -> [String] {
    let status = try store.status()
    let isStuck = status.queue.failed + status.queue.conflicts > 0
    let filter = try QueueFilter(parsing: "state in ('failed', 'conflict')")
    let stuck = isStuck ? try store.operations(matching: filter, limit: 500).rows : []
    return journal.lines(status, try store.events(limit: 200), stuck: stuck)
  }

  private static func write(_ kind: String, _ message: String) {
    OutputStream.error.line(Journal.line(SyncStore.currentTime, kind, message))
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
    Self.write("end", "process \(getpid()) was told to stop, or cannot go on")
  }
}
