import CloudKit
import Facts

/// The zones that the engine makes because queued changes need them.
extension SyncStore {
  /// Applies the replies to zone creations on which queued changes depend.
  func zonesMade(
    _ zones: [ZoneKey],
    _ results: [WireResult<WireZone>],
    random: Double,
    _ lease: Lease
  ) throws(StoreError) {
    let results = results.matched(to: zones.map(\.wire))
    try write(lease) { ledger, now in
      for (zone, result) in zip(zones, results) {
        switch result {
        case .item, .deleted: try ledger.markCreatedHere(zone)
        case .failure(_, let error):
          switch Disposition(of: error, during: .creatingZone(isWhole: false)) {
          case .acknowledge: try ledger.markCreatedHere(zone)
          case .deadLetter:
            let code = error.code.name
            let cause = FailureCause.zoneCannotBeCreated(zone: zone.zone, code: code, message: error.reason)
            let last = try ledger.lastOperation()
            try ledger.begin(.fail(zone, cause, during: .unconfirmed, through: last), now: now)
          default: try Self.backOff(zone, error, now: now, random: random, ledger)
          }
        case nil: try Self.backOff(zone, .unmentioned(zone), now: now, random: random, ledger)
        }
      }
    }
  }

  /// Backs off a zone that cannot be created now.
  private static func backOff(
    _ zone: ZoneKey,
    _ error: WebServicesError,
    now: Int64,
    random: Double,
    _ ledger: Ledger
  ) throws {
    let event = Event.zoneCannotBeCreated(zone: zone.zone, code: error.code.name, message: error.reason)
    try Throttles.set(.zone(zone), error, now: now, random: random, as: event, ledger)
  }
}
