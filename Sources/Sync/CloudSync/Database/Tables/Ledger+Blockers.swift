import Facts
import Foundation
import GRDB

/// Which operations block which.
///
/// `waitsFor` holds one blocker of each blocked operation, its noted blocker, so that planning skips the operation.
/// When a blocker ends, the notes that name it are renewed, a limited number in each transaction. Following the notes
/// never leads back: an operation whose every blocker waits for it notes itself.
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

  /// Returns the reference cycle that an operation closes.
  func cycle(closedBy closer: Int64) throws -> ReferenceCycle {
    var members = try candidates(
      """
      FROM operations o WHERE id IN (
        WITH RECURSIVE reached(id) AS (
          SELECT blocker FROM blockers WHERE operation = :closer
          UNION SELECT b.blocker FROM reached JOIN blockers b ON b.operation = reached.id
          UNION SELECT m.id FROM reached JOIN operations g ON g.id = reached.id
            JOIN operations m ON m.atomicGroup = g.atomicGroup
          LIMIT :limit)
        SELECT id FROM reached) ORDER BY id
      """,
      ["closer": closer, "limit": Planner.requestLimit + 1]
    )
    let blockers = try blockers(ofEach: members.map(\.id), limit: Planner.requestLimit)
    for index in members.indices { members[index].blockers = blockers[members[index].id, default: []] }
    return ReferenceCycle(closer: closer, members: members)
  }

  /// The type and name of an operation's record, or the name of its zone; nil if it is not in the queue.
  func title(of id: Int64) throws -> String? {
    try row("SELECT type, name, zone, owner FROM operations WHERE id = ?", [id]).map { row in
      RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"] ?? "").title(type: row["type"])
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

  /// Sets or clears the noted blocker of an operation.
  func noteBlocker(of id: Int64) throws {
    guard let row = try row("SELECT waitsFor, atomicGroup FROM operations WHERE id = ?", [id]) else { return }
    let known: Int64? = row["waitsFor"]
    let blocker = try blockerToNote(of: id, row["atomicGroup"])
    guard known != blocker else { return }
    try run("UPDATE operations SET waitsFor = ? WHERE id = ?", [blocker, id])
  }

  private func blockerToNote(of id: Int64, _ group: String?) throws -> Int64? {
    func blockers(limit: Int) throws -> [Int64] {
      guard let group else {
        return try all("SELECT blocker FROM blockers WHERE operation = ? LIMIT ?", [id, limit])
      }
      // The group is sent as a whole.
      let outside = """
        SELECT b.blocker FROM blockers b JOIN operations p ON p.id = b.blocker
          WHERE b.operation = ? AND p.atomicGroup IS NOT ? LIMIT ?
        """
      return try all(outside, [id, group, limit])
    }
    let found = try blockers(limit: 1).first
    guard let first = found, try leads(from: first, to: id, group) else { return found }
    return try blockers(limit: Planner.requestLimit).first { try !leads(from: $0, to: id, group) } ?? id
  }

  /// The longest path of notes that is followed. Longer reference cycles are not found: of their members, each only
  /// shows what it waits for.
  private static let longestPath = 1000

  /// Whether an operation waits for another one or for its group, by the notes.
  private func leads(from blocker: Int64, to id: Int64, _ group: String?) throws -> Bool {
    let isWaitedFor = "SELECT EXISTS (SELECT 1 FROM operations WHERE waitsFor = ? AND id <> waitsFor)"
    // Most operations block nothing.
    if group == nil, try one(isWaitedFor, [id]) == false { return false }
    return try one(
      """
      WITH RECURSIVE path(id) AS (
        SELECT ?1
        UNION SELECT o.waitsFor FROM path JOIN operations o ON o.id = path.id WHERE o.waitsFor <> o.id
        UNION SELECT m.waitsFor FROM path JOIN operations g ON g.id = path.id
          JOIN operations m ON m.atomicGroup = g.atomicGroup WHERE m.waitsFor <> m.id
        LIMIT ?2)
      SELECT EXISTS (SELECT 1 FROM path
        WHERE id = ?3 OR id IN (SELECT id FROM operations WHERE atomicGroup = ?4))
      """,
      [blocker, Self.longestPath, id, group]
    ) ?? false
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
}
