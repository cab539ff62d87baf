public import Foundation

/// An operation that fetches the changes of zones since their tokens, page by page. Each request fetches a page of all
/// zones that have more. Default zones have no change feed.
///
/// ```swift
/// let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(previousServerChangeToken: token)
/// let operation = CKFetchRecordZoneChangesOperation(
///   recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: configuration])
/// operation.recordWasChangedBlock = { id, result in … }
/// operation.recordWithIDWasDeletedBlock = { id, type in … }
/// operation.recordZoneFetchResultBlock = { zoneID, result in … }
/// database.add(operation)
/// ```
///
/// If a zone fails for a reason of its own, such as a deleted zone or an expired token, the next zones are still
/// fetched.
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
  /// The token, limit and fields for fetching a zone's changes.
  public typealias ZoneConfiguration = CKFetchRecordZoneChangesConfiguration
  /// The older name of `ZoneConfiguration`.
  public typealias ZoneOptions = CKFetchRecordZoneChangesConfiguration

  /// The zones to fetch. Duplicates are fetched once.
  @CKParameter public var recordZoneIDs: [CKRecordZone.ID]?

  /// The configuration of each zone. For a zone without one, all changes are fetched.
  @CKParameter public var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]?

  /// The older form of `configurationsByRecordZoneID`.
  public var optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]? {
    get { configurationsByRecordZoneID }
    set { configurationsByRecordZoneID = newValue }
  }

  /// Whether to fetch each zone until no more changes are coming; true by default. If false, one page of each zone is
  /// fetched.
  @CKParameter public var fetchAllChanges = true

  /// Called for each new or changed record, in the server's order. Not called again after the operation is cancelled.
  /// The record name of an error for which the server names no record is empty.
  @CKCallback public var recordWasChangedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?

  /// The older form of `recordWasChangedBlock`, for successfully fetched records.
  @CKCallback public var recordChangedBlock: ((CKRecord) -> Void)?

  /// Called for each deleted record. The record type is empty, because Web Services do not report it.
  @CKCallback public var recordWithIDWasDeletedBlock: ((CKRecord.ID, CKRecord.RecordType) -> Void)?

  /// Called after the changes of each page, with the token of that page. The data is always nil, because Web Services
  /// do not support it.
  @CKCallback public var recordZoneChangeTokensUpdatedBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?

  /// Called for each zone when it is done, with its last token. After `CKError.changeTokenExpired`, fetch all changes
  /// of the zone again.
  @CKCallback public var recordZoneFetchResultBlock:
    (
      (
        CKRecordZone.ID,
        Result<(serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error>
      ) -> Void
    )?

  /// The older form of `recordZoneFetchResultBlock`.
  @CKCallback public var recordZoneFetchCompletionBlock:
    ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?

  /// Called once, when all work is done. A partial failure has the errors of the failed zones.
  @CKCallback public var fetchRecordZoneChangesResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `fetchRecordZoneChangesResultBlock`.
  @CKCallback public var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)?

  private typealias ZoneEnd = (serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool)

  /// Makes an empty operation. Set `recordZoneIDs` before you add it.
  public override init() {}

  /// Makes an operation that fetches the changes of zones. For a zone without a configuration, it fetches all changes.
  public convenience init(
    recordZoneIDs: [CKRecordZone.ID]? = nil,
    configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
  ) {
    self.init()
    self.recordZoneIDs = recordZoneIDs
    self.configurationsByRecordZoneID = configurationsByRecordZoneID
  }

  /// The older form of `init(recordZoneIDs:configurationsByRecordZoneID:)`.
  public convenience init(
    recordZoneIDs: [CKRecordZone.ID],
    optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]?
  ) {
    self.init(recordZoneIDs: recordZoneIDs, configurationsByRecordZoneID: optionsByRecordZoneID)
  }

  override func run() async {
    let database = begin()
    var feeds = (recordZoneIDs?.withoutRepetition ?? []).map { zoneID in
      let configuration = configurationsByRecordZoneID?[zoneID] ?? ZoneConfiguration()
      return Feed(
        page: CKDatabase.Feed(
          zoneID: zoneID,
          token: configuration.previousServerChangeToken,
          desiredKeys: configuration.desiredKeys
        ),
        resultsLimit: configuration.resultsLimit > 0 ? configuration.resultsLimit : nil,
        positions: FetchPositions(from: configuration.previousServerChangeToken)
      )
    }
    var errors: [AnyHashable: any Error] = [:]
    var whole: Result<Void, any Error> = .success(())
    while let first = feeds.first {
      // The limit is one of the request. After an error that concerns all zones, the rest get it too.
      let batch =
        first.isAlone
        ? [first][...]
        : feeds.filter { !$0.isAlone && $0.resultsLimit == first.resultsLimit }.prefix(CKDatabase.largestBatch)
      let pages: [Result<CKDatabase.ChangesPage, any Error>?] =
        switch whole {
        case .success: await fetch(Array(batch), database)
        case .failure(let error): batch.map { _ in .failure(error) }
        }
      for (feed, page) in zip(batch, pages) {
        let zoneID = feed.page.zoneID
        guard let index = feeds.firstIndex(where: { $0.page.zoneID == zoneID }) else { continue }
        let answer: Result<ZoneEnd, any Error>
        switch await take(page, of: feed, fetchesAll: fetchAllChanges) {
        case .more(let next):
          feeds[index] = next
          continue
        case .alone:
          feeds[index].isAlone = true
          continue
        case .end(let end): answer = end
        }
        feeds.remove(at: index)
        if let failure = answer.failure {
          errors[zoneID] = failure
          if (failure as? CKError)?.concernsZoneOnly != true { whole = .failure(failure) }
        }
        await call { [self] in
          recordZoneFetchResultBlock?(zoneID, answer)
          let end = try? answer.get()
          recordZoneFetchCompletionBlock?(zoneID, end?.serverChangeToken, nil, end?.moreComing ?? false, answer.failure)
        }
      }
    }
    let outcome = outcome(whole, itemErrors: errors)
    await call { [self] in
      fetchRecordZoneChangesResultBlock?(outcome)
      fetchRecordZoneChangesCompletionBlock?(outcome.failure)
    }
  }

  /// A zone whose changes have not all been fetched.
  private struct Feed: Sendable {
    var page: CKDatabase.Feed
    var resultsLimit: Int?
    var positions: FetchPositions
    /// Whether it is fetched in requests of its own.
    var isAlone = false
  }

  /// The next step for a zone after a page of it.
  private enum Step {
    case more(Feed)
    case alone
    case end(Result<ZoneEnd, any Error>)
  }

  /// Fetches a page of each zone in one request; nil for each if the server rejected the request for what one of them
  /// asks.
  private func fetch(
    _ feeds: [Feed],
    _ database: CKDatabase
  ) async -> [Result<CKDatabase.ChangesPage, any Error>?] {
    let pages = await attempt {
      try await database.changesPages(of: feeds.map(\.page), resultsLimit: feeds[0].resultsLimit)
    }
    switch pages {
    // Errors of elements concern their zones; each is fetched again alone, so that its own error counts.
    case .success(let pages) where feeds.count > 1:
      return pages.map { ($0.failure as? CKError)?.concernsZoneOnly == false ? nil : $0 }
    case .success(let pages): return pages
    case .failure(let error as CKError) where error.concernsZoneOnly && feeds.count > 1: return feeds.map { _ in nil }
    case .failure(let error): return feeds.map { _ in .failure(error) }
    }
  }

  /// Delivers a page.
  private func take(
    _ page: Result<CKDatabase.ChangesPage, any Error>?,
    of feed: Feed,
    fetchesAll: Bool
  ) async -> Step {
    switch page {
    case nil: return .alone
    case .failure(let error): return .end(.failure(error))
    case .success(let page):
      await call { [self] in deliver(page, of: feed.page.zoneID) }
      guard !isCancelled else { return .end(.failure(Self.cancellation)) }
      guard page.moreComing, fetchesAll else { return .end(.success((page.changeToken, nil, page.moreComing))) }
      // A zone that had no room in a reply for several zones gets one of its own.
      guard page.changeToken != feed.page.token || feed.isAlone else { return .alone }
      var feed = feed
      do throws(CKError) {
        feed.page.token = try feed.positions.next(page.changeToken)
        return .more(feed)
      } catch {
        return .end(.failure(error))
      }
    }
  }

  private func deliver(_ page: CKDatabase.ChangesPage, of zoneID: CKRecordZone.ID) {
    for (id, result) in page.modifications where !isCancelled {
      if let recordWasChangedBlock {
        recordWasChangedBlock(id, result.map(\.record))
      } else if case .success(let modification) = result {
        recordChangedBlock?(modification.record)
      }
    }
    for deletion in page.deletions where !isCancelled {
      recordWithIDWasDeletedBlock?(deletion.recordID, deletion.recordType)
    }
    if !isCancelled { recordZoneChangeTokensUpdatedBlock?(zoneID, page.changeToken, nil) }
  }
}

extension CKError {
  /// Whether the error concerns only its zone, not the next zones.
  var concernsZoneOnly: Bool {
    switch code {
    case .zoneNotFound, .userDeletedZone, .changeTokenExpired, .zoneBusy, .permissionFailure, .invalidArguments,
      .unknownItem:
      true
    default: false
    }
  }
}
