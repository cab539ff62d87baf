public import CloudKit

/// How an app takes part in syncing. Every requirement has a default, and none is called inside a transaction: a delegate
/// that throws or is slow holds up nothing but itself.
public protocol SyncEngineDelegate: AnyObject, Sendable {
  /// Looks at a record before it is sent: all its fields, with the queued changes in them.
  ///
  /// Asked once for each version of a record, and again for one whose answer was lost with the process.
  ///
  /// - Returns: the record with what is to be changed before it goes.
  /// - Throws: where it must not go. The change is kept as a dead letter with the error as its reason; others go on.
  func syncEngine(_ engine: SyncEngine, willSend record: CKRecord) async throws -> CKRecord

  /// Whether `syncEngine(_:willSend:)` must be called before a record is sent, by default yes.
  ///
  /// The store keeps it: a process that syncs the store without this app, such as `cktop sync`, then leaves the saves for the
  /// app. A delegate that has no say in what is sent returns false.
  var isAskedBeforeSending: Bool { get }

  /// Takes what came from the server: referenced records before those that refer to them, deletions after all of these,
  /// children first. Changes of one's own come too, as the server took them, with later queued ones in them.
  ///
  /// - Throws: where they could not be taken. They come again, after a while, perhaps with others, in their latest version;
  ///   syncing itself goes on.
  func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws

  /// Is offered a record whose change has become a dead letter, once.
  ///
  /// - Returns: the record as it is to be sent in its place; nil leaves it to an operator.
  func syncEngine(_ engine: SyncEngine, repair record: CKRecord, after reason: SyncFailure) async -> CKRecord?

  /// What becomes of the queue now that its user is signed out, or somebody else is signed in.
  func signOutPolicy(of engine: SyncEngine) async -> SignOutPolicy

  /// Record types of which the earlier come before the later, where the records themselves do not say: in what is
  /// delivered, and in what is sent. Deletions go the other way round.
  var recordTypesInDependencyOrder: [CKRecord.RecordType] { get }
}

extension SyncEngineDelegate {
  /// The record as it is.
  public func syncEngine(_ engine: SyncEngine, willSend record: CKRecord) async throws -> CKRecord { record }
  /// Yes.
  public var isAskedBeforeSending: Bool { true }
  /// Takes everything and does nothing with it.
  public func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws {}
  /// None.
  public func syncEngine(_ engine: SyncEngine, repair record: CKRecord, after reason: SyncFailure) async -> CKRecord? {
    nil
  }
  /// It waits for its user.
  public func signOutPolicy(of engine: SyncEngine) async -> SignOutPolicy { .keep }
  /// None: the references decide.
  public var recordTypesInDependencyOrder: [CKRecord.RecordType] { [] }
}

/// What came from the server, in the order in which it is to be taken.
public struct ReceivedChanges: Sendable {
  /// A record that is gone.
  public struct Deletion: Sendable, Hashable {
    /// Which record.
    public var recordID: CKRecord.ID
    /// Its type.
    public var recordType: CKRecord.RecordType
  }

  /// Records that are new or changed; referenced ones first.
  public var modifications: [CKRecord] = []
  /// Records that are gone; those that referred to others first.
  public var deletions: [Deletion] = []
  /// Zones that are gone, after all that was in them; why is nothing that the server tells (reference 5.7). Of a zone that held
  /// records nothing is delivered before ``SyncEngine/acceptDeletions(in:ifVersion:)``.
  public var deletedZones: [CKRecordZone.ID] = []

  /// How many there are of all kinds.
  var count: Int { modifications.count + deletions.count + deletedZones.count }
}

/// Why a change became a dead letter.
public struct SyncFailure: Error, Sendable, Hashable {
  /// The server's own code, such as `BAD_REQUEST`.
  public var code: String
  /// What the server said.
  public var message: String
}

/// What becomes of a queue whose user is signed out.
public enum SignOutPolicy: Sendable, Hashable {
  /// It waits until its user is back; nobody else's requests carry it.
  case keep
  /// It is discarded, which the history tells.
  case discard
}
