import Facts

/// Whether any change could be sent, by the rules that explain each row: a fact of the verdict.
///
/// The oldest 400 changes decide, those that wait the earliest due first; if none of them can be sent, also the oldest of
/// up to 50 other zones and record types. So a status costs the same for any queue.
struct Sendability {
  static let window = 400

  /// Whether something can be sent or verified now.
  var now = false
  /// Whether something can be, now or once waits for time or the network are over.
  var later = false

  init(_ parts: [QueuePart], hasEngine: Bool, now: Int64, _ ledger: Ledger) throws {
    let pauses = try ledger.pauses()
    let open = parts.filter { part in
      guard part.state == .pending || part.state == .waiting else { return false }
      return pauses.first(holding: part.zone, type: part.type.isEmpty ? nil : part.type) == nil
    }
    guard !open.isEmpty else { return }
    let mayRequest = try !ledger.waits(after: now).contains(where: \.scope.stopsAll)
    func look(_ rows: [QueueRow]) throws {
      guard !rows.isEmpty else { return }
      later = try later || Self.hasSendable(rows, HoldUp(of: rows, hasEngine: hasEngine, now: .max, ledger))
      guard mayRequest, later, !self.now else { return }
      let due = rows.filter { ($0.nextAttemptAt ?? 0) <= now }
      self.now = try Self.hasSendable(due, HoldUp(of: due, hasEngine: hasEngine, now: now, ledger))
    }
    // The first few are usually enough.
    for limit in [20, Self.window] {
      try look(try ledger.oldestUnsent(limit: limit))
      if later, self.now || !mayRequest { return }
    }
    try look(try open.prefix(50).flatMap { try ledger.oldestUnsent(of: $0, among: Self.window, limit: 20) })
  }

  /// Whether nothing holds one of these, or some hold each other only: those go as a cycle.
  static func hasSendable(_ rows: [QueueRow], _ holdUp: HoldUp) -> Bool {
    var blockers: [Int64: [Int64]] = [:]
    for row in rows {
      guard let hold = holdUp.hold(on: row) else { return true }
      if case .waitsFor(let ids, isGroup: _) = hold { blockers[row.id] = ids }
    }
    // Remove changes that wait for one that is not among these, and changes that wait for a removed one.
    var dependants: [Int64: [Int64]] = [:]
    for (id, ids) in blockers { for blocker in ids { dependants[blocker, default: []].append(id) } }
    var stuck = dependants.keys.filter { blockers[$0] == nil }
    while let id = stuck.popLast() {
      for dependant in dependants[id, default: []] where blockers.removeValue(forKey: dependant) != nil {
        stuck.append(dependant)
      }
    }
    return !blockers.isEmpty
  }
}
