extension CKDatabase {
  /// A zone whose records changed, and a zone that is gone.
  public enum DatabaseChange {
    /// A zone with changes.
    public struct Modification: Hashable, Sendable {
      /// The zone.
      public let zoneID: CKRecordZone.ID
    }

    /// A zone that no longer exists.
    public struct Deletion: Hashable, Sendable {
      /// The zone.
      public let zoneID: CKRecordZone.ID
      /// Whether the user removed the app's data. Web Services do not tell: always false.
      public let purged: Bool
    }
  }

  /// A record that changed, and a record that is gone.
  public enum RecordZoneChange {
    /// A record in its latest version.
    public struct Modification: Hashable, Sendable {
      /// The record.
      public let record: CKRecord
    }

    /// A record that no longer exists.
    public struct Deletion: Hashable, Sendable {
      /// The record.
      public let recordID: CKRecord.ID
      /// Its type; empty, because tombstones of Web Services do not name it.
      public let recordType: CKRecord.RecordType
    }
  }

  /// One page of the zones that changed since a token. Private and shared databases only.
  ///
  /// - Parameters:
  ///   - previousServerChangeToken: The token of the page before; nil starts from the beginning.
  ///   - resultsLimit: The most zones wanted; the server may give fewer and says whether more are coming.
  /// - Throws: `CKError.changeTokenExpired` when everything has to be fetched anew.
  public func databaseChanges(
    since previousServerChangeToken: CKServerChangeToken?,
    resultsLimit: Int? = nil
  ) async throws -> (
    modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
    changeToken: CKServerChangeToken, moreComing: Bool
  ) {
    guard databaseScope != .public else {
      throw CKError(.badDatabase, "The public database has no change feed: query by modificationDate.")
    }
    let page = try await perform(.changes) { client throws(WebServicesError) in
      try await client.databaseChanges(since: previousServerChangeToken?.wire, resultsLimit: resultsLimit, in: name)
    }
    var modifications: [DatabaseChange.Modification] = []
    var deletions: [DatabaseChange.Deletion] = []
    for element in page.zones {
      switch element {
      case .failure(_, let failure): throw CKError(failure, in: .item)
      case .zone(let zone):
        let zoneID = CKRecordZoneID(wire: zone.zoneID, in: databaseScope)
        if zone.deleted == true {
          deletions.append(.init(zoneID: zoneID, purged: false))
        } else {
          modifications.append(.init(zoneID: zoneID))
        }
      }
    }
    let token = try Self.token(page.syncToken, after: previousServerChangeToken)
    return (modifications, deletions, token, page.moreComing)
  }

  /// One page of the records of a zone that changed since a token. Not for default zones, which have no change feed.
  ///
  /// A page may be empty although more are coming. Keep the token only once the page is stored.
  ///
  /// - Parameters:
  ///   - zoneID: The zone.
  ///   - previousServerChangeToken: The token of the page before; nil starts from the beginning.
  ///   - desiredKeys: The fields to read; nil reads all.
  ///   - resultsLimit: The most records wanted; the server gives 200 at most.
  /// - Throws: `CKError.changeTokenExpired` when everything has to be fetched anew and local records that do not appear
  ///   have to be deleted; `zoneNotFound` when the zone is gone.
  public func recordZoneChanges(
    inZoneWith zoneID: CKRecordZone.ID,
    since previousServerChangeToken: CKServerChangeToken?,
    desiredKeys: [CKRecord.FieldKey]? = nil,
    resultsLimit: Int? = nil
  ) async throws -> (
    modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
    deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
  ) {
    let answer = try await perform(.changes) { client throws(WebServicesError) in
      try await client.zoneChanges(
        zoneID.wire,
        since: previousServerChangeToken?.wire,
        desiredKeys: desiredKeys,
        resultsLimit: resultsLimit,
        in: name
      )
    }
    let page: WireZoneChanges
    switch answer {
    case .changes(let changes): page = changes
    case .failure(_, let failure): throw CKError(failure, in: .changes)
    }
    var modifications: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>] = [:]
    var deletions: [RecordZoneChange.Deletion] = []
    for element in page.records {
      guard let name = element.recordName else { continue }
      let id = CKRecordID(recordName: name, zoneID: zoneID)
      switch element {
      case .record(let record): modifications[id] = .success(.init(record: CKRecord(wire: record, zoneID: zoneID)))
      case .deleted: deletions.append(.init(recordID: id, recordType: ""))
      case .failure(_, let failure): modifications[id] = .failure(CKError(failure, in: .item))
      }
    }
    return (modifications, deletions, try Self.token(page.syncToken, after: previousServerChangeToken), page.moreComing)
  }

  /// The point that a page reaches. A page without a token reaches no further than the one before.
  private static func token(
    _ wire: String?,
    after previous: CKServerChangeToken?
  ) throws(CKError) -> CKServerChangeToken {
    if let wire { return CKServerChangeToken(wire: wire) }
    guard let previous else { throw CKError(.internalError, "The answer has no change token.") }
    return previous
  }
}
