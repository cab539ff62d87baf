internal import Foundation

/// An operation that fetches records by ID.
///
/// ```swift
/// let operation = CKFetchRecordsOperation(recordIDs: ids)
/// operation.perRecordResultBlock = { id, result in … }
/// operation.fetchRecordsResultBlock = { result in … }
/// database.add(operation)
/// ```
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
  private struct Parameters {
    var recordIDs: [CKRecord.ID]?
    var desiredKeys: [CKRecord.FieldKey]?
    var readsCurrentUser = false
  }

  private struct Blocks {
    var perRecordProgress: ((CKRecord.ID, Double) -> Void)?
    var perRecordCompletion: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
    var perRecordResult: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    var completion: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

  /// Makes an empty operation. Set `recordIDs` before you add it.
  public override init() {}

  /// Makes an operation that fetches records.
  public convenience init(recordIDs: [CKRecord.ID]) {
    self.init()
    self.recordIDs = recordIDs
  }

  /// Makes an operation that fetches the record of the user whose web auth token is used.
  public class func fetchCurrentUserRecordOperation() -> CKFetchRecordsOperation {
    let operation = CKFetchRecordsOperation()
    operation.parameters.readsCurrentUser = true
    return operation
  }

  override func run() async {
    let parameters = parameters.value
    let database = begin()
    var ids = parameters.recordIDs?.withoutRepetition ?? []
    let answer = await attempt {
      if parameters.readsCurrentUser { ids = [try await database.currentUserRecordID()] }
      return try await database.records(for: ids, desiredKeys: parameters.desiredKeys)
    }
    let items = ItemResults(of: ids, in: answer)
    await conclude(blocks) { [self] blocks in
      for (id, result) in items.elements {
        if case .success = result { blocks.perRecordProgress?(id, 1) }
        if let perRecordResult = blocks.perRecordResult {
          perRecordResult(id, result)
        } else {
          blocks.perRecordCompletion?(try? result.get(), id, result.failure)
        }
      }
      let outcome = outcome(answer, itemErrors: items.errors)
      blocks.result?(outcome)
      let records = items.values.map { ($0.recordID, $0) }
      blocks.completion?(answer.failure == nil ? Dictionary(records) { $1 } : nil, outcome.failure)
    }
  }
}

extension CKDatabase {
  /// Returns the ID of the signed-in user's record.
  fileprivate func currentUserRecordID() async throws -> CKRecord.ID {
    let caller = try await perform(.read) { client throws(WebServicesError) in try await client.caller() }
    return CKRecordID(recordName: caller.userRecordName)
  }
}

extension Array where Element: Hashable {
  /// The elements without duplicates, in the order of their first occurrence.
  var withoutRepetition: [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}

// MARK: - Parameters and callbacks

extension CKFetchRecordsOperation {
  /// The IDs of the records to fetch. Duplicates are fetched once.
  public var recordIDs: [CKRecord.ID]? {
    get { parameters.recordIDs }
    set { parameters.recordIDs = newValue }
  }

  /// The fields to fetch; nil fetches all.
  public var desiredKeys: [CKRecord.FieldKey]? {
    get { parameters.desiredKeys }
    set { parameters.desiredKeys = newValue }
  }

  /// Called for each fetched record with 1, because records arrive complete.
  public var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)? {
    get { blocks.perRecordProgress }
    set { blocks.perRecordProgress = newValue }
  }

  /// Called for each record with it, or with an error.
  public var perRecordResultBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)? {
    get { blocks.perRecordResult }
    set { blocks.perRecordResult = newValue }
  }

  /// The older form of `perRecordResultBlock`.
  public var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? {
    get { blocks.perRecordCompletion }
    set { blocks.perRecordCompletion = newValue }
  }

  /// Called once, when all work is done.
  public var fetchRecordsResultBlock: ((Result<Void, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `fetchRecordsResultBlock`, with the fetched records; nil if the operation failed as a whole.
  public var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
