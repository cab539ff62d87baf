import Foundation
import GRDB

/// Selecting candidates among the operations. Payloads are not read until an operation is sent.
extension Ledger {
  /// Returns the candidates of operations, in the order of the source.
  ///
  /// - Parameter source: the rest of the statement that selects the operations as `o`.
  func candidates(_ source: String, _ arguments: StatementArguments = []) throws -> [Candidate] {
    try rows("\(Self.selection) \(source)", arguments, as: Self.candidate)
  }

  /// An operation without what other operations do to it; nil if it is not in the queue.
  func candidate(_ id: Int64) throws -> Candidate? { try candidates("FROM operations o WHERE id = ?", [id]).first }

  func candidates(_ ids: [Int64]) throws -> [Candidate] {
    try candidates("FROM operations o WHERE id IN (SELECT value FROM json_each(?))", [Self.json(ids)])
  }

  /// The members of an atomic group.
  func members(of group: String) throws -> [Candidate] {
    try candidates("FROM operations o INDEXED BY operationsByGroup WHERE atomicGroup = ? ORDER BY id", [group])
  }

  /// The operations on zones, oldest first.
  func zoneOperations() throws -> [Candidate] {
    try candidates("FROM operations o INDEXED BY operationsOfZones WHERE name IS NULL ORDER BY id")
  }

  /// The next thousand operations in back-off, the earliest end first, until `visit` returns false.
  func eachBackOff(after time: Int64, _ visit: (Candidate) throws -> Bool) throws {
    let sql = "\(Self.selection) FROM operations o WHERE nextAttemptAt > ? ORDER BY nextAttemptAt LIMIT 1000"
    let rows = try Row.fetchCursor(database.cachedStatement(sql: sql), arguments: [time])
    while let row = try rows.next() { guard try visit(Self.candidate(row)) else { return } }
  }

  /// The columns of a candidate, which is read by position. The payload is not read.
  static let selection = """
    SELECT id, operation, zone, owner, bytes, atomicGroup, bisection,
      CASE operation WHEN 'save' THEN (SELECT count(*) FROM refs WHERE operation = o.id AND isReleased = 0) ELSE 0 END AS links,
      CASE WHEN json_valid(assets) THEN json_array_length(assets) ELSE 0 END AS assets,
      type, state, nextAttemptAt, needsVerification, needsUpload, \(isRecordGone) AS isGone,
      waitsFor IS id AS closesCycle
    """

  static func candidate(_ row: Row) throws -> Candidate {
    guard let kind = OperationKind(rawValue: row[1]), let state = OperationState(rawValue: row[10]) else {
      throw UnreadableRow(.operation(row[0]), StoreError(.damaged, "an operation or state of unknown name"))
    }
    do { try QueuedOperation.check(bytes: row[4], enqueuedAt: 0) } catch {
      throw UnreadableRow(.operation(row[0]), error)
    }
    return Candidate(
      id: row[0],
      kind: kind,
      zone: ZoneKey(zone: row[2], owner: row[3]),
      type: row[9],
      bytes: row[4],
      references: row[7],
      assets: row[8],
      group: row[5],
      bisection: row[6],
      state: state,
      nextAttemptAt: row[11],
      needsCheck: row[12],
      needsUpload: row[13],
      isGone: row[14],
      closesCycle: row[15]
    )
  }

  /// Reads with one statement what every plan needs.
  func planFacts() throws -> PlanFacts {
    let sql = """
      SELECT operationLimit, turn, settings,
          EXISTS (SELECT 1 FROM operations INDEXED BY operationsInBisection WHERE bisection IS NOT NULL) AS hasBisections,
          EXISTS (SELECT 1 FROM endedBlockers f CROSS JOIN operations o ON o.waitsFor = f.blocker AND o.id > f.done)
            AS hasEndedBlockers
        FROM state
      """
    return try PlanFacts.fetchOne(database.cachedStatement(sql: sql)) ?? PlanFacts()
  }

  /// The parts of the queue with changes of records that are pending or waiting, those of the zone served longest ago
  /// first.
  func sendParts() throws -> [SendPart] {
    try rows(
      """
      SELECT c.zone, c.owner, c.operation, c.type, c.state, c.count
        FROM zones z JOIN queueCounts c ON c.\(Self.isOpen) AND c.zone = z.zone AND c.owner = z.owner
        WHERE c.count > 0 AND c.operation IN ('save', 'delete')
        ORDER BY z.served, z.owner, z.zone, c.type, c.operation, c.state
      """
    ).compactMap { row in
      guard let kind = OperationKind(rawValue: row[2]), let state = OperationState(rawValue: row[4]) else { return nil }
      let type: String = row[3]
      return SendPart(
        zone: ZoneKey(zone: row[0], owner: row[1]),
        kind: kind,
        type: type.isEmpty ? nil : type,
        state: state,
        count: row[5]
      )
    }
  }

  // MARK: - Conditions

  /// The condition of the partial indexes, by which SQLite knows them again.
  static let isOpen = isIn(OperationState.open)

