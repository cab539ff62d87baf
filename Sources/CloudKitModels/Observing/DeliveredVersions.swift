internal import CloudKit

/// The versions of the records that an observer has received. A record may be fetched before all pushes for that version
/// have arrived.
struct DeliveredVersions {
  /// The maximum number of records to remember. An observer that has received more may receive a version again.
  private static let limit = 10_000

  private var tags: [CKRecord.ID: String] = [:]

  /// Returns the change to report for a pushed change and its fetched record; nil if there is nothing to report.
  mutating func change<Model: CKRecordModel & Decodable>(
    _ id: CKRecord.ID,
    _ change: PushedChanges.Change,
    _ result: Result<CKRecord, any Error>?
  ) -> CKModelChange<Model>? {
    switch result {
    case _ where change == .deleted:
      tags[id] = nil
      return .deleted(id)
    case .success(let record)?:
      guard record.recordChangeTag == nil || tags[id] != record.recordChangeTag else { return nil }
      if tags.count >= Self.limit { tags = [:] }
      tags[id] = record.recordChangeTag
      do {
        let model = try CKRecordDecoder().decode(Model.self, from: record)
        return change == .inserted ? .inserted(model) : .updated(model)
      } catch {
        return .failed(id, error)
      }
    case .failure(let error as CKError)? where [.unknownItem, .zoneNotFound].contains(error.code):
      // It was deleted meanwhile, which a push of its own reports.
      return nil
    case .failure(let error)?: return .failed(id, error)
    case nil: return .failed(id, CKDatabase.unanswered(id))
    }
  }
}
