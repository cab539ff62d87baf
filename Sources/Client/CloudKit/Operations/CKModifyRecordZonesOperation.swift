/// An operation that creates and deletes zones; never atomic. Private database only.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
  /// The zones to create. A zone that already exists is not an error.
  @CKParameter public var recordZonesToSave: [CKRecordZone]?

  /// The IDs of the zones to delete, with all their records.
  @CKParameter public var recordZoneIDsToDelete: [CKRecordZone.ID]?

  /// Called for each zone to create with it, or with an error.
  @CKCallback public var perRecordZoneSaveBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?

  /// Called for each zone to delete with the result.
  @CKCallback public var perRecordZoneDeleteBlock: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)?

  /// Called once, when all work is done.
  @CKCallback public var modifyRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `modifyRecordZonesResultBlock`, with the created and deleted zones; nil if the operation failed
  /// as a whole.
  @CKCallback public var modifyRecordZonesCompletionBlock:
    (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?

  /// Makes an empty operation. Set the items to save and to delete before you add it.
  public override init() {}

  /// Makes an operation that creates and deletes zones.
  public convenience init(
    recordZonesToSave: [CKRecordZone]? = nil,
    recordZoneIDsToDelete: [CKRecordZone.ID]? = nil
  ) {
    self.init()
    self.recordZonesToSave = recordZonesToSave
    self.recordZoneIDsToDelete = recordZoneIDsToDelete
  }

  override func run() async {
    let zones = recordZonesToSave ?? []
    let deletions = recordZoneIDsToDelete ?? []
    let database = begin()
    let answer = await attempt { try await database.modifyRecordZones(saving: zones, deleting: deletions) }
    let saves = ItemResults(of: zones.map(\.zoneID), in: answer.map(\.saveResults))
    let deletes = ItemResults(of: deletions, in: answer.map(\.deleteResults))
    await call { [self] in
      for (id, result) in saves.elements { perRecordZoneSaveBlock?(id, result) }
      for (id, result) in deletes.elements { perRecordZoneDeleteBlock?(id, result) }
      let outcome = outcome(answer, itemErrors: saves.errors.merging(deletes.errors) { $1 })
      modifyRecordZonesResultBlock?(outcome)
      let happened = answer.failure == nil
      modifyRecordZonesCompletionBlock?(
        happened ? saves.values : nil,
        happened ? deletes.successes : nil,
        outcome.failure
      )
    }
  }
}
