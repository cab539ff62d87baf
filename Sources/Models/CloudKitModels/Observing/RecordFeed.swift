internal import CloudKit

/// The place of an observer in the change feeds of a shared database, whose pushes name no record.
struct RecordFeed {
  private let recordType: CKRecord.RecordType
  /// The only zone to read; nil reads all zones.
  private let zoneID: CKRecordZone.ID?
  private var databaseToken: CKServerChangeToken?
  private var zoneTokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
  /// The records of the type. A feed reports neither the type of a deleted record nor whether a record is new.
  private var known: Set<CKRecord.ID> = []

  /// A change, and the changed record or the reason why it could not be read.
  typealias Change = (id: CKRecord.ID, change: PushedChanges.Change, result: Result<CKRecord, any Error>?)

  init(_ recordType: CKRecord.RecordType, in zoneID: CKRecordZone.ID?) {
    (self.recordType, self.zoneID) = (recordType, zoneID)
  }

  /// Reads the feeds to their ends and returns the changes of the type's records. An error changes nothing.
  mutating func read(_ database: CKDatabase, desiredKeys: [CKRecord.FieldKey]?) async throws -> [Change] {
    var (next, changes) = (self, [Change]())
    var zones: Set<CKRecordZone.ID> = []
    try await FetchPositions.follow(from: databaseToken) { token in
      let page = try await database.databaseChanges(since: token)
      next.databaseToken = page.changeToken
      zones.formUnion(page.modifications.map(\.zoneID))
      for deletion in page.deletions {
        zones.remove(deletion.zoneID)
        next.zoneTokens[deletion.zoneID] = nil
        changes += next.known.filter { $0.zoneID == deletion.zoneID }.compactMap { next.deleted($0) }
      }
      return page.moreComing ? page.changeToken : nil
    }
    for zone in zones where zoneID == nil || zone == zoneID {
      do {
        changes += try await next.read(database, zone, desiredKeys)
      } catch let error as CKError where error.code == .zoneNotFound {
        // It was deleted meanwhile, which the next read reports.
      }
    }
    self = next
    return changes
  }

  private mutating func read(
    _ database: CKDatabase,
    _ zone: CKRecordZone.ID,
    _ desiredKeys: [CKRecord.FieldKey]?
  ) async throws -> [Change] {
    var changes: [Change] = []
    try await FetchPositions.follow(from: zoneTokens[zone]) { token in
      let page = try await database.recordZoneChanges(inZoneWith: zone, since: token, desiredKeys: desiredKeys)
      for (id, result) in page.modificationResultsByID.sorted(by: { $0.key.recordName < $1.key.recordName }) {
        switch result.map(\.record) {
        case .success(let record) where record.recordType != recordType: break
        case .success(let record):
          changes.append((id, known.insert(id).inserted ? .inserted : .updated, .success(record)))
        case .failure(let error): changes.append((id, .updated, .failure(error)))
        }
      }
      changes += page.deletions.compactMap { deleted($0.recordID) }
      zoneTokens[zone] = page.changeToken
      return page.moreComing ? page.changeToken : nil
    }
    return changes
  }

  private mutating func deleted(_ id: CKRecord.ID) -> Change? {
    known.remove(id).map { ($0, .deleted, nil) }
  }
}
