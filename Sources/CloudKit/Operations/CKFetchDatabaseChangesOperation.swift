internal import Foundation

/// An operation that fetches the zones that changed since a token, page by page. Private and shared databases only.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
  private struct Parameters {
    var previousServerChangeToken: CKServerChangeToken?
    var resultsLimit = 0
    var fetchAllChanges = true
  }

  private struct Blocks {
    var changed: ((CKRecordZone.ID) -> Void)?
    var deleted: ((CKRecordZone.ID) -> Void)?
    var purged: ((CKRecordZone.ID) -> Void)?
    var wasReset: ((CKRecordZone.ID) -> Void)?
    var tokenUpdated: ((CKServerChangeToken) -> Void)?
    var completion: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?
    var result: ((Result<End, any Error>) -> Void)?
  }

  private typealias End = (serverChangeToken: CKServerChangeToken, moreComing: Bool)

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

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
    await conclude(blocks) { blocks in
      blocks.result?(answer)
      let end = try? answer.get()
      blocks.completion?(end?.serverChangeToken, end?.moreComing ?? false, answer.failure)
    }
  }

  private func readPages(of database: CKDatabase) async throws -> End {
    let parameters = parameters.value
    let limit = parameters.resultsLimit > 0 ? parameters.resultsLimit : nil
    var token = parameters.previousServerChangeToken
    while true {
      let page = try await database.databaseChanges(since: token, resultsLimit: limit)
      await call { [self] in
        let blocks = blocks.value
        for modification in page.modifications where !isCancelled { blocks.changed?(modification.zoneID) }
        for deletion in page.deletions where !isCancelled {
          switch deletion.reason {
          case .deleted: blocks.deleted?(deletion.zoneID)
          case .purged: blocks.purged?(deletion.zoneID)
          case .encryptedDataReset: blocks.wasReset?(deletion.zoneID)
          }
        }
        if !isCancelled { blocks.tokenUpdated?(page.changeToken) }
      }
      guard !isCancelled else { throw Self.cancellation }
      guard page.moreComing, parameters.fetchAllChanges else { return (page.changeToken, page.moreComing) }
      guard page.changeToken != token else { throw CKError.stalledFeed }
      token = page.changeToken
    }
  }
}

extension CKError {
  /// The error for a change feed that announces more changes but returns the same token. Fetching would never end.
  static var stalledFeed: CKError {
    CKError(.internalError, "The server announced more changes but returned no new change token.")
  }
}

// MARK: - Parameters and callbacks

extension CKFetchDatabaseChangesOperation {
  /// The token to continue from; nil starts from the beginning. Tokens of zones are not valid here.
  public var previousServerChangeToken: CKServerChangeToken? {
    get { parameters.previousServerChangeToken }
    set { parameters.previousServerChangeToken = newValue }
  }

  /// The maximum number of zones in a page; 0 leaves it to the server.
  public var resultsLimit: Int {
    get { parameters.resultsLimit }
    set { parameters.resultsLimit = newValue }
  }

  /// Whether to fetch pages until no more changes are coming; true by default. If false, one page is fetched.
  public var fetchAllChanges: Bool {
    get { parameters.fetchAllChanges }
    set { parameters.fetchAllChanges = newValue }
  }

  /// Called for each new or changed zone.
  public var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)? {
    get { blocks.changed }
    set { blocks.changed = newValue }
  }

  /// Called for each deleted zone.
  public var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)? {
    get { blocks.deleted }
    set { blocks.deleted = newValue }
  }

  /// Called for each zone that was deleted because the user removed the app's data. Never called here: Web Services do
  /// not report the reason, so `recordZoneWithIDWasDeletedBlock` is called instead.
  public var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)? {
    get { blocks.purged }
    set { blocks.purged = newValue }
  }

  /// Called for each zone that was deleted because the user reset encrypted data. Never called here: Web Services do
  /// not report the reason, so `recordZoneWithIDWasDeletedBlock` is called instead.
  public var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: ((CKRecordZone.ID) -> Void)? {
    get { blocks.wasReset }
    set { blocks.wasReset = newValue }
  }

  /// Called after the changes of each page, with the token of that page.
  public var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)? {
    get { blocks.tokenUpdated }
    set { blocks.tokenUpdated = newValue }
  }

  /// Called once, when all work is done, with the last token. After `CKError.changeTokenExpired`, fetch all changes
  /// again.
  public var fetchDatabaseChangesResultBlock:
    ((Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
  {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `fetchDatabaseChangesResultBlock`: a token or an error, never both.
  public var fetchDatabaseChangesCompletionBlock: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
