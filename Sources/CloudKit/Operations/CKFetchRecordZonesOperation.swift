/// An operation that fetches zones by ID, or all zones.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
  private struct Parameters {
    var recordZoneIDs: [CKRecordZone.ID]?
    var readsAll = false
  }

  private struct Blocks {
    var perZone: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    var completion: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?
    var result: ((Result<Void, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

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
    operation.parameters.readsAll = true
    return operation
  }

  override func run() async {
    let parameters = parameters.value
    let database = begin()
    var ids = parameters.recordZoneIDs?.withoutRepetition ?? []
    let answer: Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error> = await attempt {
      guard parameters.readsAll else { return try await database.recordZones(for: ids) }
      let zones = try await database.allRecordZones()
      ids = zones.map(\.zoneID).withoutRepetition
      return Dictionary(zones.map { ($0.zoneID, .success($0)) }) { $1 }
    }
    let items = ItemResults(of: ids, in: answer)
    await conclude(blocks) { [self] blocks in
      for (id, result) in items.elements { blocks.perZone?(id, result) }
      let outcome = outcome(answer, itemErrors: items.errors)
      blocks.result?(outcome)
      let zones = items.values.map { ($0.zoneID, $0) }
      blocks.completion?(answer.failure == nil ? Dictionary(zones) { $1 } : nil, outcome.failure)
    }
  }
}

// MARK: - Parameters and callbacks

extension CKFetchRecordZonesOperation {
  /// The IDs of the zones to fetch. Duplicates are fetched once.
  public var recordZoneIDs: [CKRecordZone.ID]? {
    get { parameters.recordZoneIDs }
    set { parameters.recordZoneIDs = newValue }
  }

  /// Called for each zone with it, or with an error.
  public var perRecordZoneResultBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)? {
    get { blocks.perZone }
    set { blocks.perZone = newValue }
  }

  /// Called once, when all work is done.
  public var fetchRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `fetchRecordZonesResultBlock`, with the fetched zones; nil if the operation failed as a whole.
  public var fetchRecordZonesCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
