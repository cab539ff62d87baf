public import CloudKit
import CloudSync

/// Reading records.
extension CloudKitService {
  /// Returns the record as this machine has it: the server's version with queued changes applied. Its assets can be
  /// downloaded.
  ///
  /// A record that this machine does not have is fetched from the server, unless its zone has been fetched to the end:
  /// then it did not exist at the time of the last sync.
  ///
  /// - Returns: nil if there is no such record, or its deletion is queued.
  /// - Throws: `CloudKitServiceError.notFetchedYet` if this service cannot ask the server, because it has no engine;
  ///   `CloudKitServiceError` with the server's answer, such as `networkUnavailable`; `StoreError` if the store cannot
  ///   be read.
  public func fetch(recordID: CKRecord.ID) async throws -> CKRecord? {
    let service = try service(for: recordID.zoneID)
    let (store, origin) = (service.store, service.engine?.configuration.origin)
    switch try await Task.detached(operation: { try store?.knowledge(of: RecordKey(recordID)) ?? .unknown }).value {
    case .present(let known):
      let record = CKRecord(known)
      origin?.adoptAssets(of: [record])
      return record
    case .absent: return nil
    case .unknown: break
    }
    do {
      return try await service.database().record(for: recordID)
    } catch let error as CKError where error.code == .unknownItem || error.code == .zoneNotFound {
      return nil
    } catch {
      throw CloudKitServiceError(error)
    }
  }

  /// Returns all records on the server that match a query, however many pages there are. Queued changes are not
  /// applied.
  ///
  /// ```swift
  /// let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "done == 0"))
  /// let notes = try await service.query(query, inZoneWith: zoneID)
  /// ```
  ///
  /// - Parameters:
  ///   - zoneID: the zone to search; nil for the default zone.
  ///   - desiredKeys: the fields to fetch; nil for all.
  /// - Throws: `CloudKitServiceError` with the first error of the query or of a single record.
  public func query(
    _ query: CKQuery,
    inZoneWith zoneID: CKRecordZone.ID? = nil,
    desiredKeys: [CKRecord.FieldKey]? = nil
  ) async throws -> [CKRecord] {
    let database = try zoneID.map { try service(for: $0) }?.database() ?? database()
    do {
      var page = try await database.records(matching: query, inZoneWith: zoneID, desiredKeys: desiredKeys)
      var records = try page.matchResults.map { try $0.1.get() }
      while let cursor = page.queryCursor {
        page = try await database.records(continuingMatchFrom: cursor, desiredKeys: desiredKeys)
        records += try page.matchResults.map { try $0.1.get() }
      }
      return records
    } catch {
      throw CloudKitServiceError(error)
    }
  }

  /// The database to ask directly, as the store's user.
  private func database() throws -> CKDatabase {
    if case .otherUser = status.account { throw CloudKitServiceError.accountUnavailable() }
    guard let origin = engine?.configuration.origin else { throw CloudKitServiceError.notFetchedYet }
    return origin
  }
}
