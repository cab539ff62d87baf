/// An operation that fetches the changes of one zone since a token. Use `CKFetchRecordZoneChangesOperation` instead.
@available(*, deprecated, message: "Use CKFetchRecordZoneChangesOperation instead")
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
  /// The zone.
  @CKParameter public var recordZoneID: CKRecordZone.ID?

  /// The token of the last fetch; nil fetches all records.
  @CKParameter public var previousServerChangeToken: CKServerChangeToken?

  /// The maximum number of changes; 0 leaves it to the server.
  @CKParameter public var resultsLimit = 0

  /// The fields to fetch; nil fetches all.
  @CKParameter public var desiredKeys: [CKRecord.FieldKey]?

  /// Whether there are more changes: start another operation with the new token. Valid in the completion block.
  @CKParameter public internal(set) var moreComing = false

  /// Called for each changed record.
  @CKCallback public var recordChangedBlock: ((CKRecord) -> Void)?

  /// Called for each deleted record.
  @CKCallback public var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)?

  /// Called with the new token, and data that is always nil here; or with an error, also if only one record could not
  /// be read.
  @CKCallback public var fetchRecordChangesCompletionBlock: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)?

  /// Makes an empty operation. Set `recordZoneID` before you add it.
  public override init() {}

  /// Makes an operation that fetches the changes of a zone since a token; all records without a token.
  public convenience init(recordZoneID: CKRecordZone.ID, previousServerChangeToken: CKServerChangeToken?) {
    self.init()
    self.recordZoneID = recordZoneID
    self.previousServerChangeToken = previousServerChangeToken
  }

  override func run() async {
    let database = begin()
    let answer = await attempt {
      guard let zoneID = recordZoneID else { throw CKError.invalidArguments("Set recordZoneID.") }
      return try await database.changesPage(
        of: zoneID,
        since: previousServerChangeToken,
        desiredKeys: desiredKeys,
        resultsLimit: resultsLimit > 0 ? resultsLimit : nil
      )
    }
    let page = try? answer.get()
    // Without the new token, a record that could not be read is fetched again.
    let failure = answer.failure ?? page?.modifications.lazy.compactMap(\.1.failure).first
    moreComing = page?.moreComing ?? false
    await call { [self] in
      for (_, result) in page?.modifications ?? [] {
        if case .success(let modification) = result { recordChangedBlock?(modification.record) }
      }
      for deletion in page?.deletions ?? [] { recordWithIDWasDeletedBlock?(deletion.recordID) }
      fetchRecordChangesCompletionBlock?(failure == nil ? page?.changeToken : nil, nil, failure)
    }
  }
}
