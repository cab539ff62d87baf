import CloudKit
import Facts

/// What the server does not let us read: kept until it does, or nothing wants it any more.
extension SyncStore {
  /// Zones and record types that the server does not let us read.
  package func unreadable() throws(StoreError) -> [Unreadable] { try read { try $0.unreadable() } }

  /// Notes that a zone, or a record type of it, cannot be read.
  func noteUnreadable(_ zone: ZoneKey, type: String?, _ error: WebServicesError, _ lease: Lease) throws(StoreError) {
    let isKnown = try unreadable().contains { $0.zone == zone && $0.type == type && $0.message == error.reason }
    guard !isKnown else { return }
    try write(lease) { ledger, now in
      try ledger.put(Unreadable(zone: zone, type: type, message: error.reason, since: now))
      try EventLog.add(.unreadable(zone: zone.zone, type: type, message: error.reason), now: now, ledger)
    }
  }

  /// Notes that a zone, or a record type of it, was read, or that nothing wants to read it.
  func noteReadable(_ zone: ZoneKey, type: String?, _ lease: Lease) throws(StoreError) {
    guard try unreadable().contains(where: { $0.zone == zone && $0.type == type }) else { return }
    try write(lease) { ledger, now in try ledger.removeUnreadable(zone, type: type) }
  }
}
