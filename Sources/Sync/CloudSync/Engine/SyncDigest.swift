import Facts

/// Decides which syncs of a process that keeps syncing share a line of the log: another device that sends 10,000
/// records is 50 syncs of 200 here, and two events.
///
/// A sync is logged at once unless another was shortly before it. Those that follow one another closely are one line,
/// when none has followed for a while.
struct SyncDigest {
  /// A line of the log, with its own time: the end of the last sync in it.
  struct Line: Hashable {
    var event: Event
    var at: Int64
  }

  /// Syncs that are not logged yet.
  private struct Open {
    var summary: SyncSummary
    var startedAt: Int64
    var endedAt: Int64
  }

  /// Milliseconds after a sync within which another one follows it closely.
  static let quiet: Int64 = 5_000
  /// Milliseconds after which syncs that go on and on are logged.
  static let longest: Int64 = 30_000

  private var open: Open?
  /// When the last sync that changed something ended.
  private var lastEnd: Int64?

  /// When the open line is to be logged; nil if there is none.
  var dueAt: Int64? { open.map { min($0.endedAt + Self.quiet, $0.startedAt + Self.longest) } }

  /// Adds a sync that ended, and returns the line to log now.
  ///
  /// - Parameter isAsked: whether a person asked for it, who may look for it in the log.
  mutating func add(_ summary: SyncSummary, from startedAt: Int64, isAsked: Bool, now: Int64) -> Line? {
    guard summary.hasChanged else { return due(at: now) }
    let follows = lastEnd.map { (0..<Self.quiet).contains(startedAt - $0) } ?? false
    var line = open ?? Open(summary: SyncSummary(), startedAt: startedAt, endedAt: now)
    line.summary.add(summary)
    line.endedAt = now
    (open, lastEnd) = (line, now)
    return follows && !isAsked ? due(at: now) : end()
  }

  /// Returns the line if it is time to log it. After a jump of the clock it is.
  mutating func due(at now: Int64) -> Line? {
    guard let open, let dueAt, now >= dueAt || now < open.endedAt else { return nil }
    return end()
  }

  /// Returns the open line, however short ago.
  mutating func end() -> Line? {
    guard let line = open else { return nil }
    open = nil
    let seconds = Double(max(0, line.endedAt - line.startedAt)) / 1000
    return Line(event: line.summary.synced(seconds: seconds), at: line.endedAt)
  }
}

extension Ledger {
  /// Adds a line about syncs to the event log.
  func add(_ line: SyncDigest.Line) throws { try EventLog.add(line.event, now: line.at, self) }
}
