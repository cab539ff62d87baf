import CloudKit
import Facts

/// Zones and types that the server does not let us read: kept until it does, or until they are no longer needed.
extension SyncStore {
  package func unreadable() throws(StoreError) -> [Unreadable] { try read { try $0.unreadable() } }

  /// Records that a zone, or a record type in it, cannot be read.
  func noteUnreadable(_ zone: ZoneKey, type: String?, _ error: WebServicesError, _ lease: Lease) throws(StoreError) {
    let isKnown = try unreadable().contains { $0.zone == zone && $0.type == type && $0.message == error.reason }
    guard !isKnown else { return }
    try write(lease) { ledger, now in
      try ledger.put(Unreadable(zone: zone, type: type, message: error.reason, since: now))
      let event = Event.unreadable(zone: zone.title, type: type, message: error.reason)
      try EventLog.add(event, in: zone, now: now, ledger)
    }
  }

  /// Removes the record of `noteUnreadable` after a successful read, or when the zone or type is no longer needed.
  func noteReadable(_ zone: ZoneKey, type: String?, _ lease: Lease) throws(StoreError) {
    guard try unreadable().contains(where: { $0.zone == zone && $0.type == type }) else { return }
    try write(lease) { ledger, now in try ledger.removeUnreadable(zone, type: type) }
  }
}
