internal import Foundation

/// An operation that fetches the zones that changed since a token, page by page. Private and shared databases only.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
  /// The token to continue from; nil starts from the beginning. Tokens of zones are not valid here.
  @CKParameter public var previousServerChangeToken: CKServerChangeToken?

  /// The maximum number of zones in a page; 0 leaves it to the server.
  @CKParameter public var resultsLimit = 0

  /// Whether to fetch pages until no more changes are coming; true by default. If false, one page is fetched.
  @CKParameter public var fetchAllChanges = true

  /// Called for each new or changed zone.
  @CKCallback public var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)?

  /// Called for each deleted zone.
  @CKCallback public var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)?

  /// Called for each zone that was deleted because the user removed the app's data. Never called here: Web Services do
  /// not report the reason, so `recordZoneWithIDWasDeletedBlock` is called instead.
  @CKCallback public var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)?

  /// Called for each zone that was deleted because the user reset encrypted data. Never called here: Web Services do
  /// not report the reason, so `recordZoneWithIDWasDeletedBlock` is called instead.
  @CKCallback public var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: ((CKRecordZone.ID) -> Void)?

  /// Called after the changes of each page, with the token of that page.
  @CKCallback public var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)?

  /// Called once, when all work is done, with the last token. After `CKError.changeTokenExpired`, fetch all changes
  /// again.
  @CKCallback public var fetchDatabaseChangesResultBlock:
    ((Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?

  /// The older form of `fetchDatabaseChangesResultBlock`: a token or an error, never both.
  @CKCallback public var fetchDatabaseChangesCompletionBlock: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?

  private typealias End = (serverChangeToken: CKServerChangeToken, moreComing: Bool)

  /// Makes an operation that fetches all changes from the beginning.
  public override init() {}

  /// Makes an operation that fetches the changes since a token.
  public convenience init(previousServerChangeToken: CKServerChangeToken?) {
    self.init()
    self.previousServerChangeToken = previousServerChangeToken
  }

  override func run() async {
    let database = begin()
    let answer = await attempt { try await readPages(of: database) }
    await call { [self] in
      fetchDatabaseChangesResultBlock?(answer)
      let end = try? answer.get()
      fetchDatabaseChangesCompletionBlock?(end?.serverChangeToken, end?.moreComing ?? false, answer.failure)
    }
  }

  private func readPages(of database: CKDatabase) async throws -> End {
    let limit = resultsLimit > 0 ? resultsLimit : nil
    var token = previousServerChangeToken
    var positions = FetchPositions(from: token)
    while true {
      let page = try await database.databaseChanges(since: token, resultsLimit: limit)
      await call { [self] in
        for modification in page.modifications where !isCancelled { recordZoneWithIDChangedBlock?(modification.zoneID) }
        for deletion in page.deletions where !isCancelled {
          switch deletion.reason {
          case .deleted: recordZoneWithIDWasDeletedBlock?(deletion.zoneID)
          case .purged: recordZoneWithIDWasPurgedBlock?(deletion.zoneID)
          case .encryptedDataReset: recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock?(deletion.zoneID)
          }
        }
        if !isCancelled { changeTokenUpdatedBlock?(page.changeToken) }
      }
      guard !isCancelled else { throw Self.cancellation }
      guard page.moreComing, fetchAllChanges else { return (page.changeToken, page.moreComing) }
      token = try positions.next(page.changeToken)
    }
  }
}
