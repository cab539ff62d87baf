import CloudKit
import GRDB

/// What the driver says of itself, for every process that looks.
extension SyncStore {
  /// What a driver is doing.
  enum Activity: String {
    case idle, sending, fetching
  }

  func setActivity(_ activity: Activity, _ lease: Lease) throws(StoreError) {
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      try database.cachedStatement(
        sql: """
          UPDATE activity SET state = ?1, done = 0, total = 0, perSecond = NULL,
            phase = CASE ?1 WHEN 'sending' THEN 'send' WHEN 'fetching' THEN 'fetch' END
          WHERE state <> ?1
          """
      ).execute(arguments: [activity.rawValue])
    }
  }

  func setProgress(_ progress: Progress, _ lease: Lease) throws(StoreError) {
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      try database.cachedStatement(
        sql: "UPDATE activity SET phase = 'send', done = ?, total = ?, perSecond = ?"
      ).execute(arguments: [progress.done, progress.total, progress.perSecond])
    }
  }

  func setFetched(_ count: Int, _ lease: Lease) throws(StoreError) {
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      try database.cachedStatement(sql: "UPDATE activity SET phase = 'fetch', done = ?, total = ?, perSecond = NULL")
        .execute(arguments: [count, count])
    }
  }

  /// The end of a pass: the fact behind `inSync`.
  ///
  /// - Parameters:
  ///   - readAt: when the last reading of the feeds began; a change accepted later was not yet sent by then.
  ///   - isComplete: whether every feed was read to its end.
  func passEnded(readAt: Int64, isComplete: Bool, _ lease: Lease) throws(StoreError) {
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      for scope in [WaitScope.network, .account, .database] { try Throttles.clear(scope, database) }
      guard isComplete else { return try database.execute(sql: "UPDATE activity SET reachedEnd = 0, perSecond = NULL") }
      try database.execute(
        sql: """
          UPDATE activity SET lastSuccessAt = ?, errorStands = 0, perSecond = NULL,
            reachedEnd = coalesce(lastEnqueueAt, 0) <= ?
          """,
        arguments: [now, readAt]
      )
    }
  }

  /// The end of a pass that a pause or a wait cut short.
  func passInterrupted(_ lease: Lease) throws(StoreError) {
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      try database.execute(sql: "UPDATE activity SET reachedEnd = 0 WHERE reachedEnd = 1")
    }
  }

  /// What stopped a pass as a whole. Some scope waits in any case, so that nothing is asked again at once; what no wait
  /// will cure stands as an error until a pass ends well.
  func record(_ error: WebServicesError, random: Double, _ lease: Lease) throws(StoreError) {
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      let scope: WaitScope
      let passes: Bool
      switch error.code {
      case .networkError: (scope, passes) = (.network, true)
      case .throttled, .tryAgainLater: (scope, passes) = (.database, true)
      case .authenticationFailed, .authenticationRequired: (scope, passes) = (.account, true)
      default: (scope, passes) = (.database, error.retryAfter != nil)
      }
      try Throttles.set(scope, error, now: now, random: random, database)
      try database.execute(
        sql: "UPDATE activity SET errorCode = ?, errorMessage = ?, errorAt = ?, errorStands = ?, reachedEnd = 0",
        arguments: [error.code.name, error.reason, now, !passes]
      )
      try EventLog.add("error", "\(error.code.name): \(error.reason)", now: now, database)
    }
  }

  /// Whether a request may be made now: not paused, and inside no wait that holds up everything.
  func mayRequest() throws(StoreError) -> Bool {
    let now = now()
    return try read { database in
      if try Meta.value("paused", database) != nil { return false }
      let stopping = try Bool.fetchOne(
        database,
        sql: "SELECT EXISTS (SELECT 1 FROM throttles WHERE scope IN ('network', 'account', 'database') AND until > ?)",
        arguments: [now]
      )
      return stopping != true
    }
  }

  /// The wait that the server asked everybody for, while it lasts.
  func serversWait() throws(StoreError) -> WebServicesError? {
    let now = now()
    return try read { database in
      try Row.fetchOne(
        database,
        sql: "SELECT * FROM throttles WHERE scope = 'database' AND isOwn = 0 AND until > ?",
        arguments: [now]
      ).map { row in
        let seconds = Double((row["until"] as Int64) - now) / 1000
        return WebServicesError(ServerErrorCode(row["code"]), row["message"], retryAfter: seconds)
      }
    }
  }

  /// Operations that could go in this pass, for its progress.
  func sendableCount() throws(StoreError) -> Int {
    try read { try Int.fetchOne($0, sql: "SELECT count(*) FROM operations WHERE state = 'pending'") ?? 0 }
  }

  func keys(_ ids: [Int64]) throws(StoreError) -> [RecordKey] {
    try read { database in
      try ids.compactMap { try QueueTable.operation($0, database)?.key }
    }
  }

  // MARK: - Identity

  /// Whose store this is; nil before anybody authenticated with it.
  package func owner() throws(StoreError) -> String? {
    try read { try Meta.value("identity", $0) }
  }

  /// Refuses an identity other than the store's; one without owner takes any.
  func checkIdentity(_ identity: String) throws(StoreError) {
    let path = path
    try read { try Self.requireOwner(identity, path, $0) }
  }

  /// Who asks with an API token alone: nobody yet. What nobody has read becomes the store of whoever signs in.
  package static let nobody = "apiToken"

  private static func requireOwner(_ identity: String, _ path: String, _ database: Database) throws {
    guard let owner = try Meta.value("identity", database), owner != identity, owner != nobody else { return }
    throw StoreError(
      .otherScope,
      "the store \(path) belongs to \(owner), not to \(identity); nothing was sent, choose another with --store"
    )
  }

  /// Makes the store this identity's, or refuses: another one's changes are never sent from it.
  func adopt(identity: String, _ lease: Lease) throws(StoreError) {
    let now = now()
    let path = path
    try write { database in
      try lease.check(database, now: now)
      try Self.requireOwner(identity, path, database)
      try Meta.set("identity", identity, database)
    }
  }

  // MARK: - Zones made by the engine

  /// Takes the answer to the creation of zones that changes wait for.
  func zonesMade(
    _ zones: [ZoneKey],
    _ results: [WireZoneResult],
    random: Double,
    _ lease: Lease
  ) throws(StoreError) {
    let now = now()
    try write { database in
      try lease.check(database, now: now)
      for (index, zone) in zones.enumerated() {
        switch index < results.count ? results[index] : nil {
        case .zone: try ZoneTable.markCreatedHere(zone, database)
        case .failure(_, let error) where error.code == .exists: try ZoneTable.markCreatedHere(zone, database)
        case .failure(_, let error) where error.code == .badRequest || error.code == .accessDenied:
          try Self.failChanges(of: zone, error, now: now, database)
        case .failure(_, let error):
          try Throttles.set(.zone(zone), error, now: now, random: random, database)
        case nil:
          let error = WebServicesError(.unexpectedServerResponse, "the answer does not mention zone \(zone.zone)")
          try Throttles.set(.zone(zone), error, now: now, random: random, database)
        }
      }
    }
  }

  /// Changes of a zone that the server will not make: no waiting helps them.
  private static func failChanges(of zone: ZoneKey, _ error: WebServicesError, now: Int64, _ database: Database) throws
  {
    let held = try Row.fetchAll(
      database,
      sql: "SELECT \(QueuedOperation.columns) FROM operations WHERE zone = ? AND owner = ? AND name IS NOT NULL",
      arguments: [zone.zone, zone.owner]
    ).map(QueuedOperation.init(row:))
    for var operation in held where operation.state == .pending || operation.state == .waiting {
      operation.fail(error.code.name, "zone \(zone.zone) cannot be made: \(error.reason)")
      try QueueTable.update(operation, database)
    }
  }
}
