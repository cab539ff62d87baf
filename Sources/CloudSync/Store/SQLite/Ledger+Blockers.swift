import Facts
import Foundation
import GRDB

/// Which operations block which.
///
/// `waitsFor` holds one blocker of each blocked operation, its noted blocker, so that planning skips the operation. When a
/// blocker ends, the notes that name it are renewed, a limited number in each transaction. Following the notes finds every
/// cycle: if only members of a cycle block an operation, its note names a member.
extension Ledger {
  /// The operations that block one, oldest first: for a save the creation of records it refers to, for a delete the
  /// deletes of records that referred to it and the saves that remove such references.
  func blockers(of id: Int64, limit: Int = -1) throws -> [Int64] {
    try all("SELECT blocker FROM blockers WHERE operation = ? ORDER BY blocker LIMIT ?", [id, limit])
  }

  /// The operations that block each of these, at most `limit` of each. An order of them would read the whole view.
  func blockers(ofEach ids: [Int64], limit: Int = -1) throws -> [Int64: Set<Int64>] {
    guard !ids.isEmpty else { return [:] }
    return try rows(
      """
      SELECT e.value,
          (SELECT json_group_array(blocker) FROM (SELECT blocker FROM blockers b WHERE b.operation = e.value LIMIT ?))
        FROM json_each(?) e
      """,
      [limit, Self.json(ids)]
    ).reduce(into: [:]) { $0[$1[0]] = Set(try JSONDecoder().decode([Int64].self, from: Data(($1[1] as String).utf8))) }
  }

  /// Operations with everything that blocks them, directly or indirectly, and the members of their groups.
  static let dependencies = """
    WITH RECURSIVE reached(id) AS (
      SELECT value FROM json_each(:ids)
      UNION SELECT b.blocker FROM reached JOIN blockers b ON b.operation = reached.id
      UNION SELECT m.id FROM reached JOIN operations g ON g.id = reached.id
        JOIN operations m ON m.atomicGroup = g.atomicGroup)
    SELECT id FROM reached
    """

  /// Whether a blocker of an operation is blocked by that operation, or by its group. Long cycles are not followed to
  /// their end.
  func isInCycle(_ id: Int64, _ group: String?, through blocker: Int64) throws -> Bool {
    try closes(path(from: blocker, until: id, or: group, limit: 200, seesUnnoted: true), id, group)
  }

  /// The type and name of an operation's record, or the name of its zone; nil if it is not in the queue.
  func title(of id: Int64) throws -> String? {
    try row("SELECT type, name, zone FROM operations WHERE id = ?", [id]).map { row in
      let name: String? = row["name"]
      return name.map { [row["type"], $0].compactMap(\.self).joined(separator: "/") } ?? "zone \(row["zone"] as String)"
    }
  }

  /// The preferred, not required, order among these operations: referenced records are saved first and deleted last.
  func precedents(among ids: [Int64]) throws -> [Int64: Set<Int64>] {
    try rows(
      """
      SELECT iif(o.operation = 'save', o.id, b.id) AS later, iif(o.operation = 'save', b.id, o.id) AS earlier
        FROM refs r JOIN operations o ON o.id = r.operation
        JOIN operations b ON b.zone = r.zone AND b.owner = r.owner AND b.name = r.name AND +b.operation = o.operation
        WHERE r.operation IN (SELECT value FROM json_each(?)) AND r.blocks = 0 AND b.id <> o.id
          AND (o.operation = 'delete' OR b.baseTag IS NULL)
      """,
      [Self.json(ids)]
    ).reduce(into: [:]) { $0[$1["later"], default: []].insert($1["earlier"]) }
  }

  // MARK: - Notes

  /// Sets or clears the noted blocker of an operation. For a member of an atomic group, a blocker outside the group comes
  /// first, because the whole group waits for it.
  func noteBlocker(of id: Int64) throws {
    guard let row = try row("SELECT waitsFor, atomicGroup FROM operations WHERE id = ?", [id]) else { return }
    let known: Int64? = row["waitsFor"]
    var blocker: Int64? = try one("SELECT blocker FROM blockers WHERE operation = ? LIMIT 1", [id])
    if blocker != nil, let group: String = row["atomicGroup"] {
      let outside = """
        SELECT b.blocker FROM blockers b JOIN operations p ON p.id = b.blocker
          WHERE b.operation = ? AND p.atomicGroup IS NOT ? LIMIT 1
        """
      blocker = try one(outside, [id, group]) ?? blocker
    }
    guard known != blocker else { return }
    try run("UPDATE operations SET waitsFor = ? WHERE id = ?", [blocker, id])
    try run("DELETE FROM cycleChecks WHERE operation = ?", [id])
    // The note can only have closed a cycle if another operation waits for this one and the blocker is blocked itself.
    try run(
      """
      INSERT INTO cycleChecks(operation) SELECT o.id FROM operations o JOIN operations b ON b.id = o.waitsFor
        WHERE o.id = ? AND (b.waitsFor IS NOT NULL OR (b.atomicGroup IS NOT NULL AND b.atomicGroup IS NOT o.atomicGroup))
          AND (o.atomicGroup IS NOT NULL OR EXISTS (SELECT 1 FROM operations w WHERE w.waitsFor = o.id))
      """,
      [id]
    )
  }

