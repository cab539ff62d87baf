internal import Foundation

/// An operation that queries records, one page at a time.
///
/// ```swift
/// let operation = CKQueryOperation(query: query)
/// operation.recordMatchedBlock = { id, result in … }
/// operation.queryResultBlock = { result in
///   // If there are more records, the result has the cursor for the next operation.
/// }
/// database.add(operation)
/// ```
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
  /// The query; ignored if there is a cursor.
  @CKParameter public var query: CKQuery?

  /// The cursor to continue from.
  @CKParameter public var cursor: Cursor?

  /// The zone to query; nil queries all zones of the database. Ignored if there is a cursor, which has its own zone.
  @CKParameter public var zoneID: CKRecordZone.ID?

  /// The maximum number of results; the server returns at most 200.
  @CKParameter public var resultsLimit = CKQueryOperation.maximumResults

  /// The fields to fetch; nil fetches all.
  @CKParameter public var desiredKeys: [CKRecord.FieldKey]?

  /// Called for each record found, in the order of the query. Not called again after the operation is cancelled.
  @CKCallback public var recordMatchedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?

  /// The older form of `recordMatchedBlock`, for successfully fetched records.
  @CKCallback public var recordFetchedBlock: ((CKRecord) -> Void)?

  /// Called once, when the page is done, with the cursor of the next page if there is one.
  @CKCallback public var queryResultBlock: ((Result<Cursor?, any Error>) -> Void)?

  /// The older form of `queryResultBlock`.
  @CKCallback public var queryCompletionBlock: ((Cursor?, (any Error)?) -> Void)?

  /// Makes an empty operation. Set `query` or `cursor` before you add it.
  public override init() {}

  /// Makes an operation that fetches the first page of a query.
  public convenience init(query: CKQuery) {
    self.init()
    self.query = query
  }

  /// Makes an operation that fetches the next page of a query.
  public convenience init(cursor: Cursor) {
    self.init()
    self.cursor = cursor
  }

  override func run() async {
    let database = begin()
    let answer = await attempt { try await page(of: database) }
    await call { [self] in
      var outcome = answer.map(\.queryCursor)
      var errors: [AnyHashable: any Error] = [:]
      for (id, result) in (try? answer.get())?.matchResults ?? [] {
        guard !isCancelled else {
          outcome = .failure(Self.cancellation)
          break
        }
        errors[id] = result.failure
        if let recordMatchedBlock {
          recordMatchedBlock(id, result)
        } else if case .success(let record) = result {
          recordFetchedBlock?(record)
        }
      }
      if !errors.isEmpty, outcome.failure == nil { outcome = .failure(CKError(.partialFailure, itemErrors: errors)) }
      queryResultBlock?(outcome)
      queryCompletionBlock?((try? answer.get())?.queryCursor, outcome.failure)
    }
  }

  private typealias Page = (
    matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
  )

  private func page(of database: CKDatabase) async throws -> Page {
    if let cursor {
      return try await database.records(
        continuingMatchFrom: cursor,
        desiredKeys: desiredKeys,
        resultsLimit: resultsLimit
      )
    }
    guard let query else {
      throw CKError.invalidArguments("The operation has neither a query nor a cursor.")
    }
    return try await database.records(
      matching: query,
      inZoneWith: zoneID,
      desiredKeys: desiredKeys,
      resultsLimit: resultsLimit
    )
  }
}
