import CloudKit
import Facts

/// Repairing a local copy that differs from the server.
extension SyncStore {
  /// Requests that the next sync fetches zones from the start. It replaces records that differ from the server's, and
  /// deletes those that the server does not have, unless the mass-deletion guard puts them on hold. Unsent changes are
  /// kept.
  ///
  /// - Parameter actor: the operator's name, for the audit log.
  /// - Returns: the zones, without those that are not on the server yet or whose deletion is on hold.
  @discardableResult
  package func fetchAgain(_ zones: [ZoneKey], actor: String) throws(StoreError) -> [ZoneKey] {
    let now = now()
    return try write { ledger in
      let zones = try zones.filter { try ledger.zone($0).map { $0.state == .ready && $0.heldSince == nil } ?? true }
      guard !zones.isEmpty else { return [] }
      for zone in zones {
        try ledger.insertZone(zone, state: .ready)
        guard !zone.isDefaultZone else {
          try ledger.restartPolling(of: zone)
          continue
        }
        // A full fetch that has just begun compares everything already.
        if let known = try ledger.zone(zone), known.token == nil, known.fetchingAll { continue }
        try ledger.restart(zone)
      }
      try ledger.changeActivity { $0.reachedEnd = false }
      let names = zones.map(\.title)
      let only = names.count == 1 ? names[0] : nil
      try audit(.fetchAgain(zones: names), zones.count, actor, zone: only, now: now, ledger)
      return zones
    }
  }
}
