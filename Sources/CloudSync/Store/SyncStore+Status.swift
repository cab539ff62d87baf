import CloudKit
import GRDB

/// One look at everything.
extension SyncStore {
  package func status() throws(StoreError) -> StoreStatus {
    let now = now()
    let isDriven = Lease.isHeld(path)
    return try read { database in
      var status = StoreStatus(generatedAt: now)
      try Self.readQueue(into: &status, database)
      try Self.readRecords(into: &status, database)
      try Self.readWaits(into: &status, now: now, database)
      try Self.readActivity(into: &status, isDriven: isDriven, database)
      status.derive()
      return status
    }
  }

  private static func readQueue(into status: inout StoreStatus, _ database: Database) throws {
    let rows = try Row.fetchAll(
      database,
      sql:
        "SELECT state, count(*) AS number, sum(bytes) AS bytes, min(enqueuedAt) AS oldest FROM operations GROUP BY state"
    )
    for row in rows {
      let count: Int = row["number"]
      status.queue.total += count
      status.queue.bytes += row["bytes"] ?? 0
      switch OperationState(rawValue: row["state"]) {
      case .pending:
        status.queue.pending = count
        status.queue.oldestPendingAt = row["oldest"]
      case .inFlight: status.queue.inFlight = count
      case .waiting:
        status.queue.waiting = count
      case .failed: status.queue.failed = count
      case .paused: status.queue.paused = count
      case .conflict: status.queue.conflicts = count
      case nil: continue
      }
    }
    status.nextActionAt = try Int64.fetchOne(
      database,
      sql: "SELECT min(nextAttemptAt) FROM operations WHERE state = 'waiting'"
    )
    if status.nextActionAt != nil { status.nextAction = "retry" }
  }

  private static func readRecords(into status: inout StoreStatus, _ database: Database) throws {
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT zone, type, sum(number) AS number FROM (
          SELECT zone, type, count(*) AS number FROM records GROUP BY zone, type
          UNION ALL
          SELECT o.zone, o.type, CASE o.operation WHEN 'save' THEN 1 ELSE -1 END FROM operations o
            WHERE o.name IS NOT NULL AND o.type IS NOT NULL
              AND (o.operation = 'save') = NOT EXISTS (SELECT 1 FROM records r
                WHERE r.zone = o.zone AND r.owner = o.owner AND r.name = o.name))
        GROUP BY zone, type HAVING sum(number) > 0
        """
    )
    for row in rows {
      status.recordsByType[row["type"], default: 0] += row["number"]
      status.recordsByZone[row["zone"], default: 0] += row["number"]
    }
  }

  private static func readWaits(into status: inout StoreStatus, now: Int64, _ database: Database) throws {
    let rows = try Row.fetchAll(
      database,
      sql: "SELECT * FROM throttles WHERE until > ? ORDER BY scope",
      arguments: [now]
    )
    status.throttles = rows.map { row in
      StoreStatus.Throttle(
        scope: row["scope"],
        until: row["until"],
        error: row["code"],
        message: row["message"],
        isOwn: row["isOwn"]
      )
    }
    // An account's trouble lasts until a request gets through, not until the next probe.
    if let row = try Row.fetchOne(database, sql: "SELECT * FROM throttles WHERE scope = 'account'") {
      status.accountProblem = StoreStatus.Failure(code: row["code"], message: row["message"], at: row["until"])
    }
  }

  private static func readActivity(into status: inout StoreStatus, isDriven: Bool, _ database: Database) throws {
    status.isPaused = try Meta.value("paused", database) != nil
    status.identity = try Meta.value("identity", database)
    if let row = try Row.fetchOne(database, sql: "SELECT pid, host FROM lease") {
      status.driver = StoreStatus.Driver(pid: row["pid"], host: row["host"], isLive: isDriven)
    }
    guard let row = try Row.fetchOne(database, sql: "SELECT * FROM activity") else { return }
    status.lastSuccessAt = row["lastSuccessAt"]
    status.lastEnqueueAt = row["lastEnqueueAt"]
    status.errorStands = row["errorStands"]
    status.reachedEnd = row["reachedEnd"]
    if let code = row["errorCode"] as String? {
      status.lastError = StoreStatus.Failure(code: code, message: row["errorMessage"] ?? "", at: row["errorAt"] ?? 0)
    }
    guard isDriven else { return }
    if let phase = (row["phase"] as String?).flatMap(Progress.Phase.init(rawValue:)) {
      status.progress = Progress(phase: phase, done: row["done"], total: row["total"], perSecond: row["perSecond"])
    }
    switch row["state"] as String {
    case "sending": status.state = .sending
    case "fetching": status.state = .fetching
    default: break
    }
  }
}

extension StoreStatus {
  /// The truth table from facts to one state with its reason, worst first.
  mutating func derive() {
    let waits = Dictionary(throttles.map { ($0.scope, $0) }) { first, _ in first }
    if isPaused {
      state = .paused
      reason = "paused by an operator"
    } else if let problem = accountProblem {
      state = .error
      reason = "\(problem.code): \(problem.message)"
      probe(waits["account"])
    } else if let wait = waits["network"] {
      state = .offline
      reason = wait.message.isEmpty ? "the cloud cannot be reached" : wait.message
      nextActionAt = wait.until
      nextAction = "try again"
    } else if state == .sending || state == .fetching {
      reason = state == .sending ? "sending changes" : "reading the server's changes"
    } else if errorStands, let lastError {
      state = .error
      reason = "\(lastError.code): \(lastError.message)"
      let feeds = throttles.filter { $0.scope.hasPrefix("feed:") }
      probe(waits["database"] ?? feeds.min { $0.until < $1.until })
    } else if let wait = waits["database"] {
      state = .waiting
      reason = "\(wait.error): " + (wait.isOwn ? "backing off" : "the server asked to wait")
      nextActionAt = wait.until
      nextAction = "go on"
    } else if queue.pending > 0, let wait = throttles.min(by: { $0.until < $1.until }) {
      state = .waiting
      reason = "\(wait.error): \(wait.scope) waits"
      nextActionAt = min(wait.until, nextActionAt ?? wait.until)
      nextAction = "go on"
    } else if queue.total > 0, queue.total == queue.paused {
      state = .paused
      reason = "all queued operations are paused"
    } else if queue.waiting > 0 {
      state = .waiting
      reason = "\(queue.waiting) in back-off"
    } else {
      state = .idle
      reason = idleReason
    }
  }

  private mutating func probe(_ wait: Throttle?) {
    guard let wait else { return }
    nextActionAt = wait.until
    nextAction = "try again"
  }

  private var idleReason: String {
    var parts: [String] = []
    if queue.failed > 0 { parts.append("\(queue.failed) failed") }
    if queue.conflicts > 0 { parts.append("\(queue.conflicts) in conflict") }
    if queue.paused > 0 { parts.append("\(queue.paused) paused") }
    if queue.pending > 0 { parts.append("\(queue.pending) to be sent") }
    if parts.isEmpty { return lastSuccessAt == nil ? "never synced" : "everything is sent" }
    return parts.joined(separator: ", ")
  }
}
