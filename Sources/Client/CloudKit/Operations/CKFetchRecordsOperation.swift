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
  /// The IDs of the records to fetch. Duplicates are fetched once.
  @CKParameter public var recordIDs: [CKRecord.ID]?

  /// The fields to fetch; nil fetches all.
  @CKParameter public var desiredKeys: [CKRecord.FieldKey]?

  /// Called with the fraction of the bytes of a record's assets that was downloaded, in steps of at least a twentieth,
  /// and with 1 when the record is fetched.
  @CKCallback public var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)?

  /// Called for each record with it, or with an error.
  @CKCallback public var perRecordResultBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?

  /// The older form of `perRecordResultBlock`.
  @CKCallback public var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?

  /// Called once, when all work is done.
  @CKCallback public var fetchRecordsResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `fetchRecordsResultBlock`, with the fetched records; nil if the operation failed as a whole.
  @CKCallback public var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?

  @CKParameter private var readsCurrentUser = false

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
    operation.readsCurrentUser = true
    return operation
  }

  override func run() async {
    let progress =
      perRecordProgressBlock == nil
      ? nil
      : RecordProgress { [self] id, fraction in enqueue { self.perRecordProgressBlock?(id, fraction) } }
    let database = begin(reporting: progress)
    var ids = recordIDs?.withoutRepetition ?? []
    let answer = await attempt {
      if readsCurrentUser { ids = [try await database.currentUserRecordID()] }
      return try await database.records(for: ids, desiredKeys: desiredKeys)
    }
    progress?.end()
    let items = ItemResults(of: ids, in: answer)
    await call { [self] in
      for (id, result) in items.elements {
        if case .success = result { perRecordProgressBlock?(id, 1) }
        if let perRecordResultBlock {
          perRecordResultBlock(id, result)
        } else {
          perRecordCompletionBlock?(try? result.get(), id, result.failure)
        }
      }
      let outcome = outcome(answer, itemErrors: items.errors)
      fetchRecordsResultBlock?(outcome)
      let records = items.values.map { ($0.recordID, $0) }
      fetchRecordsCompletionBlock?(answer.failure == nil ? Dictionary(records) { $1 } : nil, outcome.failure)
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
