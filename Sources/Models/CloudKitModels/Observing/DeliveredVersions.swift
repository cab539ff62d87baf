internal import CloudKit

/// The versions of the records that an observer has received. A record may be fetched before all pushes for that
/// version have arrived.
struct DeliveredVersions {
  /// The maximum number of records to remember. An observer that has received more may receive a version again.
  private static let limit = 10_000

  private enum Version: Equatable {
    case tag(String)
    case deleted
  }

  private var versions: [CKRecord.ID: Version] = [:]

  /// Returns the change to report for a pushed change and its fetched record; nil if there is nothing to report.
  mutating func change<Model: CKRecordModel & Decodable>(
    _ id: CKRecord.ID,
    _ change: PushedChanges.Change,
    _ result: Result<CKRecord, any Error>?
  ) -> CKModelChange<Model>? {
    switch result {
    case _ where change == .deleted: return note(.deleted, of: id) ? .deleted(id) : nil
    case .success(let record)?:
      guard note(record.recordChangeTag.map { .tag($0) }, of: id) else { return nil }
      do {
        let model = try CKRecordDecoder().decode(Model.self, from: record)
        return change == .inserted ? .inserted(model) : .updated(model)
      } catch {
        return .failed(id, error)
      }
    case .failure(let error as CKError)? where error.isAbsence && !id.recordName.isEmpty:
      // It was deleted meanwhile, which a push of its own reports.
      return nil
    // An error in a change feed may name no record.
    case .failure(let error)?: return .failed(id.recordName.isEmpty ? nil : id, error)
    case nil: return .failed(id, CKDatabase.unanswered(id))
    }
  }

  /// Remembers the version of a record, and returns whether it is another one than before.
  private mutating func note(_ version: Version?, of id: CKRecord.ID) -> Bool {
    guard version == nil || versions[id] != version else { return false }
    if versions.count >= Self.limit { versions = [:] }
    versions[id] = version
    return true
  }
}
