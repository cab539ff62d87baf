import CloudKit
import Facts

/// Repairing a local copy that differs from the server.
extension SyncStore {
  /// Has the next sync fetch zones from the start. It replaces records that differ from the server's, and deletes those
  /// that the server does not have, unless the mass-deletion guard puts them on hold. Unsent changes are kept.
  ///
  /// - Parameter actor: the operator's name, for the audit log.
  package func fetchAgain(_ zones: [ZoneKey], actor: String) throws(StoreError) {
    guard !zones.isEmpty else { return }
    let now = now()
    try write { ledger in
      for zone in zones {
        try ledger.insertZone(zone, state: .ready)
        if zone.isDefaultZone { try ledger.restartPulls(of: zone) } else { try ledger.restart(zone) }
      }
      try Self.readSoon(zones, ledger)
      let names = zones.map(\.zone).joined(separator: " ")
      try audit("repair", names, zones.count, actor, zone: zones.count == 1 ? names : nil, now: now, ledger)
    }
  }
}
