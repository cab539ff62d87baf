/// An operation that creates and deletes zones; never atomic. Private database only.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
  private struct Parameters {
    var recordZonesToSave: [CKRecordZone]?
    var recordZoneIDsToDelete: [CKRecordZone.ID]?
  }

  private struct Blocks {
    var perZoneSave: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    var perZoneDelete: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)?
    var completion: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

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
    await conclude(blocks) { [self] blocks in
      for (id, result) in saves.elements { blocks.perZoneSave?(id, result) }
      for (id, result) in deletes.elements { blocks.perZoneDelete?(id, result) }
      let outcome = outcome(answer, itemErrors: saves.errors.merging(deletes.errors) { $1 })
      blocks.result?(outcome)
      let happened = answer.failure == nil
      blocks.completion?(happened ? saves.values : nil, happened ? deletes.successes : nil, outcome.failure)
    }
  }
}

// MARK: - Parameters and callbacks

extension CKModifyRecordZonesOperation {
  /// The zones to create. A zone that already exists is not an error.
  public var recordZonesToSave: [CKRecordZone]? {
    get { parameters.recordZonesToSave }
    set { parameters.recordZonesToSave = newValue }
  }

  /// The IDs of the zones to delete, with all their records.
  public var recordZoneIDsToDelete: [CKRecordZone.ID]? {
    get { parameters.recordZoneIDsToDelete }
    set { parameters.recordZoneIDsToDelete = newValue }
  }

  /// Called for each zone to create with it, or with an error.
  public var perRecordZoneSaveBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)? {
    get { blocks.perZoneSave }
    set { blocks.perZoneSave = newValue }
  }

  /// Called for each zone to delete with the result.
  public var perRecordZoneDeleteBlock: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)? {
    get { blocks.perZoneDelete }
    set { blocks.perZoneDelete = newValue }
  }

  /// Called once, when all work is done.
  public var modifyRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `modifyRecordZonesResultBlock`, with the created and deleted zones; nil if the operation failed
  /// as a whole.
  public var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
