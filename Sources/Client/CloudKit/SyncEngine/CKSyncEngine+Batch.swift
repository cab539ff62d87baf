internal import JSONText

extension CKSyncEngine {
  /// A batch of changes to records.
  public struct RecordZoneChangeBatch: Sendable {
    /// The records to save.
    public var recordsToSave: [CKRecord]
    /// The records to delete.
    public var recordIDsToDelete: [CKRecord.ID]
    /// Whether all changes of a zone take effect, or none. The changes of different zones are independent.
    public var atomicByZone: Bool

    /// Makes a batch from pending changes, in their order, until it is as large as one request can be.
    ///
    /// - Parameters:
    ///   - pendingChanges: The changes.
    ///   - recordProvider: Returns the record to save. A change for which it returns nil is skipped.
    /// - Returns: The batch; nil if it would be empty.
    public init?(
      pendingChanges: [PendingRecordZoneChange],
      recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
    ) async {
      var batch = RecordZoneChangeBatch()
      var bytes = 0
      for change in pendingChanges where batch.count < CKDatabase.largestBatch {
        switch change {
        case .deleteRecord(let id): batch.recordIDsToDelete.append(id)
        case .saveRecord(let id):
          guard let record = await recordProvider(id) else { continue }
          bytes += record.sentBytes
          guard bytes <= CKDatabase.largestBody || batch.count == 0 else {
            self = batch
            return
          }
          batch.recordsToSave.append(record)
        }
      }
      guard batch.count > 0 else { return nil }
      self = batch
    }

    /// Makes a batch from records.
    ///
    /// Any number of changes can be sent, in several requests if needed. Only the atomic changes of one zone have to
    /// fit into one request, of 200 changes; otherwise nothing is sent, and all fail with `CKError.limitExceeded`. Do
    /// not add them again as one atomic batch: make smaller ones.
    public init(
      recordsToSave: [CKRecord] = [],
      recordIDsToDelete: [CKRecord.ID] = [],
      atomicByZone: Bool = false
    ) {
      self.recordsToSave = recordsToSave
      self.recordIDsToDelete = recordIDsToDelete
      self.atomicByZone = atomicByZone
    }

    var count: Int { recordsToSave.count + recordIDsToDelete.count }
  }
}

extension CKRecord {
  /// The size of a save of this record in a request; 0 if it cannot be encoded, which the send reports.
  fileprivate var sentBytes: Int {
    guard let save = try? saveOperation(.ifServerRecordUnchanged) else { return 0 }
    return (try? JSONFragment(save.operation).count) ?? 0
  }
}
