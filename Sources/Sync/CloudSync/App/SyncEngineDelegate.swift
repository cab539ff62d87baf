public import CloudKit

/// Lets an app take part in syncing. Every requirement has a default, and none is called inside a transaction: a
/// delegate that throws or is slow does not hold up the rest.
public protocol SyncEngineDelegate: AnyObject, Sendable {
  /// Validates a record that the app saves with an engine or a service, before the change is accepted. Edits that reach
  /// the queue by other means, such as models and imports, are inspected by `syncEngine(_:willSend:)` only.
  ///
  /// - Throws: an error if the record must not be saved. The save throws it. An engine then accepts nothing of the
  ///   call, a service the other records of it.
  func syncEngine(_ engine: SyncEngine, validate record: CKRecord) throws

  /// Inspects a record before it is sent: all its fields, with the queued changes applied.
  ///
  /// Called once for each version of a record, and again if the process ended before the answer was stored.
  ///
  /// - Returns: the record, possibly changed, to send.
  /// - Throws: an error if it must not be sent. The change becomes a dead letter with this error; others continue.
  func syncEngine(_ engine: SyncEngine, willSend record: CKRecord) async throws -> CKRecord

  /// Whether `syncEngine(_:willSend:)` must be called before a record is sent; by default yes.
  ///
  /// The store remembers it: a process that syncs the store without this app, such as `cktop sync`, then leaves the
  /// saves for the app. A delegate that does not inspect records returns false.
  var isAskedBeforeSending: Bool { get }

  /// Changes a record of the local copy for the app: before `syncEngine(_:didReceive:)`, and where a service returns a
  /// record that it fetched or found. The local copy keeps the server's values, and what is changed here does not count
  /// as an edit, so that a later save sends what the app has edited since. `saveAndSend(_:)` and the outcome of a
  /// change return the server's values. All calls for a batch and its `syncEngine(_:didReceive:)` share the time limit.
  ///
  /// It may be called again with values that the app has set itself, as long as they wait in the queue: such values
  /// must stay as they are. The counterpart for records to be sent is `syncEngine(_:willSend:)`, which gets fields that
  /// the app has not edited as the server has them.
  ///
  /// - Returns: the record for the app, with the same identifier and type.
  /// - Throws: an error if the record cannot be used. It is delivered again later, as if `syncEngine(_:didReceive:)`
  ///   had thrown.
  func syncEngine(_ engine: SyncEngine, willDeliver record: CKRecord) async throws -> CKRecord

  /// Receives changes from the server: referenced records before those that refer to them, deletions last, children
  /// first. The app's own changes are included, as accepted by the server and with later queued changes applied.
  ///
  /// - Throws: an error if they could not be accepted. They are delivered again later, perhaps with others, in their
  ///   latest version; syncing continues.
  func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws

  /// Offers a record whose change has become a dead letter for repair, once.
  ///
  /// - Returns: the record to send instead; nil leaves it to an operator.
  func syncEngine(_ engine: SyncEngine, repair record: CKRecord, after reason: SyncFailure) async -> CKRecord?

  /// Offers a change that has become a dead letter, once: a save, or the deletion of a record.
  ///
  /// The default calls `syncEngine(_:repair:after:)` for a save, and leaves a deletion to an operator.
  ///
  /// - Parameters:
  ///   - change: the failed change; `change.failure.ckError` is the framework's error.
  ///   - record: the whole record with the failed change applied; nil for a deletion.
  func syncEngine(_ engine: SyncEngine, didFail change: FailedChange, of record: CKRecord?) async -> FailureDecision

  /// Decides about the queue after its user signed out or another user signed in.
  func signOutPolicy(of engine: SyncEngine) async -> SignOutPolicy

  /// Record types in the order in which they are delivered and sent if references do not decide. Deletions use the
  /// reverse order.
  var recordTypesInDependencyOrder: [CKRecord.RecordType] { get }
}

extension SyncEngineDelegate {
  /// Accepts the record.
  public func syncEngine(_ engine: SyncEngine, validate record: CKRecord) throws {}
  /// Returns the record unchanged.
  public func syncEngine(_ engine: SyncEngine, willSend record: CKRecord) async throws -> CKRecord { record }
  /// Returns the record unchanged.
  public func syncEngine(_ engine: SyncEngine, willDeliver record: CKRecord) async throws -> CKRecord { record }
  /// True.
  public var isAskedBeforeSending: Bool { true }
  /// Does nothing.
  public func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws {}
  /// Returns nil.
  public func syncEngine(_ engine: SyncEngine, repair record: CKRecord, after reason: SyncFailure) async -> CKRecord? {
    nil
  }
  /// Calls `syncEngine(_:repair:after:)` for a save.
  public func syncEngine(_ engine: SyncEngine, didFail change: FailedChange, of record: CKRecord?) async
    -> FailureDecision
  {
    guard let record, let repaired = await syncEngine(engine, repair: record, after: change.failure) else {
      return .keep
    }
    return .replace(repaired)
  }
  /// Keeps the queue.
  public func signOutPolicy(of engine: SyncEngine) async -> SignOutPolicy { .keep }
  /// Empty: references decide.
  public var recordTypesInDependencyOrder: [CKRecord.RecordType] { [] }
}

/// Changes from the server, in the order in which to apply them.
public struct ReceivedChanges: Sendable {
  /// A deleted record.
  public struct Deletion: Sendable, Hashable {
    /// The record's identifier.
    public var recordID: CKRecord.ID
    /// The record's type.
    public var recordType: CKRecord.RecordType
  }

  /// New or changed records; referenced ones first.
  public var modifications: [CKRecord] = []
  /// Deleted records; those that referred to others first.
  public var deletions: [Deletion] = []
  /// Deleted zones, after all their records; the server gives no reason (reference 5.6). The deletion of a zone with
  /// records is delivered only after ``SyncEngine/acceptDeletions(in:ifVersion:)``.
  public var deletedZones: [CKRecordZone.ID] = []
  /// Whether no app took changes for 90 days, so that they were dropped. From here on every record is delivered again,
  /// perhaps in several calls. Records that the app has and that it is not given again were deleted meanwhile.
  public var startsOver = false

  /// The number of changes of all kinds.
  var count: Int { modifications.count + deletions.count + deletedZones.count }
}

/// The reason why a change became a dead letter.
public struct SyncFailure: Error, Sendable, Hashable {
  /// The server's code, such as `BAD_REQUEST`.
  public var code: String
  /// The server's message.
  public var message: String

  /// Creates a failure, such as an app's own.
  public init(code: String, message: String) { (self.code, self.message) = (code, message) }

  /// The failure as the framework's error, with the server's code and reason. A code that is not the server's, such as
  /// `APP_REFUSED`, is an `internalError`.
  public var ckError: CKError { CKError(ofItem: WebServicesError(ServerErrorCode(code), message)) }
}

/// The decision about a change that has become a dead letter.
public enum FailureDecision: Sendable {
  /// It stays in the queue as it is, for an operator.
  case keep
  /// This record is sent instead; it must have the same identifier and type. For a deletion it is the same as `keep`.
  case replace(CKRecord)
  /// It is sent again, with its attempts reset.
  case retry
  /// It is removed from the queue. This can be undone until the record is edited again.
  case discard
}

/// The decision about a queue whose user is signed out.
public enum SignOutPolicy: Sendable, Hashable {
  /// The queue waits until its user returns; it is never sent as another user.
  case keep
  /// The queue is discarded; the history shows it.
  case discard
}
