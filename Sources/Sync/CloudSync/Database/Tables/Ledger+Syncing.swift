import CloudKit
import Facts
import GRDB

/// The tables `lease`, `activity` and `syncRequests`.
extension Ledger {
  func lease() throws -> LeaseHolder? {
    let statement = try database.cachedStatement(sql: "SELECT * FROM lease ORDER BY fencingToken DESC LIMIT 1")
    return try LeaseHolder.fetchOne(statement)
  }

  /// The process that had the lease with a fencing token, if it is kept.
  func formerLease(_ fencingToken: Int64) throws -> LeaseHolder? {
    try LeaseHolder.fetchOne(database, key: fencingToken)
  }

  /// Stores the new holder of the lease.
  ///
  /// - Parameter former: the fencing token of one before it that has not ended; all others are forgotten.
  func put(_ lease: LeaseHolder, keeping former: Int64?) throws {
    try lease.insert(database, onConflict: .replace)
    try run("DELETE FROM lease WHERE fencingToken NOT IN (?, ?)", [lease.fencingToken, former ?? lease.fencingToken])
  }

  /// Sets the end of the lease if it still has this fencing token. Returns whether it does.
  func extendLease(fencingToken: Int64, until end: Int64?, clockOffset: Int64? = nil) throws -> Bool {
    try run(
      """
      UPDATE lease SET expiresAt = ?, clockOffset = ?
        WHERE fencingToken = ? AND fencingToken = (SELECT max(fencingToken) FROM lease)
      """,
      [end, clockOffset, fencingToken]
    )
    return database.changesCount == 1
  }

  /// The latest idle state of the process that has the lease, or that had it with a fencing token; nil before its
  /// first.
  func rest(of fencingToken: Int64? = nil) throws -> EngineRest? {
    try row(
      """
      SELECT restNumber, wakesAt, restedAt, pollInterval FROM lease
        WHERE fencingToken = coalesce(?, (SELECT max(fencingToken) FROM lease)) AND restNumber > 0
      """,
      [fencingToken]
    ).map { row in EngineRest(number: row[0], wakesAt: row[1], at: row[2], pollInterval: row[3]) }
  }

  func put(_ rest: EngineRest) throws {
    try run(
      """
      UPDATE lease SET restNumber = ?, wakesAt = ?, restedAt = ?, pollInterval = ?
        WHERE fencingToken = (SELECT max(fencingToken) FROM lease)
      """,
      [rest.number, rest.wakesAt, rest.at, rest.pollInterval]
    )
  }

  func activity() throws -> EngineActivity {
    try EngineActivity.fetchOne(database.cachedStatement(sql: "SELECT * FROM activity")) ?? EngineActivity()
  }

  // MARK: - Requested syncs

  func insertRequest(requestedAt: Int64, types: [String], isWithoutApp: Bool = false) throws -> Int64 {
    try run(
      "INSERT INTO syncRequests(requestedAt, types, isWithoutApp) VALUES (?, ?, ?)",
      [requestedAt, types.joined(separator: ","), isWithoutApp]
    )
    return database.lastInsertedRowID
  }

  func request(_ id: Int64) throws -> SyncRequest? { try SyncRequest.fetchOne(database, key: id) }

  func openRequests() throws -> [SyncRequest] {
    try rows("SELECT * FROM syncRequests WHERE finishedAt IS NULL ORDER BY id").map(SyncRequest.init(row:))
  }

  func removeRequests(finishedBefore time: Int64) throws {
    try run("DELETE FROM syncRequests WHERE finishedAt < ?", [time])
  }
}

/// The state that the engine and operators publish.
extension Ledger {
  func changeActivity(_ body: (inout EngineActivity) -> Void) throws {
    let before = try activity()
    var activity = before
    body(&activity)
    if activity != before { try put(activity) }
  }

  /// Publishes an error. If it `stands`, only a successful sync clears it.
  func noteError(_ error: WebServicesError, stands: Bool, now: Int64) throws {
    try changeActivity { row in
      row.note(error, now: now)
      row.errorStands = stands
      row.reachedEnd = false
    }
  }

  /// Whether the latest error holds: since then no request of its scope, or of the change that met it, has succeeded.
  func holdsError(_ activity: EngineActivity) throws -> Bool {
    guard let code = activity.errorCode, !activity.errorStands else { return activity.errorStands }
    return try one(
      """
      SELECT EXISTS (SELECT 1 FROM throttles WHERE code = ? AND isOver = 0)
        OR EXISTS (SELECT 1 FROM operations WHERE errorCode = ?)
      """,
      [code, code]
    ) ?? false
  }

  func isWaiting(_ scope: WaitScope, now: Int64) throws -> Bool { try wait(scope).map { $0.until > now } ?? false }
}

/// The event log: what the engine and operators did; the newest are kept.
enum EventLog {
  /// The number of events kept of each kind, so that many failures do not push out the commands.
  static let kept = 1000

  /// Adds an event.
  ///
  /// - Parameters:
  ///   - operation: the operation that it is about; its zone becomes the event's.
  ///   - zone: the zone that it is about, if it is about no operation.
  static func add(
    _ event: Event,
    of operation: QueuedOperation? = nil,
    in zone: ZoneKey? = nil,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    try add(event, operation: operation?.id, zone: operation?.key.zone ?? zone?.zone, now: now, ledger)
  }

  /// Adds an event unless the same one was added within the last hour.
  static func addHourly(_ event: Event, in zone: ZoneKey?, now: Int64, _ ledger: Ledger) throws {
    if try !ledger.hasLogged(event, since: now - SystemClock.hour) { try add(event, in: zone, now: now, ledger) }
  }

  static func add(
    _ event: Event,
    operation: Int64?,
    zone: String?,
    actor: String? = nil,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    try ledger.logStart()
    let id = try ledger.add(event, at: now, operation: operation, zone: zone, actor: actor)
    // Not for each one: up to a hundred more are kept.
    guard id % 100 == 0 else { return }
    for kind in Event.kinds { try ledger.removeEvents(kind: kind, keeping: kept) }
  }
}

extension EngineActivity {
  /// Stores the latest error.
  mutating func note(_ error: WebServicesError, now: Int64) {
    errorCode = error.code.name
    errorMessage = error.reason
    errorAt = now
  }
}
