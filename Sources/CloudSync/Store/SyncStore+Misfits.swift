import CloudKit
import Facts

/// Fetched records with a value that does not fit its type. They are not stored, and do not hold up others.
extension SyncStore {
  /// Shows the operator a record that could not be stored, and logs it at most once an hour.
  static func note(misfit error: WebServicesError, _ zone: ZoneKey, _ reconciliation: Reconciliation) throws {
    let (ledger, now) = (reconciliation.ledger, reconciliation.now)
    try ledger.noteError(error, stands: true, now: now)
    let scope = WaitScope.feed(of: zone).asCause.text
    let event = Event.error(code: error.code.name, message: error.reason, scope: scope)
    guard try !ledger.hasLogged(event, since: now - 3_600_000) else { return }
    try EventLog.add(event, operation: nil, zone: zone.zone, now: now, ledger)
  }
}

extension WireRecordResult {
  /// The name of a record with a value that does not fit its type; nil for any other result.
  var misfit: String? {
    if case .failure(let name?, let error) = self, error.means(.misfit, during: .fetchingRecord) { name } else { nil }
  }
}
