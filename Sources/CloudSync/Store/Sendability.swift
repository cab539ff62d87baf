import Facts

/// Whether any change could be sent, by the rules that explain each row: a fact of the verdict.
///
/// Of each zone and record type the oldest 1,000 changes decide, so that a status costs the same for any queue.
struct Sendability {
  static let window = 1000

  /// Something can be sent or verified now.
  let now: Bool
  /// Something can be, now or once waits for time or the network are over.
  let later: Bool

  init(_ parts: [QueuePart], isDriven: Bool, now: Int64, _ ledger: Ledger) throws {
    later = try Self.isAnySendable(parts, isDriven: isDriven, now: .max, ledger)
    self.now = try later && Self.isAnySendable(parts, isDriven: isDriven, now: now, ledger)
  }

  /// - Parameter now: waits that have ended by then hold nothing.
  private static func isAnySendable(_ parts: [QueuePart], isDriven: Bool, now: Int64, _ ledger: Ledger) throws -> Bool {
    guard try !ledger.waits(after: now).contains(where: \.scope.stopsAll) else { return false }
    let pauses = try ledger.pauses()
    for part in parts where part.state == .pending || part.state == .waiting {
      guard pauses.first(holding: part.zone, type: part.type.isEmpty ? nil : part.type) == nil else { continue }
      // The first few are usually enough.
      for limit in [20, window] {
        let rows = try ledger.oldest(of: part, dueBy: now, limit: limit)
        if hasSendable(rows, try HoldUp(of: rows, isDriven: isDriven, now: now, ledger)) { return true }
        if rows.count < limit { break }
      }
    }
    return false
  }

  /// Whether nothing holds one of these, or some hold each other only: those go as a cycle.
  static func hasSendable(_ rows: [QueueRow], _ holdUp: HoldUp) -> Bool {
    var blockers: [Int64: [Int64]] = [:]
    for row in rows {
      guard let hold = holdUp.hold(on: row) else { return true }
      if case .waitsFor(let ids, isGroup: _) = hold { blockers[row.id] = ids }
    }
    // Whatever waits for something outside of these waits for long, and so does what waits for that.
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
