/// An operation that fetches the changes of one zone since a token. Use `CKFetchRecordZoneChangesOperation` instead.
@available(*, deprecated, message: "Use CKFetchRecordZoneChangesOperation instead")
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
  private struct Parameters {
    var recordZoneID: CKRecordZone.ID?
    var previousServerChangeToken: CKServerChangeToken?
    var resultsLimit = 0
    var desiredKeys: [CKRecord.FieldKey]?
    var moreComing = false
  }

  private struct Blocks {
    var changed: ((CKRecord) -> Void)?
    var wasDeleted: ((CKRecord.ID) -> Void)?
    var completion: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

  /// Makes an empty operation. Set `recordZoneID` before you add it.
  public override init() {}

  /// Makes an operation that fetches the changes of a zone since a token; all records without a token.
  public convenience init(recordZoneID: CKRecordZone.ID, previousServerChangeToken: CKServerChangeToken?) {
    self.init()
    self.recordZoneID = recordZoneID
    self.previousServerChangeToken = previousServerChangeToken
  }

  override func run() async {
    let parameters = parameters.value
    let database = begin()
    let answer = await attempt {
      guard let zoneID = parameters.recordZoneID else { throw CKError.invalidArguments("Set recordZoneID.") }
      return try await database.changesPage(
        of: zoneID,
        since: parameters.previousServerChangeToken,
        desiredKeys: parameters.desiredKeys,
        resultsLimit: parameters.resultsLimit > 0 ? parameters.resultsLimit : nil
      )
    }
    let page = try? answer.get()
    // Without the new token, a record that could not be read is fetched again.
    let failure = answer.failure ?? page?.modifications.lazy.compactMap(\.1.failure).first
    self.parameters.moreComing = page?.moreComing ?? false
    await conclude(blocks) { blocks in
      for (_, result) in page?.modifications ?? [] {
        if case .success(let modification) = result { blocks.changed?(modification.record) }
      }
      for deletion in page?.deletions ?? [] { blocks.wasDeleted?(deletion.recordID) }
      blocks.completion?(failure == nil ? page?.changeToken : nil, nil, failure)
    }
  }
}

// MARK: - Parameters and callbacks

@available(*, deprecated, message: "Use CKFetchRecordZoneChangesOperation instead")
extension CKFetchRecordChangesOperation {
  /// The zone.
  public var recordZoneID: CKRecordZone.ID? {
    get { parameters.recordZoneID }
    set { parameters.recordZoneID = newValue }
  }

  /// The token of the last fetch; nil fetches all records.
  public var previousServerChangeToken: CKServerChangeToken? {
    get { parameters.previousServerChangeToken }
    set { parameters.previousServerChangeToken = newValue }
  }

  /// The maximum number of changes; 0 leaves it to the server.
  public var resultsLimit: Int {
    get { parameters.resultsLimit }
    set { parameters.resultsLimit = newValue }
  }

  /// The fields to fetch; nil fetches all.
  public var desiredKeys: [CKRecord.FieldKey]? {
    get { parameters.desiredKeys }
    set { parameters.desiredKeys = newValue }
  }

  /// Whether there are more changes: start another operation with the new token. Valid in the completion block.
  public var moreComing: Bool { parameters.moreComing }

  /// Called for each changed record.
  public var recordChangedBlock: ((CKRecord) -> Void)? {
    get { blocks.changed }
    set { blocks.changed = newValue }
  }

  /// Called for each deleted record.
  public var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)? {
    get { blocks.wasDeleted }
    set { blocks.wasDeleted = newValue }
  }

  /// Called with the new token, and data that is always nil here; or with an error, also if only one record could not be
  /// read.
  public var fetchRecordChangesCompletionBlock: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
