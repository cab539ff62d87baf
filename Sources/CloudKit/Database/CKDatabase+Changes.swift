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
      /// Why a zone is gone.
      public enum Reason: Hashable, Sendable {
        /// A program deleted it.
        case deleted
        /// The user removed the app's data. Web Services do not tell: never produced here.
        case purged
        /// The user reset all encrypted data. Web Services do not tell: never produced here.
        case encryptedDataReset
      }

      /// The zone.
      public let zoneID: CKRecordZone.ID
      /// Why it is gone.
      public let reason: Reason
      /// Whether the user removed the app's data.
      public var purged: Bool { reason == .purged }
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
          deletions.append(.init(zoneID: zoneID, reason: .deleted))
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
    let page = try await changesPage(
      of: zoneID,
      since: previousServerChangeToken,
      desiredKeys: desiredKeys,
      resultsLimit: resultsLimit
    )
    let results = Dictionary(page.modifications) { _, later in later }
    return (results, page.deletions, page.changeToken, page.moreComing)
  }

  /// One page of a zone's changes, in the server's order.
  struct ChangesPage: Sendable {
    var modifications: [(CKRecord.ID, Result<RecordZoneChange.Modification, any Error>)] = []
    var deletions: [RecordZoneChange.Deletion] = []
    let changeToken: CKServerChangeToken
    let moreComing: Bool
  }

  func changesPage(
    of zoneID: CKRecordZone.ID,
    since previousServerChangeToken: CKServerChangeToken?,
    desiredKeys: [CKRecord.FieldKey]?,
    resultsLimit: Int?
  ) async throws -> ChangesPage {
    let answer = try await perform(.changes) { client throws(WebServicesError) in
      try await client.zoneChanges(
        zoneID.wire,
        since: previousServerChangeToken?.wire,
        desiredKeys: desiredKeys,
        resultsLimit: resultsLimit,
        in: name
      )
    }
    let changes: WireZoneChanges
    switch answer {
    case .changes(let answered): changes = answered
    case .failure(_, let failure): throw CKError(failure, in: .changes)
    }
    let token = try Self.token(changes.syncToken, after: previousServerChangeToken)
    var page = ChangesPage(changeToken: token, moreComing: changes.moreComing)
    for element in changes.records {
      guard let name = element.recordName else { continue }
      let id = CKRecordID(recordName: name, zoneID: zoneID)
      switch element {
      case .record(let record):
        page.modifications.append((id, .success(.init(record: .received(record, zoneID: zoneID)))))
      case .deleted: page.deletions.append(.init(recordID: id, recordType: ""))
      case .failure(_, let failure): page.modifications.append((id, .failure(CKError(failure, in: .item))))
      }
    }
    let failures = try await receiveAssets(of: page.modifications.compactMap { try? $1.get().record })
    for (index, (id, _)) in page.modifications.enumerated() {
      if let error = failures[id] { page.modifications[index].1 = .failure(error) }
    }
    return page
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
