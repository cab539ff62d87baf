internal import Foundation

/// Looks for records, one page at a time.
///
/// ```swift
/// let operation = CKQueryOperation(query: query)
/// operation.recordMatchedBlock = { id, result in … }
/// operation.queryResultBlock = { result in
///   // Where there is more, the result holds the cursor for the next operation.
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

  /// Makes an operation that looks for nothing until it is given a query or a cursor.
  public override init() {}

  /// Makes an operation that reads the first page of a query.
  public convenience init(query: CKQuery) {
    self.init()
    self.query = query
  }

  /// Makes an operation that reads the next page of a query.
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

// MARK: - What to look for, and whom to tell

extension CKQueryOperation {
  /// What to look for; ignored where there is a cursor.
  public var query: CKQuery? {
    get { parameters.query }
    set { parameters.query = newValue }
  }

  /// Where to go on.
  public var cursor: Cursor? {
    get { parameters.cursor }
    set { parameters.cursor = newValue }
  }

  /// Where to look; nil looks in all zones of the database. A cursor knows its own.
  public var zoneID: CKRecordZone.ID? {
    get { parameters.zoneID }
    set { parameters.zoneID = newValue }
  }

  /// The most results wanted; the server gives 200 at most.
  public var resultsLimit: Int {
    get { parameters.resultsLimit }
    set { parameters.resultsLimit = newValue }
  }

  /// The fields to read; nil reads all.
  public var desiredKeys: [CKRecord.FieldKey]? {
    get { parameters.desiredKeys }
    set { parameters.desiredKeys = newValue }
  }

  /// Called for each record that was found, in the order of the query. Not called again once the operation is cancelled.
  public var recordMatchedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)? {
    get { blocks.recordMatched }
    set { blocks.recordMatched = newValue }
  }

  /// The older form of `recordMatchedBlock`, for records that came well.
  public var recordFetchedBlock: ((CKRecord) -> Void)? {
    get { blocks.recordFetched }
    set { blocks.recordFetched = newValue }
  }

  /// Called when the page is done, with the cursor of the next where there is one.
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
