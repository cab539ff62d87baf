/// An operation that fetches zones by ID, or all zones.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
  /// The IDs of the zones to fetch. Duplicates are fetched once.
  @CKParameter public var recordZoneIDs: [CKRecordZone.ID]?

  /// Called for each zone with it, or with an error.
  @CKCallback public var perRecordZoneResultBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?

  /// Called once, when all work is done.
  @CKCallback public var fetchRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?

  /// The older form of `fetchRecordZonesResultBlock`, with the fetched zones; nil if the operation failed as a whole.
  @CKCallback public var fetchRecordZonesCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?

  @CKParameter private var readsAll = false

  /// Makes an empty operation. Set `recordZoneIDs` before you add it.
  public override init() {}

  /// Makes an operation that fetches zones.
  public convenience init(recordZoneIDs zoneIDs: [CKRecordZone.ID]) {
    self.init()
    recordZoneIDs = zoneIDs
  }

  /// Makes an operation that fetches all zones of its database.
  public class func fetchAllRecordZonesOperation() -> CKFetchRecordZonesOperation {
    let operation = CKFetchRecordZonesOperation()
    operation.readsAll = true
    return operation
  }

  override func run() async {
    let database = begin()
    var ids = recordZoneIDs?.withoutRepetition ?? []
    let answer: Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error> = await attempt {
      guard readsAll else { return try await database.recordZones(for: ids) }
      let zones = try await database.allRecordZones()
      ids = zones.map(\.zoneID).withoutRepetition
      return Dictionary(zones.map { ($0.zoneID, .success($0)) }) { $1 }
    }
    let items = ItemResults(of: ids, in: answer)
    await call { [self] in
      for (id, result) in items.elements { perRecordZoneResultBlock?(id, result) }
      let outcome = outcome(answer, itemErrors: items.errors)
      fetchRecordZonesResultBlock?(outcome)
      let zones = items.values.map { ($0.zoneID, $0) }
      fetchRecordZonesCompletionBlock?(answer.failure == nil ? Dictionary(zones) { $1 } : nil, outcome.failure)
    }
  }
}
