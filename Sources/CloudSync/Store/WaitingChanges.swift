import Facts
import GRDB

/// Changes that wait for other changes, to decide which of them can be sent once some of those are.
struct WaitingChanges {
  struct Change: Hashable, Sendable {
    var id: Int64
    /// The operations that block it.
    var blockers: Set<Int64> = []
    /// Its atomic group, which waits as a whole.
    var group: String?
  }

  /// The operations that are not sent as they are: failed, retrying and paused ones, and conflicts.
  let held: Set<Int64>
  /// Whether these are all changes that wait for others.
  let isWhole: Bool
  private let dependents: [Int64: [Change]]
  private let members: [String: [Change]]

  init(_ changes: [Change], held: Set<Int64>, isWhole: Bool = true) {
    (self.held, self.isWhole) = (held, isWhole)
    dependents = changes.reduce(into: [:]) { found, change in
      for blocker in change.blockers { found[blocker, default: []].append(change) }
      // A held member holds its group.
      if change.group != nil { found[change.id, default: []].append(change) }
    }
    members = Dictionary(grouping: changes.filter { $0.group != nil }) { $0.group ?? "" }
  }

  /// The operations that others wait for.
  var blockers: Set<Int64> { Set(dependents.keys) }

  /// The number of changes that can be sent once these operations are sent: those that wait for them, directly or
  /// through others, and for nothing else that is held.
  func released(by sent: Set<Int64>) -> Int {
    guard !sent.isDisjoint(with: blockers) else { return 0 }
    let rest = held.union(sent)
    return stopped(by: rest).subtracting(stopped(by: held.subtracting(sent))).subtracting(rest).count
  }

  /// These operations, and all that wait for one of them.
  private func stopped(by operations: Set<Int64>) -> Set<Int64> {
    var (stopped, next, groups) = (operations, Array(operations), Set<String>())
    while let id = next.popLast() {
      for change in dependents[id] ?? [] {
        let isNewGroup = change.group.map { groups.insert($0).inserted } ?? false
        for change in isNewGroup ? members[change.group ?? ""] ?? [] : [change]
        where stopped.insert(change.id).inserted { next.append(change.id) }
      }
    }
    return stopped
  }
}

extension Ledger {
  /// The changes that wait for others, or may wait for the members of their atomic group.
  ///
  /// - Parameters:
  ///   - limit: the most that are read, to bound the cost.
  ///   - blockerLimit: the most blockers of one change. A change with more is left out.
  func waitingChanges(limit: Int = 5000, blockerLimit: Int = 100) throws -> WaitingChanges {
    let columns = "SELECT id, state, atomicGroup FROM operations WHERE"
    let found = try rows(
      """
      \(columns) waitsFor IS NOT NULL UNION ALL \(columns) atomicGroup IS NOT NULL AND waitsFor IS NULL LIMIT ?
      """,
      [limit + 1]
    )
    guard !found.isEmpty else { return WaitingChanges([], held: []) }
    let ids: [Int64] = found.map { $0["id"] }
    let blockers = try blockers(ofEach: ids, limit: blockerLimit + 1).filter { $0.value.count <= blockerLimit }
    let changes = found.filter { blockers[$0["id"]] != nil }.map { row in
      let id: Int64 = row["id"]
      return WaitingChanges.Change(id: id, blockers: blockers[id] ?? [], group: row["atomicGroup"])
    }
    let involved = blockers.values.reduce(into: Set(ids)) { $0.formUnion($1) }
    let held: [Int64] = try all(
      """
      SELECT id FROM operations WHERE id IN (SELECT value FROM json_each(?))
        AND state IN ('failed', 'waiting', 'paused', 'conflict')
      """,
      [Self.json(Array(involved))]
    )
    return WaitingChanges(changes, held: Set(held), isWhole: found.count <= limit && changes.count == found.count)
  }
}
