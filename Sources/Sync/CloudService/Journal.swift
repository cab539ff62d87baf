package import CloudSync
package import Facts

/// The log of a syncing process that runs without a terminal. It has one line for each event of the store, each error
/// that is retried, each change of the syncing process and each change of the verdict.
package struct Journal {
  private let process: Int64
  private let format: Format
  private var lastEvent: Int64
  private var lastState = ""
  private var troubledAt: Int64 = 0
  /// The error codes of operations in back-off that were logged since the last success.
  private var backedOff: Set<String> = []
  /// The process that syncs instead of this one.
  private var otherDriver: Int64?

  /// - Parameters:
  ///   - lastEvent: The ID of the newest event that is not logged; 0 logs all events.
  ///   - process: The ID of this process.
  package init(after lastEvent: Int64, process: Int64, format: Format = Format()) {
    (self.format, self.lastEvent, self.process) = (format, lastEvent, process)
  }

  /// Returns the lines for what is new in a store.
  package mutating func lines(_ reader: StoreReader) throws -> [String] {
    let waiting = try QueueFilter(parsing: "state = 'waiting'")
    return try reader.view { view in
      let status = try view.status()
      return lines(
        status,
        try view.events(after: lastEvent),
        waiting: status.queue.waiting > 0 ? try view.operations(matching: waiting, limit: 500).rows : []
      )
    }
  }

  /// Returns the lines for what is new.
  ///
  /// - Parameters:
  ///   - events: The latest events, newest first.
  ///   - waiting: The operations in back-off.
  package mutating func lines(
    _ status: StoreStatus,
    _ events: [EventRow],
    waiting: [QueueRow] = []
  ) -> [String] {
    let now = status.generatedAt
    var lines = events.prefix { $0.id > lastEvent }.reversed().map { Self.line($0.at, $0.kind, $0.message, format) }
    lastEvent = max(lastEvent, events.first?.id ?? 0)
    lines += driverLines(status)
    lines += backOffLines(waiting, now)
    let verdicts = status.verdicts(hasCredential: true)
    let verdict = verdicts.first
    // What keeps the store from being written is logged where the syncing process meets it.
    if verdict.kind == .storeFull { return lines }
    // Sending and fetching alternate with each request; only the outcome is logged, and that there is none.
    let isStopped = verdict.urgency == .act || verdict.kind == .offline
    switch status.state {
    case .sending where !isStopped, .fetching where !isStopped: return lines
    case .sending, .fetching: break
    case .idle where status.queue.pending + status.queue.inFlight > 0: return lines
    // A problem is over when a sync succeeds, not when the next attempt begins.
    case .idle where (status.lastSuccessAt ?? 0) < troubledAt: return lines
    case .idle, .paused:
      troubledAt = 0
      backedOff = []
    case .waiting, .offline, .error: troubledAt = now
    }
    if verdict.label != lastState {
      let sentence = verdicts.sentence(format, now: now)
      lines.append(Self.line(now, "state", "\(verdict.label): \(sentence)", format))
    }
    lastState = verdict.label
    return lines
  }

  /// Returns a line for one operation per new error code; the store has every attempt.
  private mutating func backOffLines(_ waiting: [QueueRow], _ now: Int64) -> [String] {
    let byError = Dictionary(grouping: waiting) { $0.errorCode ?? "no reply" }
    let new = byError.filter { !backedOff.contains($0.key) }.sorted { $0.key < $1.key }
    backedOff.formUnion(byError.keys)
    return new.map { code, rows in
      let others = rows.count == 1 ? "" : " and \(rows.count - 1) more"
      let message = rows[0].errorMessage.map { ": \($0)" } ?? ""
      return Self.line(now, "retrying", "\(Self.what(rows[0]))\(others): \(code)\(message); will be retried", format)
    }
  }

  private mutating func driverLines(_ status: StoreStatus) -> [String] {
    guard let holder = status.syncingProcess, holder.isLive else { return [] }
    let other = holder.isAnother(than: process) ? holder.pid : nil
    guard other != otherDriver else { return [] }
    otherDriver = other
    // That this process syncs is an event of the store.
    return other.map { [Self.line(status.generatedAt, "syncing", "process \($0) on \(holder.host)", format)] } ?? []
  }

  private static func what(_ row: QueueRow) -> String {
    "operation \(row.id), \(row.kind.phrase(row.type, row.key))"
  }

  /// The first line of a process that starts to sync, or to wait until another one ends.
  package static func start(_ process: Int64, _ path: String, _ holder: StoreStatus.SyncingProcess?) -> String {
    guard let holder, holder.isAnother(than: process) else { return "process \(process) started syncing \(path)" }
    return "process \(process) waits to sync \(path); process \(holder.pid) on \(holder.host) is syncing it"
  }

  package static func line(_ time: Int64, _ kind: String, _ message: String, _ format: Format = Format()) -> String {
    "\(format.stamp(time)) \(kind) \(message)"
  }
}
