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
  private struct Parameters {
    var query: CKQuery?
    var cursor: Cursor?
    var zoneID: CKRecordZone.ID?
    var resultsLimit = CKQueryOperation.maximumResults
    var desiredKeys: [CKRecord.FieldKey]?
  }

  private struct Blocks {
    var recordFetched: ((CKRecord) -> Void)?
    var recordMatched: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    var completion: ((Cursor?, (any Error)?) -> Void)?
    var result: ((Result<Cursor?, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

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
    await conclude(blocks) { [self] blocks in
      var outcome = answer.map(\.queryCursor)
      var errors: [AnyHashable: any Error] = [:]
      for (id, result) in (try? answer.get())?.matchResults ?? [] {
        guard !isCancelled else {
          outcome = .failure(Self.cancellation)
          break
        }
        errors[id] = result.failure
        if let recordMatched = blocks.recordMatched {
          recordMatched(id, result)
        } else if case .success(let record) = result {
          blocks.recordFetched?(record)
        }
      }
      if !errors.isEmpty, outcome.failure == nil { outcome = .failure(CKError(.partialFailure, itemErrors: errors)) }
      blocks.result?(outcome)
      blocks.completion?((try? answer.get())?.queryCursor, outcome.failure)
    }
  }

  private typealias Page = (
    matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
  )

  private func page(of database: CKDatabase) async throws -> Page {
    let parameters = parameters.value
    if let cursor = parameters.cursor {
      return try await database.records(
        continuingMatchFrom: cursor,
        desiredKeys: parameters.desiredKeys,
        resultsLimit: parameters.resultsLimit
      )
    }
    guard let query = parameters.query else {
      throw CKError.invalidArguments("The operation has neither a query nor a cursor.")
    }
    return try await database.records(
      matching: query,
      inZoneWith: parameters.zoneID,
      desiredKeys: parameters.desiredKeys,
      resultsLimit: parameters.resultsLimit
    )
  }
}

// MARK: - Parameters and callbacks

extension CKQueryOperation {
  /// The query; ignored if there is a cursor.
  public var query: CKQuery? {
    get { parameters.query }
    set { parameters.query = newValue }
  }

  /// The cursor to continue from.
  public var cursor: Cursor? {
    get { parameters.cursor }
    set { parameters.cursor = newValue }
  }

  /// The zone to query; nil queries all zones of the database. Ignored if there is a cursor, which has its own zone.
  public var zoneID: CKRecordZone.ID? {
    get { parameters.zoneID }
    set { parameters.zoneID = newValue }
  }

  /// The maximum number of results; the server returns at most 200.
  public var resultsLimit: Int {
    get { parameters.resultsLimit }
    set { parameters.resultsLimit = newValue }
  }

  /// The fields to fetch; nil fetches all.
  public var desiredKeys: [CKRecord.FieldKey]? {
    get { parameters.desiredKeys }
    set { parameters.desiredKeys = newValue }
  }

  /// Called for each record found, in the order of the query. Not called again after the operation is cancelled.
  public var recordMatchedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)? {
    get { blocks.recordMatched }
    set { blocks.recordMatched = newValue }
  }

  /// The older form of `recordMatchedBlock`, for successfully fetched records.
  public var recordFetchedBlock: ((CKRecord) -> Void)? {
    get { blocks.recordFetched }
    set { blocks.recordFetched = newValue }
  }

  /// Called once, when the page is done, with the cursor of the next page if there is one.
  public var queryResultBlock: ((Result<Cursor?, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `queryResultBlock`.
  public var queryCompletionBlock: ((Cursor?, (any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
