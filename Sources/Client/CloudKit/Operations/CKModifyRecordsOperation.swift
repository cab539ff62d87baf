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
  /// The records to save.
  @CKParameter public var recordsToSave: [CKRecord]?

  /// The IDs of the records to delete, in any version.
  @CKParameter public var recordIDsToDelete: [CKRecord.ID]?

  /// The behavior when the server has another version; `ifServerRecordUnchanged` by default.
  @CKParameter public var savePolicy = RecordSavePolicy.ifServerRecordUnchanged

  /// Whether all changes of a zone take effect, or none; true by default. Ignored for default zones, which have no
  /// atomic changes.
  @CKParameter public var isAtomic = true

  /// The data by which Apple's servers recognise a repeated request. No effect here: Web Services do not support it.
  @CKParameter public var clientChangeTokenData: Data?

  /// Called with the fraction of the bytes of a record's assets that was uploaded, in steps of at least a twentieth,
  /// and with 1 when the record is saved.
  @CKCallback public var perRecordProgressBlock: ((CKRecord, Double) -> Void)?

  /// Called for each record to save with it, or with an error.
  @CKCallback public var perRecordSaveBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?

  /// The older form of `perRecordSaveBlock`.
  @CKCallback public var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)?

  /// Called for each record to delete with the result.
  @CKCallback public var perRecordDeleteBlock: ((CKRecord.ID, Result<Void, any Error>) -> Void)?

  /// Called once, when all work is done.
  @CKCallback public var modifyRecordsResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `modifyRecordsResultBlock`, with the saved and deleted records; nil if the operation failed as a
  /// whole.
  @CKCallback public var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?

  /// Makes an empty operation. Set the items to save and to delete before you add it.
  public override init() {}

  /// Makes an operation that saves and deletes records.
  public convenience init(recordsToSave records: [CKRecord]? = nil, recordIDsToDelete recordIDs: [CKRecord.ID]? = nil) {
    self.init()
    recordsToSave = records
    recordIDsToDelete = recordIDs
  }

  /// Returns the progress of records, which is reported to the block.
  private func progress(of records: [CKRecord]) -> RecordProgress {
    let records = Dictionary(records.map { ($0.recordID, $0) }) { $1 }
    return RecordProgress { [self] id, fraction in
      guard let record = records[id] else { return }
      enqueue { self.perRecordProgressBlock?(record, fraction) }
    }
  }

  override func run() async {
    let records = recordsToSave ?? []
    let progress = perRecordProgressBlock == nil ? nil : progress(of: records)
    let database = begin(reporting: progress)
    let deletions = recordIDsToDelete ?? []
    let answer = await attempt {
      try await database.modifyRecords(
        saving: records,
        deleting: deletions,
        savePolicy: savePolicy,
        atomically: isAtomic
      )
    }
    progress?.end()
    let saves = ItemResults(of: records.map(\.recordID), in: answer.map(\.saveResults))
    let deletes = ItemResults(of: deletions, in: answer.map(\.deleteResults))
    await call { [self] in
      for (record, save) in zip(records, saves.elements) {
        if case .success = save.result { perRecordProgressBlock?(record, 1) }
        if let perRecordSaveBlock {
          perRecordSaveBlock(save.id, save.result)
        } else {
          perRecordCompletionBlock?(record, save.result.failure)
        }
      }
      for (id, result) in deletes.elements { perRecordDeleteBlock?(id, result) }
      let outcome = outcome(answer, itemErrors: saves.errors.merging(deletes.errors) { $1 })
      modifyRecordsResultBlock?(outcome)
      let happened = answer.failure == nil
      modifyRecordsCompletionBlock?(happened ? saves.values : nil, happened ? deletes.successes : nil, outcome.failure)
    }
  }
}