  static func isIn(_ states: [OperationState]) -> String {
    "state IN (\(states.map { "'\($0.rawValue)'" }.joined(separator: ", ")))"
  }

  /// The condition for operations of records that `SendScope` may allow to be sent. It limits what is read: operations
  /// on hold would fill the window. `:held` are the parts of the queue on hold.
  static let sendable = """
    (state = 'pending' OR (state = 'waiting' AND nextAttemptAt <= :now)) AND name IS NOT NULL AND NOT \(isRecordGone)
      AND (zone, owner, operation, coalesce(type, '')) NOT IN
        (SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:held))
    """

  static let ready = "\(sendable) AND needsVerification = 0 AND needsUpload = 0"

  /// The condition for operations whose record the server has deleted, as far as that is not applied yet.
  static let isRecordGone = """
    EXISTS (SELECT 1 FROM
      (SELECT zone AS goneZone, owner AS goneOwner, name AS goneName FROM records INDEXED BY recordsGone WHERE epoch < 0)
      WHERE goneZone = zone AND goneOwner = owner AND goneName = name)
    """

  /// The condition that an operation has no group, or one whose members are all ready.
  static let isOfReadyGroup = """
    (o.atomicGroup IS NULL OR NOT EXISTS (SELECT 1 FROM
      (SELECT * FROM operations INDEXED BY operationsByGroup WHERE atomicGroup = o.atomicGroup) WHERE NOT (\(ready))))
    """

  /// The condition that an operation has no group, or that no member of its group has a noted blocker.
  static let isOfFreeGroup = """
    (atomicGroup IS NULL OR NOT EXISTS
      (SELECT 1 FROM operations m WHERE m.atomicGroup = o.atomicGroup AND m.waitsFor IS NOT NULL))
    """

  /// The members of a group without a note that are blocked from outside.
  func blockedFromOutside(_ group: String) throws -> [Int64] {
    try all(
      """
      SELECT m.id FROM operations m WHERE m.atomicGroup = ? AND m.waitsFor IS NULL
        AND EXISTS (SELECT 1 FROM blockers b JOIN operations p ON p.id = b.blocker
          WHERE b.operation = m.id AND p.atomicGroup IS NOT m.atomicGroup)
      """,
      [group]
    )
  }

  static func json(_ ids: [Int64]) -> String { "[" + ids.map(String.init).joined(separator: ",") + "]" }

  static func json(_ values: some Encodable) throws -> String {
    String(decoding: try JSONEncoder().encode(values), as: UTF8.self)
  }

  /// Whether the back-off of an operation of a part is over.
  func hasDue(_ part: SendPart, now: Int64) throws -> Bool {
    try one(
      """
      SELECT EXISTS (SELECT 1 FROM operations INDEXED BY operationsToSend WHERE zone = ? AND owner = ?
        AND state = 'waiting' AND nextAttemptAt <= ? AND name IS NOT NULL AND operation = ? AND type IS ?)
      """,
      [part.zone.zone, part.zone.owner, now, part.kind.rawValue, part.type]
    ) ?? false
  }

  func groupSize(_ group: String) throws -> Int {
    try one("SELECT count(*) FROM operations WHERE atomicGroup = ?", [group]) ?? 0
  }

  /// The time since which one of these operations is not waiting for its own next attempt; nil if there are none.
  func sendableSince(_ ids: [Int64]) throws -> Int64? {
    guard !ids.isEmpty else { return nil }
    let since: Int64? = try one(
      """
      SELECT min(max(editedAt, coalesce(nextAttemptAt, 0))) FROM operations
        WHERE id IN (SELECT value FROM json_each(?))
      """,
      [Self.json(ids)]
    )
    return since.map { max(0, $0) }
  }

  /// The end of the longest wait that the server asked for a single operation.
  func longestServersWait(after time: Int64) throws -> Int64? {
    try one(
      """
      SELECT max(nextAttemptAt) FROM operations INDEXED BY operationsThrottled
        WHERE state = 'waiting' AND isServersWait = 1 AND nextAttemptAt > ?
      """,
      [time]
    )
  }

  func nextBackOffEnd(after time: Int64) throws -> Int64? {
    // Only waiting operations have a `nextAttemptAt`.
    try one("SELECT min(nextAttemptAt) FROM operations WHERE nextAttemptAt > ?", [time])
  }
}

/// The facts of a store that every plan needs, beside its scope and queue.
struct PlanFacts: Decodable, FetchableRecord {
  var operationLimit: Int?
  /// The number of requests so far.
  var turn: Int64?
  var settings: String?
  /// Whether an operation was in a request that was rejected as a whole.
  var hasBisections = false
  /// Whether a note names an operation that may no longer block.
  var hasEndedBlockers = false
}

/// The changes of records in one zone that share their kind, type and state.
struct SendPart {
  var zone: ZoneKey
  var kind: OperationKind
  var type: String?
  var state: OperationState
  var count: Int

  /// One of them, about which nothing else is known.
  var candidate: Candidate { Candidate(kind: kind, zone: zone, type: type) }
}