  /// Renews notes that name an operation that may no longer block.
  ///
  /// - Parameter limit: the number of notes to renew.
  func noteEndedBlockers(limit: Int) throws {
    var left = limit
    while left > 0, let former = try row("SELECT blocker, done FROM endedBlockers LIMIT 1", []) {
      let blocker: Int64 = former["blocker"]
      let ids: [Int64] = try all(
        "SELECT id FROM operations WHERE waitsFor = ? AND id > ? ORDER BY id LIMIT ?",
        [blocker, former["done"], left]
      )
      for id in ids { try noteBlocker(of: id) }
      if ids.count == left, let last = ids.last {
        try run("UPDATE endedBlockers SET done = ? WHERE blocker = ?", [last, blocker])
      } else {
        try run("DELETE FROM endedBlockers WHERE blocker = ?", [blocker])
      }
      left -= max(1, ids.count)
    }
  }

  // MARK: - Cycles

  /// Follows some of the notes that may have closed a cycle.
  ///
  /// - Parameter limit: the number of notes to follow.
  func checkCycles(limit: Int) throws {
    var left = limit
    while left > 0,
      let check = try row("SELECT * FROM cycleChecks WHERE isCycle = 0 ORDER BY operation LIMIT 1", [])
    {
      let (id, steps): (Int64, Int) = (check["operation"], check["steps"])
      // A group waits as a whole, so reaching another member closes the cycle as well.
      let group: String? = try one(
        """
        SELECT o.atomicGroup FROM operations o JOIN operations b ON b.id = o.waitsFor
          WHERE o.id = ? AND b.atomicGroup IS NOT o.atomicGroup
        """,
        [id]
      )
      let path = try path(from: check["position"] ?? id, until: id, or: group, limit: left)
      left -= path.count
      if try closes(path, id, group) {
        try run("UPDATE cycleChecks SET isCycle = 1 WHERE operation = ?", [id])
      } else if let last = path.last.flatMap(\.self), try steps + path.count < operationCount() {
        try run(
          "UPDATE cycleChecks SET steps = ?, position = ? WHERE operation = ?",
          [steps + path.count, last, id]
        )
      } else {
        // The path ends, or leads into a cycle without this operation, which another check finds.
        try run("DELETE FROM cycleChecks WHERE operation = ?", [id])
      }
    }
  }

  /// Operations found to be in a cycle.
  func cycles() throws -> [Int64] { try all("SELECT operation FROM cycleChecks WHERE isCycle = 1 ORDER BY operation") }

  /// Whether a path ends at an operation or a member of its group.
  private func closes(_ path: [Int64?], _ id: Int64, _ group: String?) throws -> Bool {
    guard let last = path.last.flatMap(\.self) else { return false }
    return try last == id || group != nil && one("SELECT atomicGroup FROM operations WHERE id = ?", [last]) == group
  }

  /// Follows the notes from an operation until it reaches `end` or a member of `group`. From a member without a note, the
  /// path continues with the noted blocker of another member outside the group.
  ///
  /// - Parameter seesUnnoted: whether to follow blocked operations that have no note yet as well.
  /// - Returns: the operations passed; nil where the notes end.
  private func path(from start: Int64, until end: Int64, or group: String?, limit: Int, seesUnnoted: Bool = false)
    throws -> [Int64?]
  {
    try Optional<Int64>.fetchAll(
      database.cachedStatement(
        sql: """
          WITH RECURSIVE path(id, steps) AS (
            SELECT ?1, 0
            UNION ALL
            SELECT coalesce(o.waitsFor, (SELECT m.waitsFor FROM operations m JOIN operations b ON b.id = m.waitsFor
                WHERE m.atomicGroup = o.atomicGroup AND b.atomicGroup IS NOT o.atomicGroup LIMIT 1),
              CASE WHEN ?5 THEN (SELECT blocker FROM blockers b WHERE b.operation = o.id LIMIT 1) END), steps + 1
              FROM path JOIN operations o ON o.id = path.id
              WHERE steps < ?3 AND (steps = 0 OR (path.id <> ?2 AND (?4 IS NULL OR o.atomicGroup IS NOT ?4))))
          SELECT id FROM path WHERE steps > 0
          """
      ),
      arguments: [start, end, limit, group, seesUnnoted]
    )
  }
}
