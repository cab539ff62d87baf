public import CloudKit
package import CloudSync
import Foundation

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
    let (store, origin, zone) = try source(of: recordID.zoneID)
    let recordID = CKRecord.ID(recordName: recordID.recordName, zoneID: zone)
    switch try await Task.detached(operation: { try store?.knowledge(of: RecordKey(recordID)) ?? .unknown }).value {
    case .present(let known):
      let record = CKRecord(known)
      origin?.adoptAssets(of: [record])
      return try await delivered([record])[0]
    case .absent: return nil
    case .unknown: break
    }
    let found: CKRecord
    do {
      found = try await database(origin).record(for: recordID)
    } catch let error as CKError where error.code == .unknownItem || error.code == .zoneNotFound {
      return nil
    } catch {
      throw CloudKitServiceError(error)
    }
    return try await delivered([found])[0]
  }

  /// The records as the app wants to see them.
  private func delivered(_ records: [CKRecord]) async throws -> [CKRecord] {
    guard let engine else { return records }
    var delivered: [CKRecord] = []
    for record in records { delivered.append(try await engine.delivered(record)) }
    return delivered
  }

  /// Returns all records on the server that match a query, however many pages there are, with queued changes applied: a
  /// record that was saved just now is found, and one that is to be deleted is not.
  ///
  /// ```swift
  /// let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "done == 0"))
  /// let notes = try await service.query(query, inZoneWith: zoneID)
  /// ```
  ///
  /// - Parameters:
  ///   - zoneID: the zone to search; nil for all zones of the database.
  ///   - desiredKeys: the fields to fetch; nil for all. While changes are queued, those of the order are added.
  /// - Returns: the records; none if the server does not know the type, because none has been sent yet.
  /// - Throws: `CloudKitServiceError` with the first error of the query or of a single record.
  public func query(
    _ query: CKQuery,
    inZoneWith zoneID: CKRecordZone.ID? = nil,
    desiredKeys: [CKRecord.FieldKey]? = nil
  ) async throws -> [CKRecord] {
    let (store, origin, zone) = try source(of: zoneID ?? .default)
    let (database, type) = (try database(origin), query.recordType)
    let zoneID = zoneID.map { _ in zone }
    var records: [CKRecord] = []
    // Before the request: what is sent meanwhile is in its answer.
    let place = zoneID.map { ZoneKey($0) }
    let (queued, deletedZones) = try await Task.detached {
      (try store?.queuedRecords(of: type, in: place) ?? [], try store?.deletedZones() ?? [])
    }.value
    // Records with queued changes are put into the order by its values.
    let order = queued.isEmpty ? [] : (query.sortDescriptors ?? []).compactMap(\.key).filter(query.fields.contains)
    let keys = desiredKeys.map { wanted in wanted + order.filter { !wanted.contains($0) } }
    do {
      var page = try await firstPage(isEmptyWithout: !queued.isEmpty) {
        try await database.records(matching: query, inZoneWith: zoneID, desiredKeys: keys)
      }
      while let results = page {
        records += try results.matchResults.map { try $0.1.get() }
        guard let cursor = results.queryCursor else { break }
        page = try await database.records(continuingMatchFrom: cursor, desiredKeys: keys)
      }
    } catch {
      throw CloudKitServiceError(error)
    }
    let known = Dictionary(queued.compactMap { queued in queued.record.map { (queued.id, $0) } }) { _, last in last }
    records.removeAll { deletedZones.contains(ZoneKey($0.recordID.zoneID)) && known[$0.recordID] == nil }
    let found = try query.result(from: records, queued.map { ($0.id, $0.record.map { CKRecord($0) }) }).map { record in
      guard let known = known[record.recordID] else { return record }
      return CKRecord(desiredKeys.map { known.only($0) } ?? known)
    }
    database.adoptAssets(of: found.filter { known[$0.recordID] != nil })
    return try await delivered(found)
  }

  /// The first page of a query; nil if no record of the type has been sent yet, or if the zone is created with the
  /// first of the queued changes.
  private func firstPage<Page>(isEmptyWithout hasQueued: Bool, _ request: () async throws -> Page) async throws -> Page?
  {
    do { return try await request() } catch let error as CKError {
      guard error.code == .unknownItem || (error.code == .zoneNotFound && hasQueued) else { throw error }
      return nil
    }
  }

  /// The store with the records of a zone, and the zone as it names it; nil for all zones of the service's own store.
  package func localCopy(of zone: CKRecordZone.ID?) throws -> (store: SyncStore?, zone: CKRecordZone.ID?) {
    guard let zone else { return (store, nil) }
    let source = try source(of: zone)
    return (source.store, source.zone)
  }

  /// The store and the database of a zone, and the zone as they name it. Reading creates no store for shared records.
  private func source(
    of zone: CKRecordZone.ID
  ) throws -> (store: SyncStore?, origin: CKDatabase?, zone: CKRecordZone.ID) {
    guard try isShared(zone) else {
      return (store, engine?.configuration.origin, try store?.key(of: zone).zoneID ?? zone)
    }
    guard let shared else { return (nil, engine?.configuration.forSharedDatabase?.origin, zone) }
    return (shared.store, shared.engine?.configuration.origin, zone)
  }

  /// The database to ask directly, as the store's user.
  private func database(_ origin: CKDatabase?) throws -> CKDatabase {
    if case .otherUser = status.account { throw CloudKitServiceError.accountUnavailable() }
    guard let origin else { throw CloudKitServiceError.notFetchedYet }
    return origin
  }
}

extension CKQuery {
  /// The records that match, in the query's order.
  ///
  /// - Parameters:
  ///   - found: the server's result.
  ///   - queued: records of the type with queued changes as this machine has them; nil for a queued deletion.
  func result(from found: [CKRecord], _ queued: [(id: CKRecord.ID, record: CKRecord?)]) throws(CKError) -> [CKRecord] {
    guard !queued.isEmpty else { return found }
    let changed = Dictionary(queued.map { ($0.id, $0.record) }) { _, last in last }
    let known = Set(found.map(\.recordID))
    let added = queued.filter { !known.contains($0.id) }.compactMap(\.record)
    let matching = (found.compactMap { changed[$0.recordID] ?? $0 } + added).filter {
      changed[$0.recordID] == nil || predicate.evaluate(with: $0)
    }
    guard let sortDescriptors, !sortDescriptors.isEmpty else { return matching }
    return try StoredQuery(self).sorted(matching) { $0 }
  }
}
