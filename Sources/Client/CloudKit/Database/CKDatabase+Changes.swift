extension CKDatabase {
  /// The changes in a database's change feed: new or changed zones, and deleted zones.
  public enum DatabaseChange {
    /// A new or changed zone.
    public struct Modification: Hashable, Sendable {
      /// The zone's ID.
      public let zoneID: CKRecordZone.ID
    }

    /// A deleted zone.
    public struct Deletion: Hashable, Sendable {
      /// The reason why a zone was deleted.
      public enum Reason: Hashable, Sendable {
        /// The zone was deleted.
        case deleted
        /// The user removed the app's data. Web Services do not report this, so it is never produced here.
        case purged
        /// The user reset all encrypted data. Web Services do not report this, so it is never produced here.
        case encryptedDataReset
        /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
        @available(*, unavailable) case _unknown
      }

      /// The zone's ID.
      public let zoneID: CKRecordZone.ID
      /// The reason for the deletion.
      public let reason: Reason
      /// Whether the reason is `purged`; always false here.
      public var purged: Bool { reason == .purged }
    }
  }

  /// The changes in a zone's change feed: new or changed records, and deleted records.
  public enum RecordZoneChange {
    /// A new or changed record.
    public struct Modification: Hashable, Sendable {
      /// The record in its latest version.
      public let record: CKRecord
    }

    /// A deleted record.
    public struct Deletion: Hashable, Sendable {
      /// The record's ID.
      public let recordID: CKRecord.ID
      /// The record's type; empty if the server does not report it, which is usual.
      public let recordType: CKRecord.RecordType
    }
  }

  /// Fetches one page of the zones that changed since a token. Private and shared databases only.
  ///
  /// - Parameters:
  ///   - previousServerChangeToken: The token of the previous page; nil starts from the beginning.
  ///   - resultsLimit: The maximum number of zones. The server may return fewer; `moreComing` says whether there are
  ///     more.
  /// - Throws: `CKError.changeTokenExpired` if all changes must be fetched again.
  public func databaseChanges(
    since previousServerChangeToken: CKServerChangeToken?,
    resultsLimit: Int? = nil
  ) async throws -> (
    modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
    changeToken: CKServerChangeToken, moreComing: Bool
  ) {
    guard databaseScope != .public else {
      throw CKError(.badDatabase, "The public database has no change feed. Query by modificationDate instead.")
    }
    let page = try await perform(.changes) { client throws(WebServicesError) in
      try await client.databaseChanges(since: previousServerChangeToken?.wire, resultsLimit: resultsLimit, in: name)
    }
    var modifications: [DatabaseChange.Modification] = []
    var deletions: [DatabaseChange.Deletion] = []
    for element in page.elements {
      switch element {
      case .failure(_, let failure): throw CKError(failure, in: .item)
      case .deleted(let zone, _):
        deletions.append(.init(zoneID: CKRecordZoneID(wire: zone, in: databaseScope), reason: .deleted))
      case .item(let zone): modifications.append(.init(zoneID: CKRecordZoneID(wire: zone.zoneID, in: databaseScope)))
      }
    }
    let token = try Self.token(page.syncToken, after: previousServerChangeToken)
    return (modifications, deletions, token, page.moreComing)
  }

  /// Fetches one page of the records of a zone that changed since a token. Default zones have no change feed.
  ///
  /// A page may be empty although more are coming. Save the token only after you have saved the page. The record name
  /// of an error for which the server names no record is empty.
  ///
  /// - Parameters:
  ///   - zoneID: The zone's ID.
  ///   - previousServerChangeToken: The token of the previous page; nil starts from the beginning.
  ///   - desiredKeys: The fields to fetch; nil fetches all.
  ///   - resultsLimit: The maximum number of records; the server returns at most 200.
  /// - Throws: `CKError.changeTokenExpired` if all changes must be fetched again, after which local records that were
  ///   not returned must be deleted; `zoneNotFound` if the zone does not exist.
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

  /// A zone to fetch changes of.
  struct Feed: Sendable {
    var zoneID: CKRecordZone.ID
    var token: CKServerChangeToken?
    var desiredKeys: [CKRecord.FieldKey]?

    var wire: WebServicesClient.ZoneFeed {
      WebServicesClient.ZoneFeed(zoneID.wire, since: token?.wire, desiredKeys: desiredKeys)
    }
  }

  func changesPage(
    of zoneID: CKRecordZone.ID,
    since previousServerChangeToken: CKServerChangeToken?,
    desiredKeys: [CKRecord.FieldKey]?,
    resultsLimit: Int?
  ) async throws -> ChangesPage {
    let feed = Feed(zoneID: zoneID, token: previousServerChangeToken, desiredKeys: desiredKeys)
    return try await changesPages(of: [feed], resultsLimit: resultsLimit)[0].get()
  }

  /// Fetches one page of each zone in one request, and returns the pages in the order of the feeds.
  ///
  /// - Throws: `CKError` if the whole request failed.
  func changesPages(of feeds: [Feed], resultsLimit: Int?) async throws -> [Result<ChangesPage, any Error>] {
    let answers = try await perform(.changes) { client throws(WebServicesError) in
      try await client.zoneChanges(feeds.map(\.wire), resultsLimit: resultsLimit, in: name)
    }
    var pages: [Result<ChangesPage, any Error>] = []
    for (feed, answer) in zip(feeds, answers) {
      do { pages.append(.success(try await page(of: feed, answer))) } catch { pages.append(.failure(error)) }
    }
    return pages
  }

  private func page(of feed: Feed, _ answer: WireResult<WireZoneChanges>) async throws -> ChangesPage {
    let (zoneID, previousServerChangeToken) = (feed.zoneID, feed.token)
    let changes: WireZoneChanges
    switch answer {
    case .item(let answered): changes = answered
    case .failure(_, let failure): throw CKError(failure, in: .changes)
    case .deleted: throw CKError(.zoneNotFound, "The zone was deleted.")
    }
    let token = try Self.token(changes.syncToken, after: previousServerChangeToken)
    var page = ChangesPage(changeToken: token, moreComing: changes.moreComing)
    for element in changes.records {
      // An error that names no record is a change too, and the token of the page is after it.
      let id = CKRecordID(recordName: element.id ?? "", zoneID: zoneID)
      switch element {
      case .item(let record):
        page.modifications.append((id, .success(.init(record: .received(record, zoneID: zoneID)))))
      case .deleted(_, let type): page.deletions.append(.init(recordID: id, recordType: type ?? ""))
      case .failure(_, let failure): page.modifications.append((id, .failure(CKError(failure, in: .item))))
      }
    }
    let failures = try await receiveAssets(of: page.modifications.compactMap { try? $1.get().record })
    for (index, (id, _)) in page.modifications.enumerated() {
      if let error = failures[id] { page.modifications[index].1 = .failure(error) }
    }
    return page
  }

  /// Returns the token of a page. A page without a token has the token of the previous page.
  private static func token(
    _ wire: String?,
    after previous: CKServerChangeToken?
  ) throws(CKError) -> CKServerChangeToken {
    if let wire { return CKServerChangeToken(wire: wire) }
    guard let previous else { throw CKError(.internalError, "The reply has no change token.") }
    return previous
  }
}
