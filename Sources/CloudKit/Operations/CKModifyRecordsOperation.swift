public import Foundation

/// An operation that saves and deletes records.
///
/// ```swift
/// let operation = CKModifyRecordsOperation(recordsToSave: [note], recordIDsToDelete: nil)
/// operation.savePolicy = .changedKeys
/// operation.modifyRecordsResultBlock = { result in … }
/// database.add(operation)
/// ```
///
/// The saved instances are updated. Changes are sent in several requests if needed; an atomic group must fit into one.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
  private struct Parameters {
    var recordsToSave: [CKRecord]?
    var recordIDsToDelete: [CKRecord.ID]?
    var savePolicy = RecordSavePolicy.ifServerRecordUnchanged
    var isAtomic = true
    var clientChangeTokenData: Data?
  }

  private struct Blocks {
    var perRecordProgress: ((CKRecord, Double) -> Void)?
    var perRecordCompletion: ((CKRecord, (any Error)?) -> Void)?
    var perRecordSave: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    var perRecordDelete: ((CKRecord.ID, Result<Void, any Error>) -> Void)?
    var completion: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

  /// Makes an empty operation. Set the items to save and to delete before you add it.
  public override init() {}

  /// Makes an operation that saves and deletes records.
  public convenience init(recordsToSave records: [CKRecord]? = nil, recordIDsToDelete recordIDs: [CKRecord.ID]? = nil) {
    self.init()
    recordsToSave = records
    recordIDsToDelete = recordIDs
  }

  override func run() async {
    let parameters = parameters.value
    let database = begin()
    let records = parameters.recordsToSave ?? []
    let deletions = parameters.recordIDsToDelete ?? []
    let answer = await attempt {
      try await database.modifyRecords(
        saving: records,
        deleting: deletions,
        savePolicy: parameters.savePolicy,
        atomically: parameters.isAtomic
      )
    }
    let saves = ItemResults(of: records.map(\.recordID), in: answer.map(\.saveResults))
    let deletes = ItemResults(of: deletions, in: answer.map(\.deleteResults))
    await conclude(blocks) { [self] blocks in
      for (record, save) in zip(records, saves.elements) {
        if case .success = save.result { blocks.perRecordProgress?(record, 1) }
        if let perRecordSave = blocks.perRecordSave {
          perRecordSave(save.id, save.result)
        } else {
          blocks.perRecordCompletion?(record, save.result.failure)
        }
      }
      for (id, result) in deletes.elements { blocks.perRecordDelete?(id, result) }
      let outcome = outcome(answer, itemErrors: saves.errors.merging(deletes.errors) { $1 })
      blocks.result?(outcome)
      let happened = answer.failure == nil
      blocks.completion?(happened ? saves.values : nil, happened ? deletes.successes : nil, outcome.failure)
    }
  }
}

// MARK: - Parameters and callbacks

extension CKModifyRecordsOperation {
  /// The records to save.
  public var recordsToSave: [CKRecord]? {
    get { parameters.recordsToSave }
    set { parameters.recordsToSave = newValue }
  }

  /// The IDs of the records to delete, in any version.
  public var recordIDsToDelete: [CKRecord.ID]? {
    get { parameters.recordIDsToDelete }
    set { parameters.recordIDsToDelete = newValue }
  }

  /// The behavior when the server has another version; `ifServerRecordUnchanged` by default.
  public var savePolicy: RecordSavePolicy {
    get { parameters.savePolicy }
    set { parameters.savePolicy = newValue }
  }

  /// Whether all changes of a zone take effect, or none; true by default. Ignored for default zones, which have no
  /// atomic changes.
  public var isAtomic: Bool {
    get { parameters.isAtomic }
    set { parameters.isAtomic = newValue }
  }

  /// The data by which Apple's servers recognise a repeated request. No effect here: Web Services do not support it.
  public var clientChangeTokenData: Data? {
    get { parameters.clientChangeTokenData }
    set { parameters.clientChangeTokenData = newValue }
  }

  /// Called for each saved record with 1.
  public var perRecordProgressBlock: ((CKRecord, Double) -> Void)? {
    get { blocks.perRecordProgress }
    set { blocks.perRecordProgress = newValue }
  }

  /// Called for each record to save with it, or with an error.
  public var perRecordSaveBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)? {
    get { blocks.perRecordSave }
    set { blocks.perRecordSave = newValue }
  }

  /// The older form of `perRecordSaveBlock`.
  public var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)? {
    get { blocks.perRecordCompletion }
    set { blocks.perRecordCompletion = newValue }
  }

  /// Called for each record to delete with the result.
  public var perRecordDeleteBlock: ((CKRecord.ID, Result<Void, any Error>) -> Void)? {
    get { blocks.perRecordDelete }
    set { blocks.perRecordDelete = newValue }
  }

  /// Called once, when all work is done.
  public var modifyRecordsResultBlock: ((Result<Void, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `modifyRecordsResultBlock`, with the saved and deleted records; nil if the operation failed as a
  /// whole.
  public var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
