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
    let columns = "SELECT id, atomicGroup, NULL AS creation FROM operations WHERE"
    let found = try rows(
      """
      \(columns) waitsFor IS NOT NULL UNION ALL \(columns) atomicGroup IS NOT NULL AND waitsFor IS NULL
        UNION ALL SELECT o.id, o.atomicGroup, c.id FROM operations c
          JOIN zones z ON z.zone = c.zone AND z.owner = c.owner AND z.state = 'unconfirmed'
          JOIN operations o ON o.zone = c.zone AND o.owner = c.owner AND o.name IS NOT NULL
          WHERE c.operation = 'zoneSave' AND c.state IN \(Self.heldStates) LIMIT ?
      """,
      [limit + 1]
    )
    guard !found.isEmpty else { return WaitingChanges([], held: []) }
    let blockers = try blockers(ofEach: Array(Set(found.map { $0["id"] })), limit: blockerLimit + 1)
    var changes: [Int64: WaitingChanges.Change] = [:]
    for row in found {
      let (id, creation): (Int64, Int64?) = (row["id"], row["creation"])
      guard let known = blockers[id], known.count <= blockerLimit else { continue }
      changes[id, default: WaitingChanges.Change(id: id, blockers: known, group: row["atomicGroup"])].blockers
        .formUnion([creation].compactMap(\.self))
    }
    let involved = changes.values.reduce(into: Set(changes.keys)) { $0.formUnion($1.blockers) }
    // The back-off of a change that waits for others is no obstacle of its own.
    let held: [Int64] = try all(
      """
      SELECT id FROM operations WHERE id IN (SELECT value FROM json_each(?))
        AND state IN \(Self.heldStates) AND NOT (state = 'waiting' AND waitsFor IS NOT NULL)
      """,
      [Self.json(Array(involved))]
    )
    let isWhole = found.count <= limit && found.allSatisfy { changes[$0["id"]] != nil }
    return WaitingChanges(Array(changes.values), held: Set(held), isWhole: isWhole)
  }

  private static let heldStates = "('failed', 'waiting', 'paused', 'conflict')"
}
