import CloudKit
import Facts

/// Fetched records with a value that does not fit its type. They are not stored, and do not hold up others.
extension SyncStore {
  /// Keeps the record among what cannot be read, until it is fetched in a version that can be or is gone. Logs it at
  /// most once an hour.
  ///
  /// - Parameters:
  ///   - name: the record's name.
  ///   - error: the server's value and type in words.
  static func note(misfit name: String, _ error: WebServicesError, _ zone: ZoneKey, _ reconciliation: Reconciliation)
    throws
  {
    let (ledger, now) = (reconciliation.ledger, reconciliation.now)
    try ledger.put(Unreadable(zone: zone, record: name, message: error.reason, since: now))
    let scope = WaitScope.feed(of: zone).asCause.text
    let event = Event.error(code: error.code.name, message: "\(name): \(error.reason)", scope: scope)
    try EventLog.addHourly(event, in: zone, now: now, ledger)
  }

  /// The names of a zone's records that could not be read.
  func unreadableNames(in zone: ZoneKey) throws(StoreError) -> [String] {
    try unreadable().compactMap { $0.zone == zone ? $0.record : nil }
  }
}

extension WireResult<WireRecord> {
  /// The name of a record with a value that does not fit its type; nil for any other result.
  var misfit: String? {
    if case .failure(let name?, let error) = self, error.means(.misfit, during: .fetchingRecord) { name } else { nil }
  }
}
